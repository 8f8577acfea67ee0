"""Refusals as gRPC statuses: the one place where a RequestError or BatchError becomes code, text and details.

P4Runtime, "Error Reporting": a batch with failures is UNKNOWN, with one p4.v1.Error for each of its members packed in
a google.rpc.Status, which gRPC carries in the trailer ``grpc-status-details-bin``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import grpc
from google.rpc import status_pb2

from emulator.p4runtime.errors import BatchError, Code, RequestError
from emulator.rpc.p4protos import p4runtime_pb2

DETAILS_KEY = "grpc-status-details-bin"

MAX_TEXT_BYTES = 4096
"""Largest size of a status text as sent (percent-encoded)."""
MAX_DETAIL_TEXT_BYTES = 512
DETAILS_BYTES = 7_000
"""For all details of a batch: gRPC clients with default settings begin to refuse trailers at 8 KiB. One error has to
come for every update, so from some 150 updates on a client needs a larger ``grpc.max_metadata_size``."""
BYTES_PER_DETAIL = 44
"""Size of a p4.v1.Error packed in an Any, but for its text."""

_BY_NUMBER = {status.value[0]: status for status in grpc.StatusCode}


def abort(context: Any, error: RequestError | BatchError) -> None:
    """End an RPC with an error: raises, as gRPC's abort does."""
    if isinstance(error, BatchError):
        text = shorten(str(error), MAX_DETAIL_TEXT_BYTES)
        details = batch_status(text, error.errors).SerializeToString()
        context.set_trailing_metadata(((DETAILS_KEY, details),))
        context.abort(grpc.StatusCode.UNKNOWN, text)
    else:
        context.abort(_BY_NUMBER[int(error.code)], shorten(error.message, MAX_TEXT_BYTES))


def batch_status(text: str, errors: list[RequestError | None]) -> Any:
    """A google.rpc.Status with one p4.v1.Error for each member of the batch, code OK where it succeeded."""
    status = status_pb2.Status(code=int(Code.UNKNOWN), message=text)
    failed = sum(error is not None for error in errors)
    room = max(0, DETAILS_BYTES - BYTES_PER_DETAIL * len(errors)) // max(1, failed)
    for error in errors:
        detail = p4runtime_pb2.Error(canonical_code=int(Code.OK))
        if error is not None:
            text = shorten(error.message, min(room, MAX_DETAIL_TEXT_BYTES))
            detail = p4runtime_pb2.Error(canonical_code=int(error.code), message=text)
        status.details.add().Pack(detail)
    return status


def shorten(text: str, limit_bytes: int) -> str:
    """Cut a text so that its percent-encoded form, which is what travels, keeps to the limit."""
    room = limit_bytes
    for position, character in enumerate(text):
        room -= len(quote(character, safe=_UNENCODED))
        if room < 0:
            return text[:position] + "..."
    return text


_UNENCODED = "".join(chr(number) for number in range(0x20, 0x7F) if chr(number) != "%")
