"""Headers, stacks, unions and metadata of a document, as the IR's storage.

Header instances keep their names; elements of stacks become ``stack[i]``, members of unions ``union.member``, and a
stack of unions is one stack for each member (``emulator.p4.lower.storage`` does the same). A metadata instance is no
header: each of its fields is a variable ``instance.field``, made when it is first used. The fields that simple_switch
itself knows, by their names or by the document's aliases, are v1model's standard metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from emulator.bmv2json.document import Node
from emulator.p4 import ir
from emulator.v1model.metadata import WIDTHS_BITS, standard

MAX_FIELD_BITS = 1 << 16
MAX_STACK = 1 << 10
MAX_HEADERS = 1 << 14
"""Generous, and far below the sizes with which a short document could exhaust a machine's memory."""
VALID = "$valid$"
EMPTY = ir.Bits(0)
"""The type of fields of no bits: they read as 0, and writing them does nothing."""
SYSTEM = ("standard_metadata", "intrinsic_metadata", "queueing_metadata")
"""Instances with fields that simple_switch knows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A field: where its value is, and the type that the document gives it (the place may be wider or narrower)."""

    place: ir.Variable | ir.FieldRef
    type: ir.Type

    @property
    def is_empty(self) -> bool:
        return self.type == EMPTY


NOWHERE = Slot(ir.Variable("bmv2.nowhere", ir.Bits(1)), EMPTY)
"""Slot of all fields of no bits; its variable is never read or written."""


@dataclass(frozen=True, slots=True)
class Union:
    name: str
    members: tuple[tuple[str, ir.HeaderRef], ...]

    @property
    def headers(self) -> tuple[ir.HeaderRef, ...]:
        return tuple(header for _, header in self.members)


@dataclass(frozen=True, slots=True)
class UnionStack:
    name: str
    size: int
    members: tuple[tuple[str, ir.HeaderStack], ...]
    next_index: ir.Variable

    def at(self, index: ir.Expr) -> Union:
        return Union(self.name, tuple((member, ir.StackAt(stack, index)) for member, stack in self.members))


@dataclass(slots=True)
class Storage:
    headers: dict[str, ir.Header] = field(default_factory=dict)
    """Headers by the document's name, elements of stacks and members of unions included."""
    metadata: dict[str, dict[str, ir.Type]] = field(default_factory=dict)
    field_order: dict[str, list[str]] = field(default_factory=dict)
    """All fields of the document, by header type."""
    stacks: dict[str, ir.HeaderStack] = field(default_factory=dict)
    unions: dict[str, Union] = field(default_factory=dict)
    union_stacks: dict[str, UnionStack] = field(default_factory=dict)
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    """(instance, field) -> name of a standard metadata field."""
    variables: dict[str, ir.Variable] = field(default_factory=dict)
    all_stacks: list[ir.HeaderStack] = field(default_factory=list)
    _siblings: dict[str, tuple[ir.Header | ir.HeaderStack, ...]] = field(default_factory=dict)
    """The other members of a union member's union, by the name of the header or (in a stack of unions) of its stack."""

    # --- looking up --------------------------------------------------------------------------------------------------

    def header(self, node: Node) -> ir.Header:
        name = node.text()
        if name not in self.headers:
            what = "metadata, which has no validity" if name in self.metadata else "not declared"
            node.fail(f"header {name!r} is {what}")
        return self.headers[name]

    def slot(self, node: Node) -> Slot:
        """The field that ``[instance, field]`` names."""
        instance_node, name_node = node.exactly(2, "header, field")
        instance, name = instance_node.text(), name_node.text()
        if instance in self.metadata:
            return self._metadata(instance, name, name_node)
        return self.field(self.header(instance_node), name_node)

    def field(self, header: ir.HeaderRef, node: Node) -> Slot:
        name = node.text()
        for candidate in header.type.fields:
            if candidate.name == name:
                return Slot(ir.FieldRef(header, candidate), candidate.type)
        if name in self.field_order.get(header.type.name, ()):
            return NOWHERE
        return node.fail(f"header type {header.type.name} has no field {name!r}")

    def _metadata(self, instance: str, name: str, node: Node) -> Slot:
        if name not in self.metadata[instance]:
            node.fail(f"{instance} has no field {name!r}")
        type_ = self.metadata[instance][name]
        if type_ == EMPTY:
            return NOWHERE
        known = self.aliases.get((instance, name))
        if known is not None:
            return Slot(standard(known), type_)
        return Slot(self.variable(f"{instance}.{name}", type_), type_)

    def validity(self, node: Node) -> ir.Expr | None:
        """What the hidden field ``[instance, "$valid$"]`` holds, one bit; None where the node names another field."""
        if not isinstance(node.value, list) or len(node.value) != 2 or node.value[1] != VALID:
            return None
        instance = node.items()[0]
        if instance.text() in self.metadata:
            return ir.Constant(1, ir.Bits(1))
        return ir.Cast(ir.IsValid(self.header(instance)), ir.Bits(1))

    def metadata_slots(self, instance: str, node: Node) -> list[Slot]:
        return [self._metadata(instance, name, node) for name in self.metadata[instance]]

    def variable(self, name: str, type_: ir.Type) -> ir.Variable:
        """The variable of that name and type, made where there is none."""
        return self.variables.setdefault(name, ir.Variable(name, type_))

    def temporary(self, type_: ir.Type) -> ir.Variable:
        number = len(self.variables)
        while f"bmv2.tmp_{number}" in self.variables:
            number += 1
        return self.variable(f"bmv2.tmp_{number}", type_)

    def siblings(self, ref: ir.HeaderRef) -> list[ir.HeaderRef]:
        """The other members of the union that a header is in."""
        if isinstance(ref, ir.Header):
            return [s for s in self._siblings.get(ref.name, ()) if isinstance(s, ir.Header)]
        if isinstance(ref, ir.StackAt):
            others = self._siblings.get(ref.stack.name, ())
            return [ir.StackAt(s, ref.index) for s in others if isinstance(s, ir.HeaderStack)]
        return []

    def all_variables(self) -> tuple[ir.Variable, ...]:
        return (*(standard(name) for name in WIDTHS_BITS), *self.variables.values())

    def relate(self, members: Iterable[ir.Header | ir.HeaderStack]) -> None:
        group = tuple(members)
        for i, member in enumerate(group):
            self._siblings[member.name] = (*group[:i], *group[i + 1 :])
