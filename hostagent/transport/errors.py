"""What the transport raises; the torch backend turns it into torch's exceptions, other users catch it as it is."""

from __future__ import annotations

from enum import Enum


class Cause(Enum):
    """Why an operation could not finish."""

    TIMEOUT = "timeout"
    """Its own time-out passed: some rank is alive but has not contributed."""
    LOST = "lost"
    """A rank, the aggregator or the controller died, left or cannot be reached. Another job may succeed."""
    MISMATCH = "mismatch"
    """Ranks disagree on what the operation is."""
    REFUSED = "refused"
    """The controller or the aggregator refused the job, or the rack server an operation on its weights. The same will
    be refused again."""
    LOCAL = "local"
    """This process ended the job (closed, aborted) or could not start its transport."""


class TransportError(Exception):
    """An operation or a job that failed: ``str()`` is the sentence for the user, ``cause`` the reason as data."""

    def __init__(self, text: str, cause: Cause = Cause.LOCAL) -> None:
        super().__init__(text, cause)
        self.text = text
        self.cause = cause

    def __str__(self) -> str:
        return self.text


def listed(ranks: list[int]) -> str:
    """``1, 2 and 5``, for messages."""
    return " and ".join(filter(None, [", ".join(map(str, ranks[:-1])), str(ranks[-1])]))
