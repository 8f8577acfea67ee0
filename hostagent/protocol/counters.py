"""What an aggregator counts about frames: the columns of ``p4src``'s two counters, by the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

LATENCY = "latency_ns/"
"""Begins the names of a rank's counters of chunks by latency; the least latency of the bucket follows."""


def latency_buckets(counters: Mapping[str, int]) -> list[tuple[int, int]]:
    """(least latency in nanoseconds, chunks) of the buckets among a rank's counters, in order."""
    return sorted((int(name.removeprefix(LATENCY)), n) for name, n in counters.items() if name.startswith(LATENCY))


class Verdict(IntEnum):
    """What became of a contribution that reached the slot rule, or of a frame for another child."""

    ACCEPTED = 0
    ACCEPTED_NO_DATA = 1
    COMPLETED = 2
    SERVED_AGAIN = 3
    WAITING = 4
    ERROR = 5
    OUTSIDE_WINDOW = 6
    MISMATCH = 7
    FORWARDED = 8
    """No contribution: a message or an acknowledgement that has left for another child; in a leaf of a tree also what
    the parent says of who is missing."""
    PARTIAL_AGAIN = 9
    """In a leaf: a duplicate for which the partial sum has gone up again."""
    FROM_PARENT = 10
    """No contribution: the parent's result or error, which has gone to all children."""
    OVERFLOWED = 11
    """A contribution for a slot that a switch does not have, which has gone on to the server."""


VERDICT_COLUMNS = 16
"""Counter cells of one job's row."""


class Drop(IntEnum):
    """Why a frame was dropped before it reached a set or left for another child."""

    NOT_OURS = 0
    LENGTH = 1
    CHECKSUM = 2
    JOB = 3
    CHILD = 4
    EPOCH = 5
    KIND = 6
    INDEX = 7
    PEER = 8
    """No entry for the child that a message is for."""
