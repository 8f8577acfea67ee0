"""Context of reading expressions and primitives: the program's storage and objects, and the statements so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.bmv2json import numbers as n
from emulator.bmv2json.document import Node
from emulator.bmv2json.numbers import Number
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.storage import Storage
from emulator.p4 import ir


@dataclass(slots=True)
class Context:
    """Of one action, parser state or condition."""

    storage: Storage
    objects: Objects
    evaluate: Callable[[Context, Node], Number]
    """``expressions.exact``: headers are elements of stacks, by expressions."""
    parameters: Sequence[ir.Variable] = ()
    """The action's data."""
    errors: tuple[str, ...] = ()
    """The parser's, by number; empty outside a parser."""
    out: list[ir.Statement] = field(default_factory=list)
    """Statements so far, including those that must run before a value is read."""

    def index(self, node: Node) -> ir.Expr:
        return n.clamp_index(self.evaluate(self, node))

    def constant(self, node: Node, low: int, high: int) -> int:
        """A compile-time number: plain, or as hexstr."""
        if not isinstance(node.value, dict):
            return node.number(low, high)
        value: Any = self.evaluate(self, node).constant
        if value is None or not low <= value <= high:
            node.fail(f"must be a constant from {low} to {high}")
        return int(value)


def unwrap(node: Node) -> Node:
    """p4c wraps expressions in expressions."""
    while node.object().get("type") == "expression":
        node = node["value"]
    return node
