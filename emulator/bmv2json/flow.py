"""Conversion of nodes that name their successors to nested statements.

A graph without cycles becomes nested ``if`` and ``switch``: where the ways from a node meet again (its immediate
postdominator) the nesting ends. Ways that cross, so that a node would be in two places, are led by a variable
instead, node after node in topological order; nothing is ever copied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from emulator.p4 import ir

Key = TypeVar("Key", bound=Hashable)

MAX_NESTING = 40
"""The deepest nesting; beyond it a variable selects the path, because walks of the IR are recursive."""


@dataclass(frozen=True, slots=True)
class FlowNode(Generic[Key]):
    successors: tuple[Key | None, ...]
    """Successors without repetition; None is the end."""
    build: Callable[[tuple[ir.Block, ...]], ir.Block]
    """The node's statements; the argument has what follows for each successor."""


class Cycle(Exception):
    """The graph has a cycle; ``args[0]`` is a key on it."""


class _Tangled(Exception):
    """A node would have to be duplicated, or nested too deeply."""


def structure(entry: Key | None, nodes: Mapping[Key, FlowNode[Key]], guard: Callable[[], ir.Variable]) -> ir.Block:
    """The statements of a graph; all successors are in ``nodes``. Raises Cycle. ``guard`` makes a variable."""
    order = topological(entry, nodes)
    try:
        return _Nested(nodes, order).block(entry, None, 0)
    except _Tangled:
        return _led(entry, nodes, order, guard())


def topological(entry: Key | None, nodes: Mapping[Key, FlowNode[Key]]) -> list[Key]:
    """All nodes that can be reached, each before its successors. Raises Cycle."""
    order: list[Key] = []
    state: dict[Key, bool] = {}
    """False while a node's successors are being visited."""
    waiting: list[tuple[Key, bool]] = [(entry, False)] if entry is not None else []
    while waiting:
        key, is_done = waiting.pop()
        if is_done:
            state[key] = True
            order.append(key)
            continue
        if key in state:
            if not state[key]:
                raise Cycle(key)
            continue
        state[key] = False
        waiting.append((key, True))
        for following in nodes[key].successors:
            if following is None or state.get(following):
                continue
            if following in state:
                raise Cycle(following)
            waiting.append((following, False))
    order.reverse()
    return order


class _Nested(Generic[Key]):
    def __init__(self, nodes: Mapping[Key, FlowNode[Key]], order: Sequence[Key]) -> None:
        self.nodes = nodes
        self.placed: set[Key] = set()
        self.joins: dict[Key, Key | None] = {}
        depths: dict[Key | None, int] = {None: 0}
        for key in reversed(order):
            successors = nodes[key].successors or (None,)
            join = successors[0]
            for other in successors[1:]:
                join = self._meet(join, other, depths)
            self.joins[key] = join
            depths[key] = depths[join] + 1

    def _meet(self, left: Key | None, right: Key | None, depths: Mapping[Key | None, int]) -> Key | None:
        while left != right:
            if depths[left] >= depths[right]:
                assert left is not None
                left = self.joins[left]
            else:
                assert right is not None
                right = self.joins[right]
        return left

    def block(self, key: Key | None, stop: Key | None, depth: int) -> ir.Block:
        """Statements from a node to its immediate postdominator."""
        if depth > MAX_NESTING:
            raise _Tangled
        out: list[ir.Statement] = []
        while key is not None and key != stop:
            if key in self.placed:
                raise _Tangled
            self.placed.add(key)
            node, join = self.nodes[key], self.joins[key]
            branches = tuple(self.block(following, join, depth + 1) for following in node.successors)
            out += node.build(branches)
            key = join
        return tuple(out)


def _led(entry: Key | None, nodes: Mapping[Key, FlowNode[Key]], order: Sequence[Key], guard: ir.Variable) -> ir.Block:
    numbers: dict[Key | None, int] = {key: i + 1 for i, key in enumerate(order)}
    numbers[None] = 0

    def go(key: Key | None) -> ir.Statement:
        return ir.Assign(guard, ir.Constant(numbers[key], ir.INDEX))

    out: list[ir.Statement] = [go(entry)]
    for key in order:
        node = nodes[key]
        here = ir.Binary(ir.BinaryOp.EQ, guard, ir.Constant(numbers[key], ir.INDEX), ir.BOOL)
        out.append(ir.If(here, node.build(tuple((go(following),) for following in node.successors))))
    return tuple(out)
