"""Jobs over real transport loops: sums, many operations in flight, loss, restarts, and each way a job can end."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.ports.errors import NotOffered
from hostagent.protocol.operation import NOTHING, Operation, OperationKind, Span
from hostagent.transport import job
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.job import MOST_KINDS, REQUESTS, OperationCounts
from tests.labs.transport_network import network

PATIENCE_S = 60.0


def span(array: np.ndarray[Any, Any], first: int = 0) -> Span:
    return Span(array.ctypes.data, first, array.size)


def sum_of(array, collective="all_reduce", kind=OperationKind.SUM):
    described = collective, kind, str(array.dtype), array.itemsize, array.size, span(array), span(array)
    return Operation(*described, memory=(array,))


def run(net, operations):
    """One operation per rank, to its end."""
    numbers = [channel.submit(operation) for channel, operation in zip(net.channels, operations, strict=True)]
    for channel, number in zip(net.channels, numbers, strict=True):
        assert channel.wait(number, PATIENCE_S)
        assert channel.failure(number) is None


def test_every_rank_gets_the_sum():
    with network(3) as net:
        arrays = [np.arange(5000, dtype=np.float32) * (rank + 1) for rank in range(3)]
        run(net, [sum_of(array) for array in arrays])
        for array in arrays:
            assert np.array_equal(array, np.arange(5000, dtype=np.float32) * 6)


def test_operations_overlap_and_are_numbered_in_order():
    with network(2) as net:
        arrays = [[np.full(300, value + rank, np.int32) for value in range(50)] for rank in range(2)]
        numbers = [
            [channel.submit(sum_of(a)) for a in mine] for channel, mine in zip(net.channels, arrays, strict=True)
        ]
        assert numbers == [list(range(50))] * 2
        assert net.channels[0].wait(49, PATIENCE_S)
        assert net.channels[1].wait(49, PATIENCE_S)
        for value in range(50):
            assert (arrays[0][value] == 2 * value + 1).all()
            assert (arrays[1][value] == 2 * value + 1).all()


def test_more_operations_than_the_ring_holds():
    with network(2) as net:
        barrier = Operation("barrier", OperationKind.BARRIER, "uint8", 1, 0)
        numbers = []
        for _ in range(REQUESTS + 50):
            numbers = [channel.submit(barrier) for channel in net.channels]
        for channel, number in zip(net.channels, numbers, strict=True):
            assert channel.wait(number, PATIENCE_S)
            assert channel.finished(0)
            assert channel.failure(0) is None


def test_raw_moves_go_from_one_rank_to_the_others():
    with network(3) as net:
        source = np.frombuffer(random.Random(1).randbytes(3001), np.uint8).copy()
        targets = [source, np.zeros(3001, np.uint8), np.zeros(3001, np.uint8)]
        operations = [
            Operation(
                "broadcast", OperationKind.RAW, "uint8", 1, 3001,
                span(source) if rank == 0 else NOTHING, NOTHING if rank == 0 else span(targets[rank]), root=0,
            )
            for rank in range(3)
        ]  # fmt: skip
        run(net, operations)
        assert all(np.array_equal(target, source) for target in targets)


def test_sums_are_right_under_loss():
    draw = random.Random(7)
    with network(2, loses=lambda port, frame: draw.random() < 0.3) as net:
        for _ in range(5):
            arrays = [np.arange(2000, dtype=np.int32) * (rank + 1) for rank in range(2)]
            run(net, [sum_of(array) for array in arrays])
            assert all(np.array_equal(array, np.arange(2000) * 3) for array in arrays)
        assert net.channels[0].statistics()["retransmissions_sent"] > 0


def test_a_restart_in_the_middle_is_not_noticed():
    with network(2) as net:
        arrays = [np.arange(20000, dtype=np.int32) * (rank + 1) for rank in range(2)]
        numbers = [channel.submit(sum_of(a)) for channel, a in zip(net.channels, arrays, strict=True)]
        while net.channels[0].statistics().get("chunks_stored", 0) < 20:
            assert not net.channels[0].wait(numbers[0], 0.001)
        net.restart()
        for channel, number in zip(net.channels, numbers, strict=True):
            assert channel.wait(number, PATIENCE_S)
            assert channel.failure(number) is None
            assert channel.statistics()["resumptions"] == 1
        assert all(np.array_equal(array, np.arange(20000) * 3) for array in arrays)


@pytest.mark.parametrize("windows", [(8, 2, 16), (16, 8, 2), (2, 16)])
def test_the_window_may_change_with_the_epoch(windows: tuple[int, ...]) -> None:
    with network(2, window=windows[0], largest_window=16) as net:
        arrays = [np.arange(20_000, dtype=np.float32) * (rank + 1) for rank in range(2)]
        numbers = [channel.submit(sum_of(a)) for channel, a in zip(net.channels, arrays, strict=True)]
        for turn, window in enumerate(windows[1:]):
            while net.channels[0].statistics().get("chunks_stored", 0) < 20 * (1 + turn):
                assert not net.channels[0].wait(numbers[0], 0.001)
            net.window = window
            net.restart()
        for channel, number in zip(net.channels, numbers, strict=True):
            assert channel.wait(number, PATIENCE_S)
            assert channel.failure(number) is None
            assert channel.statistics()["resumptions"] == len(windows) - 1
        assert all(np.array_equal(array, np.arange(20_000) * 3) for array in arrays)


def test_a_window_beyond_the_memory_of_the_lease_is_refused() -> None:
    with network(2, window=8, largest_window=16) as net:
        arrays = [np.zeros(10, np.int32) for _ in range(2)]
        run(net, [sum_of(array) for array in arrays])
        lowest = [channel.on_freeze() for channel in net.channels]
        with pytest.raises(ValueError, match="window is 32, must be at most largest_window, 16"):
            net.channels[0].on_resume(replace(net.lease(0), window=32))
        for rank, channel in enumerate(net.channels):
            channel.on_resume(replace(net.lease(rank), base=min(lowest)))


def test_ranks_that_disagree_are_all_told_both_operations():
    with network(2) as net:
        arrays = [np.zeros(100, np.int32), np.zeros(200, np.int32)]
        numbers = [channel.submit(sum_of(a)) for channel, a in zip(net.channels, arrays, strict=True)]
        for channel, number in zip(net.channels, numbers, strict=True):
            assert channel.wait(number, PATIENCE_S)
            text = str(channel.failure(number))
            assert "all_reduce(SUM, int32, 100 elements)" in text
            assert "all_reduce(SUM, int32, 200 elements)" in text
            with pytest.raises(TransportError):
                channel.submit(sum_of(arrays[0]))


def test_a_time_out_names_the_rank_that_is_missing():
    with network(3) as net:
        arrays = [np.zeros(100, np.int32) for _ in range(3)]
        run(net, [sum_of(array) for array in arrays])
        numbers = [net.channels[rank].submit(sum_of(arrays[rank])) for rank in (0, 2)]
        while net.channels[0].statistics()["waiting_received"] == 0:
            assert not net.channels[0].wait(numbers[0], 0.01)
        error = net.channels[0].expire(numbers[0], 1.5)
        assert isinstance(error, TransportError)
        assert error.cause is Cause.TIMEOUT
        assert "rank 0 had called all_reduce(SUM, int32, 100 elements)" in str(error)
        assert "to which rank 1 had not contributed" in str(error)
        assert net.channels[2].wait(numbers[1], PATIENCE_S)
        assert "rank 0 had called" in str(net.channels[2].failure(numbers[1]))


def test_a_rank_that_left_fails_only_what_needs_it():
    with network(2) as net:
        arrays = [np.ones(100, np.int32) for _ in range(2)]
        early = [channel.submit(sum_of(a)) for channel, a in zip(net.channels, arrays, strict=True)]
        assert net.channels[1].wait(early[1], PATIENCE_S)
        net.channels[1].close()
        assert net.channels[0].wait(early[0], PATIENCE_S)
        net.channels[0].on_peer_left(1, net.sessions[1].left_at)
        assert net.channels[0].failure(early[0]) is None
        late = net.channels[0].submit(sum_of(arrays[0]))
        assert net.channels[0].wait(late, PATIENCE_S)
        assert "rank 1 has left group 'test', and all_reduce(SUM, int32, 100 elements)" in str(
            net.channels[0].failure(late)
        )


def test_a_closed_job_reports_its_counters_and_takes_nothing_more():
    with network(2) as net:
        arrays = [np.ones(100, np.int32) for _ in range(2)]
        run(net, [sum_of(array) for array in arrays])
        net.channels[0].close()
        assert net.sessions[0].reports["operations_finished"] == 1
        with pytest.raises(TransportError, match="destroyed"):
            net.channels[0].submit(sum_of(arrays[0]))


def test_a_rank_that_has_left_in_the_background_still_helps_the_others():
    """It lingers, and a restart of the aggregator takes it along; the caller has gone on."""
    with network(2) as net:
        arrays = [np.ones(20_000, np.int32) for _ in range(2)]
        run(net, [sum_of(array) for array in arrays])
        net.sessions[0].released.clear()
        net.channels[0].leave()
        assert not net.sessions[0].released.is_set()
        with pytest.raises(TransportError, match="destroyed"):
            net.channels[0].submit(sum_of(arrays[0]))
        net.restart()
        assert net.channels[0].statistics()["resumptions"] == 1
        net.sessions[0].released.set()
        net.channels[0].close()
        assert net.transports[0].forgotten == [net.channels[0]]


def test_leaving_with_an_operation_in_flight_ends_it_first():
    """Its memory is the caller's again when `leave` returns."""
    with network(2) as net:
        array = np.ones(100, np.int32)
        number = net.channels[0].submit(sum_of(array))
        net.channels[0].leave()
        assert net.transports[0].forgotten == [net.channels[0]]
        assert net.channels[0].finished(number)
        assert "destroyed" in str(net.channels[0].failure(number))


def test_a_lease_that_cannot_be_used_fails_the_job_with_the_reason():
    with network(2) as net:
        net.lease = lambda rank: (_ for _ in ()).throw(AssertionError) if rank else _too_long(net)
        number = net.channels[0].submit(sum_of(np.zeros(4, np.int32)))
        assert net.channels[0].wait(number, PATIENCE_S)
        assert "rank 0 cannot attach to the network" in str(net.channels[0].failure(number))


def test_a_port_that_is_gone_when_the_lease_comes_is_attached_to_after_the_restart() -> None:
    with network(2) as net:
        arrays = [np.arange(3000, dtype=np.int32) * (rank + 1) for rank in range(2)]
        opens, asked = net.transports[0].engine_for, threading.Event()

        def not_yet(lease):
            asked.set()
            _not_offered()

        net.transports[0].engine_for = not_yet
        numbers = [channel.submit(sum_of(a)) for channel, a in zip(net.channels, arrays, strict=True)]
        assert asked.wait(PATIENCE_S)
        assert not net.channels[0].finished(numbers[0])
        net.transports[0].engine_for = opens
        net.restart()
        for channel, number in zip(net.channels, numbers, strict=True):
            assert channel.wait(number, PATIENCE_S)
            assert channel.failure(number) is None
        assert all(np.array_equal(array, np.arange(3000) * 3) for array in arrays)


def test_a_port_that_nobody_offers_fails_the_job_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "OFFER_TIMEOUT_S", 0.05)
    with network(2) as net:
        net.transports[0].engine_for = lambda lease: _not_offered()
        number = net.channels[0].submit(sum_of(np.zeros(4, np.int32)))
        assert net.channels[0].wait(number, PATIENCE_S)
        assert "rank 0 cannot attach to the network: nobody offers it" in str(net.channels[0].failure(number))


def _not_offered():
    raise NotOffered("nobody offers it")


def _too_long(net):
    from tests.labs.transport_network import Network, changed

    return changed(Network.lease(net, 0), lanes=60000)


def test_the_time_of_operations_is_counted_once_where_they_overlap():
    with network(2) as net:
        arrays = [[np.ones(50_000, np.float32) for _ in range(4)] for _ in range(2)]
        numbers = [
            [channel.submit(sum_of(array)) for array in own] for channel, own in zip(net.channels, arrays, strict=True)
        ]
        for channel, own in zip(net.channels, numbers, strict=True):
            assert all(channel.wait(number, PATIENCE_S) for number in own)
            counters = channel.statistics()
            name = "all_reduce/SUM/float32/50000"
            assert counters[f"operation/{name}"] == counters["progress/operations"] == 4
            assert counters[f"operation_ns/{name}"] > counters["in_flight_ns"], "four at the same time"
            assert 0 < counters["in_flight_ns"] <= counters["elapsed_ns"]
            chunks = sum(count for counter, count in counters.items() if counter.startswith("latency_ns/"))
            assert chunks == counters["results_received"]


def test_operation_times_are_counted_of_at_most_so_many_kinds():
    counts = OperationCounts()
    names = [counts.add(sum_of(np.ones(elements, np.float32))) for elements in range(1, MOST_KINDS + 3)]
    counts.settle(names[0], 100, 107)
    assert counts.counters()["in_flight_ns"] == 7
    counts.settle(names[1], 110, 125)
    counts.settle(names[2], 120, 122)
    counters = counts.counters()
    assert (counters["in_flight_ns"], counters["elapsed_ns"]) == (7 + 15, 25)
    assert counters["operation_ns/all_reduce/SUM/float32/2"] == 15
    assert counters["operation_ns/all_reduce/SUM/float32/3"] == 2
    assert counters["operation/other"] == 2
