"""Rings of integers in the rows of a table, with their spans (head, count); and arbiters."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit


@njit
def append(ring: Any, span: Any, row: int, value: int) -> None:
    """Put at the tail; the ring must have room."""
    ring[row, (span[row, 0] + span[row, 1]) % ring.shape[1]] = value
    span[row, 1] += 1


@njit
def take(ring: Any, span: Any, row: int) -> int:
    """Take from the head; there must be something."""
    value = ring[row, span[row, 0]]
    span[row, 0] = (span[row, 0] + 1) % ring.shape[1]
    span[row, 1] -= 1
    return int(value)


@njit
def take_at(ring: Any, span: Any, row: int, place: int) -> int:
    """Take the one ``place`` behind the head, keeping the order of the others."""
    size = ring.shape[1]
    head = span[row, 0]
    value = ring[row, (head + place) % size]
    for step in range(place, 0, -1):
        ring[row, (head + step) % size] = ring[row, (head + step - 1) % size]
    span[row, 0] = (head + 1) % size
    span[row, 1] -= 1
    return int(value)


@njit
def has_room(ring: Any, span: Any, row: int, taken_now: bool) -> bool:
    """Whether a hardware register takes another value: a place that is emptied in a cycle is seen in the next."""
    return bool(span[row, 1] + (1 if taken_now else 0) < ring.shape[1])


@njit
def arbiter_rank(requester: int, turn: int, count: int) -> int:
    """Order of a requester in an arbiter tree: the least rank wins.

    At each node of the tree a bit of the turn says which half is preferred if both ask. [src]
    """
    width = 1
    while width < count:
        width *= 2
    return int(requester ^ (turn % count & (width - 1)))


@njit
def later_turn(requester: int, turn: int, best: int) -> int:
    """Who of a requester and the best so far (-1: none) has the turn after a grant.

    That is the first that asks behind the turn that was, else the first of all: arbiters are fair when few ask. [src]
    """
    if best < 0:
        return int(requester)
    if (requester > turn) != (best > turn):
        return int(max(requester, best))
    return int(min(requester, best))
