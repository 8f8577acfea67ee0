"""Contexts of reading: what of a document has been read; the statements of an action, parser state or condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.bmv2json import numbers as n
from emulator.bmv2json.client_p4info import ClientP4Info
from emulator.bmv2json.document import Node
from emulator.bmv2json.numbers import Number
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.storage import Storage
from emulator.p4 import ir


@dataclass(frozen=True, slots=True)
class JsonAction:
    """An action of the document; several may have one name."""

    id: int
    name: str
    action: ir.Action
    """Its name is unique in the IR."""


@dataclass(slots=True)
class DocumentContext:
    """Parts of the document that the parser, the actions, the tables and the pipelines refer to."""

    storage: Storage
    objects: Objects
    client: ClientP4Info
    actions: Mapping[int, JsonAction] = field(default_factory=dict)
    """The document's, by id."""
    more_actions: list[ir.Action] = field(default_factory=list)
    """Actions of tables that the document lacks."""


@dataclass(slots=True)
class Context:
    """Context of the expressions and primitives of one action, parser state or condition."""

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
