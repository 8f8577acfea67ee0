"""Dense reduction of blocks, without time: what Flare's three algorithms do with the packets that come.

A block is the part of a message that one packet carries; every child sends one packet of every block. State is arrays
over blocks, so that a simulation may run in compiled code and call this in the order in which its handlers got their
buffers. What the published handlers leave out is here: a child that sends a block again is recognised and not added
twice, and gets the result when there is one.

- ``SINGLE``: one buffer; the result depends on the order of arrival for floats.
- ``MULTI``: the caller says which buffer a packet got; the last packet merges them, buffer 0 first.
- ``TREE``: children are paired by number; operands never depend on who came first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from pspin_model.flare.elements import Operator, Values
from pspin_model.flare.models.dense import Algorithm


class Verdict(IntEnum):
    """What became of a packet."""

    ADDED = 0
    COMPLETED = 1
    """Added, and the block's result is there: it is sent to all children."""
    REPEAT = 2
    """This child's packet is in already: not added; nothing to send yet."""
    SERVED_AGAIN = 3
    """A repeat of a block that is complete: the child gets the result."""


class ContributionError(ValueError):
    """A packet that no block of this reduction can take: its block, child or length is wrong."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One reduction on one switch."""

    blocks: int
    children: int
    elements: int
    """Elements of a packet."""
    dtype: np.dtype[Any]
    algorithm: Algorithm = Algorithm.SINGLE
    buffers: int = 1


@dataclass(slots=True)
class DenseBlocks:
    """The buffers of a reduction. `contribute` every packet, read `results`."""

    shape: Shape
    operator: Operator
    results: Values = field(init=False)
    """Blocks x elements; a row is valid when `complete` says so."""
    complete: np.ndarray[Any, np.dtype[np.bool_]] = field(init=False)
    came: np.ndarray[Any, np.dtype[np.bool_]] = field(init=False)
    """Blocks x children."""
    repeats: int = 0
    _buffers: dict[tuple[int, int, int], Values] = field(default_factory=dict)
    """(block, level or buffer, place) -> row."""

    def __post_init__(self) -> None:
        shape = self.shape
        self.results = np.zeros((shape.blocks, shape.elements), shape.dtype)
        self.complete = np.zeros(shape.blocks, np.bool_)
        self.came = np.zeros((shape.blocks, shape.children), np.bool_)

    def contribute(self, block: int, child: int, values: Values, buffer: int = 0) -> Verdict:
        """Take one packet. ``buffer`` is which of M buffers it got (MULTI only).

        Raises ContributionError, and changes nothing, for a packet that is not of this reduction.
        """
        self._check(block, child, values, buffer)
        if self.came[block, child]:
            self.repeats += 1
            return Verdict.SERVED_AGAIN if self.complete[block] else Verdict.REPEAT
        self.came[block, child] = True
        if self.shape.algorithm is Algorithm.TREE:
            return self._climb(block, child, values)
        self._put(block, buffer, values)
        if not self.came[block].all():
            return Verdict.ADDED
        return self._finish(block, self._merged(block))

    def _check(self, block: int, child: int, values: Values, buffer: int) -> None:
        shape = self.shape
        for name, number, limit in (("block", block, shape.blocks), ("child", child, shape.children)):
            if not 0 <= number < limit:
                raise ContributionError(f"{name} {number}: this reduction has {name} 0 to {limit - 1}")
        if values.shape != (shape.elements,) or values.dtype != shape.dtype:
            raise ContributionError(
                f"a packet of {values.shape} {values.dtype}: this reduction's have {shape.elements} {shape.dtype}"
            )
        if shape.algorithm is Algorithm.MULTI and not 0 <= buffer < shape.buffers:
            raise ContributionError(f"buffer {buffer}: a block has {shape.buffers}")

    def _put(self, block: int, buffer: int, values: Values) -> None:
        key = (block, buffer if self.shape.algorithm is Algorithm.MULTI else 0, 0)
        held = self._buffers.get(key)
        self._buffers[key] = values.copy() if held is None else self.operator(held, values)

    def _merged(self, block: int) -> Values:
        rows = [self._buffers.pop((block, number, 0), None) for number in range(max(1, self.shape.buffers))]
        used = [row for row in rows if row is not None]
        total = used[0]
        for row in used[1:]:
            total = self.operator(total, row)
        return total

    def _climb(self, block: int, child: int, values: Values) -> Verdict:
        """Merge with the sibling's row while that is there; leave the row for the sibling where not."""
        row, place, level = values.copy(), child, 0
        while (width := width_at(self.shape.children, level)) > 1:
            sibling = place ^ 1
            if sibling < width:
                other = self._buffers.pop((block, level, sibling), None)
                if other is None:
                    self._buffers[block, level, place] = row
                    return Verdict.ADDED
                row = self.operator(row, other) if place < sibling else self.operator(other, row)
            place, level = place // 2, level + 1
        return self._finish(block, row)

    def _finish(self, block: int, total: Values) -> Verdict:
        self.results[block] = total
        self.complete[block] = True
        return Verdict.COMPLETED

    @property
    def live_buffers(self) -> int:
        """Rows held for blocks that are not complete."""
        return len(self._buffers)


def width_at(children: int, level: int) -> int:
    """Nodes of a tree of that many leaves at a level (0 are the leaves): pairs first, one left over moves up alone."""
    return -(-children // (1 << level))


def reduce_tree(rows: Values, operator: Operator) -> Values:
    """The tree's result for rows in order of their children, written down without buffers: the oracle."""
    while len(rows) > 1:
        pairs = len(rows) // 2
        merged = [operator(rows[2 * i], rows[2 * i + 1]) for i in range(pairs)]
        rows = np.array([*merged, *rows[2 * pairs :]], rows.dtype)
    return np.asarray(rows[0])
