"""What an aggregator counts about contributions: the columns of ``p4src``'s two counters, by the same numbers."""

from __future__ import annotations

from enum import IntEnum


class Verdict(IntEnum):
    """What became of a contribution that reached the slot rule."""

    ACCEPTED = 0
    ACCEPTED_NO_DATA = 1
    COMPLETED = 2
    SERVED_AGAIN = 3
    WAITING = 4
    ERROR = 5
    OUTSIDE_WINDOW = 6
    MISMATCH = 7


VERDICT_COLUMNS = 16
"""Counter cells of one job's row."""


class Drop(IntEnum):
    """Why a frame was dropped before it reached a set."""

    NOT_OURS = 0
    LENGTH = 1
    CHECKSUM = 2
    JOB = 3
    CHILD = 4
    EPOCH = 5
    KIND = 6
    INDEX = 7
