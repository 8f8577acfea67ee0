"""Messages over real transport loops: beside collectives, under loss, through a restart, and each way one can fail."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hostagent.protocol.messages import ANY_SOURCE, MOST_TRANSFERS, Message
from hostagent.protocol.operation import Operation, OperationKind, Span
from hostagent.transport import job
from hostagent.transport.errors import Cause, TransportError
from tests.labs.transport_network import changed, network

PATIENCE_S = 200.0
Array = np.ndarray[Any, Any]


KEPT: list[Array] = []
"""The memory of a test's messages, which must outlive them."""


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    yield
    KEPT.clear()


def send(array: Array, peer: int, tag: int | None = 0) -> Message:
    KEPT.append(array)
    return Message("send", False, peer, str(array.dtype), array.itemsize, array.size, array.ctypes.data, tag)


def receive(array: Array, peer: int, tag: int | None = 0, source: Array | None = None) -> Message:
    KEPT.append(array)
    address = 0 if source is None else source.ctypes.data
    return Message(
        "recv", True, peer, str(array.dtype), array.itemsize, array.size, array.ctypes.data, tag, source_address=address
    )


def post(channel, message: Message) -> int:
    return channel.post([message])[0]


def finish(channel, number):
    assert channel.wait(number, PATIENCE_S)
    assert channel.failure(number) is None


def bytes_of(count: int, seed: int = 1) -> Array:
    return np.frombuffer(random.Random(seed).randbytes(count), np.uint8).copy()


@pytest.mark.parametrize("count", [0, 1, 200, 300_001])
def test_a_message_arrives(count):
    with network(2) as net:
        given, got = bytes_of(count), np.zeros(count, np.uint8)
        numbers = [post(net.channels[0], send(given, 1)), post(net.channels[1], receive(got, 0))]
        for channel, number in zip(net.channels, numbers, strict=True):
            finish(channel, number)
        assert np.array_equal(given, got)


def test_messages_to_oneself_and_from_any_rank():
    with network(3) as net:
        got, source = np.zeros(1000, np.uint8), np.zeros(1, np.int64)
        number = post(net.channels[1], receive(got, ANY_SOURCE, 7, source))
        given = bytes_of(1000)
        finish(net.channels[2], post(net.channels[2], send(given, 1, 7)))
        finish(net.channels[1], number)
        assert np.array_equal(given, got)
        assert source[0] == 2
        own = np.zeros(1000, np.uint8)
        numbers = [post(net.channels[0], send(given, 0, 1)), post(net.channels[0], receive(own, 0, None))]
        for number in numbers:
            finish(net.channels[0], number)
        assert np.array_equal(given, own)


def test_a_pending_receive_blocks_no_collective_and_no_other_message():
    with network(2) as net:
        late = np.zeros(10, np.uint8)
        waiting = post(net.channels[0], receive(late, 1, 99))
        arrays = [np.full(5000, rank + 1, np.int32) for rank in range(2)]
        span = [Span(array.ctypes.data, 0, array.size) for array in arrays]
        sums = [Operation("all_reduce", OperationKind.SUM, "int32", 4, 5000, each, each) for each in span]
        numbers = [channel.submit(operation) for channel, operation in zip(net.channels, sums, strict=True)]
        given, got = bytes_of(8), np.zeros(8, np.uint8)
        for _ in range(MOST_TRANSFERS + 50):
            pair = post(net.channels[0], send(given, 1)), post(net.channels[1], receive(got, 0))
        for channel, number, message in zip(net.channels, numbers, pair, strict=True):
            finish(channel, number)
            finish(channel, message)
        assert not net.channels[0].finished(waiting)
        finish(net.channels[1], post(net.channels[1], send(bytes_of(10), 0, 99)))
        finish(net.channels[0], waiting)
        assert np.array_equal(late, bytes_of(10))


def test_lost_frames_are_sent_again():
    lost = random.Random(3)
    with network(3, loses=lambda port, frame: lost.random() < 0.1) as net:
        given = [[bytes_of(40_000, 3 * rank + peer) for peer in range(3)] for rank in range(3)]
        got = [[np.zeros(40_000, np.uint8) for _ in range(3)] for _ in range(3)]
        numbers = []
        for rank, channel in enumerate(net.channels):
            for peer in range(3):
                numbers.append((channel, post(channel, receive(got[rank][peer], peer))))
                numbers.append((channel, post(channel, send(given[rank][peer], peer))))
        for channel, number in numbers:
            finish(channel, number)
        assert all(np.array_equal(got[rank][peer], given[peer][rank]) for rank in range(3) for peer in range(3))


def test_a_rank_leaves_when_its_short_sends_have_arrived() -> None:
    """They end at once, whatever the network does, and their memory is the caller's again."""
    dark = threading.Event()
    dark.set()
    with network(2, loses=lambda port, frame: dark.is_set() and port == 1) as net:
        given, got = bytes_of(50), np.zeros(50, np.uint8)
        number = post(net.channels[1], receive(got, 0))
        finish(net.channels[0], post(net.channels[0], send(given, 1)))
        given[:] = 0
        left = threading.Thread(target=net.channels[0].close)
        left.start()
        left.join(0.1)
        assert left.is_alive()
        dark.clear()
        finish(net.channels[1], number)
        assert np.array_equal(got, bytes_of(50))
        left.join(PATIENCE_S)
        assert not left.is_alive()


def test_a_rank_whose_short_send_does_not_arrive_leaves_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "DELIVERY_TIMEOUT_S", 0.05)
    with network(2, loses=lambda port, frame: port == 1) as net:
        idle = post(net.channels[1], receive(np.zeros(8, np.uint8), 0))
        finish(net.channels[0], post(net.channels[0], send(np.zeros(8, np.uint8), 1)))
        net.channels[0].close()
        assert net.channels[1].wait(idle, PATIENCE_S)
        assert "rank 0 leaves, and a send of its has not arrived" in str(net.channels[1].failure(idle))


def test_a_restart_of_the_aggregator_costs_nothing_but_time():
    with network(2) as net:
        given, got = bytes_of(3_000_000), np.zeros(3_000_000, np.uint8)
        numbers = [post(net.channels[0], send(given, 1)), post(net.channels[1], receive(got, 0))]
        for _ in range(3):
            net.restart()
        for channel, number in zip(net.channels, numbers, strict=True):
            finish(channel, number)
        assert np.array_equal(given, got)


def test_a_send_and_a_receive_that_disagree_end_the_job_and_both_are_named():
    with network(2) as net:
        post(net.channels[0], send(np.zeros(7, np.float32), 1, 5))
        number = post(net.channels[1], receive(np.zeros(8, np.float32), 0, 5))
        assert net.channels[1].wait(number, PATIENCE_S)
        error = net.channels[1].failure(number)
        assert error.cause is Cause.MISMATCH
        assert "rank 1 does recv(float32, 8 elements, from rank 0, tag 5)" in str(error)
        assert "rank 0 does send(float32, 7 elements, to rank 1, tag 5)" in str(error)


def test_a_message_that_waits_too_long_names_the_peer_and_the_tag():
    with network(2) as net:
        number = post(net.channels[0], receive(np.zeros(8, np.float32), 1, 5))
        assert not net.channels[0].wait(number, 0.05)
        text = str(net.channels[0].expire(number, 0.05))
        assert "recv(float32, 8 elements, from rank 1, tag 5): rank 1 has sent no message that it matches" in text


def test_more_messages_without_a_receive_than_are_kept_are_named():
    with network(2) as net:
        numbers = net.channels[0].post([send(np.zeros(1, np.uint8), 1, tag) for tag in range(1100)])
        last = post(net.channels[1], receive(np.zeros(1, np.uint8), 0, 1099))
        assert not net.channels[0].wait(numbers[-1], 0.3)
        assert not net.channels[1].wait(last, 0.3)
        text = str(net.channels[1].expire(last, 0.3))
        assert "tag 1099): rank 0 has sent 1024 that no receive matches, and there is no room for more" in text


def test_a_send_that_nobody_receives_says_how_far_it_has_come():
    with network(2) as net:
        idle = post(net.channels[1], receive(np.zeros(1, np.uint8), 0, 1))
        number = post(net.channels[0], send(np.zeros(100_000, np.uint8), 1, 5))
        assert not net.channels[0].wait(number, 0.3)
        text = str(net.channels[0].expire(number, 0.3))
        assert "send(uint8, 100000 elements, to rank 1, tag 5): rank 1 has taken 61 of 397" in text
        assert net.channels[1].wait(idle, PATIENCE_S)


def test_what_needs_a_rank_that_has_left_fails():
    with network(3) as net:
        number = post(net.channels[0], receive(np.zeros(8, np.uint8), 2, 5))
        net.channels[0].on_peer_left(2, 0)
        assert net.channels[0].wait(number, PATIENCE_S)
        assert "rank 2 has left group 'test', and recv(uint8, 8 elements, from rank 2" in str(
            net.channels[0].failure(number)
        )


def test_an_aggregator_that_does_not_forward_is_named(monkeypatch):
    with network(2) as net:
        plain = net.lease
        monkeypatch.setattr(
            net, "lease", lambda rank: changed(plain(rank), forwards_messages=False, aggregator="core:mine:Core")
        )
        number = post(net.channels[0], send(np.zeros(8, np.uint8), 1))
        assert net.channels[0].wait(number, PATIENCE_S)
        assert "core:mine:Core" in str(net.channels[0].failure(number))
        with pytest.raises(TransportError, match="does not forward messages"):
            post(net.channels[0], send(np.zeros(8, np.uint8), 1))
