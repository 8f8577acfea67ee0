"""A stream that is watched: what it tells, and when it is silent."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

from hostagent.controller.drivers.watched_stream import WatchedStream, loop_here

WAIT_S = 20.0
STREAM = "/test/Stream"


class Echo(grpc.GenericRpcHandler):
    """Answers each message with itself; "end" ends the stream, "fail" breaks it."""

    def service(self, details: Any) -> Any:
        return grpc.stream_stream_rpc_method_handler(self.echo) if details.method == STREAM else None

    def echo(self, messages: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for message in messages:
            if message == b"end":
                return
            if message == b"fail":
                context.abort(grpc.StatusCode.ABORTED, "as you asked")
            yield message


class Watcher:
    """A stream and what it has told."""

    def __init__(self, address: str) -> None:
        self.told: queue.Queue[Any] = queue.Queue()
        self.stream = WatchedStream(
            loop_here(), address, (), lambda channel: channel.stream_stream(STREAM)(), self.told.put, self._ended
        )

    def _ended(self, error: grpc.RpcError | None) -> None:
        self.told.put(("ended", None if error is None else error.code()))

    def next(self) -> Any:
        return self.told.get(timeout=WAIT_S)


@pytest.fixture
def server() -> Iterator[grpc.Server]:
    made = grpc.server(futures.ThreadPoolExecutor(2), handlers=(Echo(),))
    made.port = made.add_insecure_port("127.0.0.1:0")
    made.start()
    yield made
    made.stop(None).wait()


@pytest.fixture
def watcher(server: Any) -> Iterator[Watcher]:
    made = Watcher(f"127.0.0.1:{server.port}")
    yield made
    made.stream.close()


def test_messages_arrive_in_order(watcher: Watcher) -> None:
    for index in range(100):
        watcher.stream.send(b"%d" % index)
    assert [watcher.next() for _ in range(100)] == [b"%d" % index for index in range(100)]


def test_a_stream_that_ends_well_is_told_without_an_error(watcher: Watcher) -> None:
    watcher.stream.send(b"end")
    assert watcher.next() == ("ended", None)
    watcher.stream.send(b"too late")


def test_a_stream_that_breaks_is_told_with_its_error(watcher: Watcher) -> None:
    watcher.stream.send(b"fail")
    assert watcher.next() == ("ended", grpc.StatusCode.ABORTED)


def test_a_server_that_goes_away_ends_the_stream(server: grpc.Server, watcher: Watcher) -> None:
    watcher.stream.send(b"here")
    assert watcher.next() == b"here"
    server.stop(None).wait()
    assert watcher.next()[0] == "ended"


def test_closing_tells_nothing_and_may_be_repeated(watcher: Watcher) -> None:
    watcher.stream.send(b"here")
    assert watcher.next() == b"here"
    watcher.stream.close()
    watcher.stream.close()
    assert watcher.told.empty()


def test_nobody_there_is_an_error_at_once() -> None:
    watcher = Watcher("127.0.0.1:1")
    assert watcher.next() == ("ended", grpc.StatusCode.UNAVAILABLE)
    watcher.stream.close()
