"""Numbers by time, the earliest first, the smaller number of two at one time first; compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emulator.native.jit import njit
from emulator.network.messages.passage import Array


class Heap(NamedTuple):
    """A binary heap of numbers below a bound, each once at most."""

    times: Array
    """int64 [bound], by number."""
    numbers: Array
    """int32 [bound]: the heap; its first ``size[0]`` entries."""
    places: Array
    """int32 [bound]: where a number is in the heap, or -1."""
    size: Array
    """int64 [1]."""


@njit(internal=True)
def make_heap(bound: int) -> Heap:
    return Heap(
        np.zeros(bound, np.int64), np.empty(bound, np.int32), np.full(bound, -1, np.int32), np.zeros(1, np.int64)
    )


@njit(internal=True)
def put(heap: Heap, number: int, time: int) -> None:
    """It is in there at that time, wherever it was before."""
    place = heap.places[number]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
        heap.numbers[place] = number
        heap.places[number] = place
    heap.times[number] = time
    _rise(heap, place)
    _sink(heap, heap.places[number])


@njit(internal=True)
def take(heap: Heap) -> Any:
    """The first number, which is removed."""
    number = heap.numbers[0]
    heap.size[0] -= 1
    heap.places[number] = -1
    last = heap.size[0]
    if last > 0:
        moved = heap.numbers[last]
        heap.numbers[0] = moved
        heap.places[moved] = 0
        _sink(heap, 0)
    return number


@njit(internal=True)
def _before(heap: Heap, number: int, other: int) -> Any:
    if heap.times[number] != heap.times[other]:
        return heap.times[number] < heap.times[other]
    return number < other


@njit(internal=True)
def _rise(heap: Heap, place: int) -> None:
    number = heap.numbers[place]
    while place > 0:
        above = (place - 1) >> 1
        if not _before(heap, number, heap.numbers[above]):
            break
        heap.numbers[place] = heap.numbers[above]
        heap.places[heap.numbers[place]] = place
        place = above
    heap.numbers[place] = number
    heap.places[number] = place


@njit(internal=True)
def _sink(heap: Heap, place: int) -> None:
    number = heap.numbers[place]
    while True:
        below = 2 * place + 1
        if below >= heap.size[0]:
            break
        if below + 1 < heap.size[0] and _before(heap, heap.numbers[below + 1], heap.numbers[below]):
            below += 1
        if not _before(heap, heap.numbers[below], number):
            break
        heap.numbers[place] = heap.numbers[below]
        heap.places[heap.numbers[place]] = place
        place = below
    heap.numbers[place] = number
    heap.places[number] = place
