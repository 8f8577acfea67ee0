"""Values and storage as trees: what a P4 value is once types are erased.

A value or storage is, by type: a scalar or varbit `ir.Expr` (storage: `ir.Variable` or `ir.FieldRef`); a header
`ir.HeaderRef` or `HeaderParts`; a stack of headers `ir.HeaderStack`; a header union `UnionParts`; a stack of those
`UnionStack`; anything else `Parts`, ``bit<0>`` one without items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.p4 import ir


@dataclass(slots=True)
class Parts:
    """A struct or tuple: one value for each part, and the parts' names (positions for tuples)."""

    names: dict[str, int]
    items: list[Any]

    def part(self, name: str) -> Any:
        return self.items[self.names[name]]


@dataclass(slots=True)
class UnionParts(Parts):
    """A header union: its members, headers of which at most one is valid (section 8.19)."""


@dataclass(slots=True)
class UnionStack(Parts):
    """A stack of header unions: ``items`` are its elements, each a `UnionParts`."""

    stacks: dict[str, ir.HeaderStack]
    """Stacks of the union's members, each over all elements."""
    next_index: ir.Variable

    def element(self, index: ir.Expr) -> UnionParts:
        items = [ir.StackAt(stack, index) for stack in self.stacks.values()]
        return UnionParts({name: i for i, name in enumerate(self.stacks)}, items)


def union_stack(stacks: dict[str, ir.HeaderStack], next_index: ir.Variable) -> UnionStack:
    names = {name: i for i, name in enumerate(stacks)}
    size = min((stack.size for stack in stacks.values()), default=0)
    unions = [UnionParts(names, [stack.headers[i] for stack in stacks.values()]) for i in range(size)]
    return UnionStack({str(i): i for i in range(size)}, unions, stacks, next_index)


@dataclass(slots=True)
class HeaderParts:
    """A header that is only a value: its fields' values, in order; ``valid`` False for ``{#}``."""

    items: list[Any]
    valid: bool


Value: TypeAlias = Any


HEADER_REFS = (ir.Header, ir.StackAt, ir.StackNext, ir.StackLast)


AGGREGATES = (Parts, HeaderParts, ir.HeaderStack, *HEADER_REFS)


def leaves(value: Value) -> Iterator[ir.Expr]:
    """All scalars of a value, in order (a header's are its fields)."""
    if isinstance(value, Parts | HeaderParts):
        for item in value.items:
            yield from leaves(item)
    elif isinstance(value, ir.HeaderStack):
        for header in value.headers:
            yield from leaves(header)
    elif isinstance(value, HEADER_REFS):
        for field in value.type.fields:
            yield ir.FieldRef(value, field)
    else:
        yield value


def roots(value: Value) -> Iterator[str]:
    """Names of the variables, headers and stacks that a value is made of or read from."""
    if isinstance(value, Parts | HeaderParts):
        for item in value.items:
            yield from roots(item)
    elif isinstance(value, ir.Variable | ir.Header):
        yield value.name
    elif isinstance(value, ir.HeaderStack):
        for header in value.headers:
            yield header.name
    elif isinstance(value, ir.StackAt):
        yield from roots(value.stack)
        yield from roots(value.index)
    elif isinstance(value, ir.StackNext | ir.StackLast | ir.StackLastIndex):
        yield from roots(value.stack)
    elif isinstance(value, ir.FieldRef | ir.IsValid):
        yield from roots(value.header)
    else:
        for name in ("operand", "left", "right", "condition", "then", "otherwise"):
            inner = getattr(value, name, None)
            if inner is not None:
                yield from roots(inner)


def is_static(value: Value) -> bool:
    """Storage at a place that does not depend on run-time values."""
    if isinstance(value, Parts):
        return all(map(is_static, value.items))
    if isinstance(value, ir.FieldRef):
        return isinstance(value.header, ir.Header)
    return isinstance(value, ir.Variable | ir.Header | ir.HeaderStack)


def is_constant(value: Value) -> bool:
    if isinstance(value, Parts | HeaderParts):
        return all(map(is_constant, value.items))
    return isinstance(value, ir.Constant | ir.Text)
