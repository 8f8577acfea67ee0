"""A failed call's reason is one line that people understand."""

from __future__ import annotations

import socket

import grpc
import pytest

from hostagent.launch.status import run_status
from hostagent.protocol.services.reasons import reason_of


class Failed(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self.code, self.details = lambda: code, lambda: details


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as held:  # bound, but not listening
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        assert run_status(address) == 1
    assert capsys.readouterr().err == (f"netsum status: no controller answers at {address}: nothing listens there\n")


@pytest.mark.parametrize(
    ("code", "details", "words"),
    [
        (grpc.StatusCode.UNAVAILABLE, "errors resolving x: [hostname lookup error]", "there is no such host"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", "it did not answer in time"),
        (grpc.StatusCode.UNIMPLEMENTED, "Method not found!", "another kind of server answers there"),
        (grpc.StatusCode.FAILED_PRECONDITION, "no job 3", "no job 3"),
    ],
)
def test_in_words(code: grpc.StatusCode, details: str, words: str) -> None:
    assert reason_of(Failed(code, details)) == words
    assert reason_of(grpc.RpcError("odd")) == "odd"
