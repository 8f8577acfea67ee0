"""What the P4Runtime server answers when it refuses: a canonical code and one sentence.

Nothing here knows gRPC: ``server`` turns these errors into statuses in one place (P4Runtime, "Error Reporting
Messages"). Any other exception that leaves a handler is a defect of ours and becomes INTERNAL.
"""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """google.rpc.Code; the numbers are those of gRPC's status codes as well."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RequestError(Exception):
    """A request, or one update of a batch, that is refused: the client's fault unless the code says otherwise."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BatchError(Exception):
    """Some members of a batch (Write's updates, Read's requests) failed; the others were carried out.

    ``errors`` has one element for each member of the batch, in its order: None where it succeeded.
    """

    def __init__(self, what: str, errors: list[RequestError | None]) -> None:
        self.errors = errors
        failed = [(index, error) for index, error in enumerate(errors) if error is not None]
        first, error = failed[0]
        super().__init__(f"{len(failed)} of {len(errors)} {what}s failed; {what} {first + 1}: {error.message}")


def invalid(message: str) -> RequestError:
    return RequestError(Code.INVALID_ARGUMENT, message)
