"""Why a call failed, in words for people: gRPC's own name its internals."""

from __future__ import annotations

from typing import Any

_MARKS = (
    ("Connection refused", "nothing listens there"),
    ("lookup", "there is no such host"),
    ("resolv", "there is no such host"),
    ("timed out", "it did not answer in time"),
    ("Network is unreachable", "the network is unreachable"),
    ("No route to host", "there is no route to that host"),
    ("Socket closed", "the connection broke"),
    ("Connection reset", "the connection broke"),
)
"""What gRPC's details hold, and what that means."""


def reason_of(error: Any) -> str:
    """Describe a grpc.RpcError: by the status message where the peer has answered, else by what failed."""
    if not hasattr(error, "code") or not hasattr(error, "details"):
        return str(error)
    details = str(error.details() or "")
    name = str(error.code().name) if error.code() is not None else "UNKNOWN"
    if name == "DEADLINE_EXCEEDED":
        return "it did not answer in time"
    if name == "UNAVAILABLE":
        return next((words for mark, words in _MARKS if mark in details), details or "it cannot be reached")
    if name == "UNIMPLEMENTED":
        return "another kind of server answers there"
    return details or name
