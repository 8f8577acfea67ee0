"""Primitives of actions: one small method each; the registry at the end names them.

Jumps are not here but in ``actions``: they say what follows, not what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.bmv2json import numbers as n
from emulator.bmv2json.document import Node
from emulator.bmv2json.expressions import EXACT, Expressions
from emulator.bmv2json.numbers import Number, TooWide
from emulator.bmv2json.storage import Slot, Union
from emulator.p4 import ir


class Primitives(Expressions):
    """Appends the statements of primitives to ``out``."""

    def run(self, node: Node) -> None:
        """One primitive: ``{op, parameters}``."""
        op = node["op"].text()
        found = self.registry().get(op)
        if found is None:
            node["op"].fail(f"primitive {op!r} is not known")
        counts, method = found
        parameters = node.list("parameters")
        if len(parameters) not in counts:
            wanted = " or ".join(map(str, counts))
            node.fail(f"{op} takes {wanted} parameters, not {len(parameters)}")
        method(self, parameters, node)

    def registry(self) -> Mapping[str, tuple[tuple[int, ...], Primitive]]:
        return PRIMITIVES

    # --- fields ------------------------------------------------------------------------------------------------------

    def store(self, slot: Slot, value: ir.Expr, node: Node) -> None:
        """Write a value of the slot's width, as bits or as its type."""
        assert isinstance(slot.type, ir.Bits)
        assert isinstance(slot.place.type, ir.Bits)
        value = n.cast(n.cast(value, slot.type), slot.place.type)
        self.out.append(ir.Assign(slot.place, value, node.span()))

    def assign(self, parameters: list[Node], node: Node) -> None:
        slot = self.any_slot(parameters[0])
        if isinstance(slot.type, ir.VarBits):
            return self.assign_variable(parameters, node)
        assert isinstance(slot.type, ir.Bits)
        value = self.low_bits(parameters[1], slot.type.width_bits)
        return self.store(slot, value, node)

    def assign_variable(self, parameters: list[Node], node: Node) -> None:
        """Of fields of variable width."""
        target, source = (self.any_slot(each) for each in parameters)
        if not isinstance(target.type, ir.VarBits) or source.type != target.type:
            node.fail("the fields must be of variable width, and equally long at most")
        self.out.append(ir.Assign(target.place, source.place, node.span()))

    def _put(self, target: Node, value: Number, node: Node) -> None:
        slot = self.slot(target)
        self.store(slot, n.low_bits(value, ir.width_of(slot.type)), node)

    def combine(self, parameters: list[Node], node: Node) -> None:
        """P4_14's ``add(dest, a, b)`` and its like."""
        self._combine(parameters[0], parameters[1], parameters[2], node)

    def combine_into(self, parameters: list[Node], node: Node) -> None:
        """``add_to_field(dest, value)``."""
        self._combine(parameters[0], parameters[0], parameters[1], node)

    def _combine(self, target: Node, left: Node, right: Node, node: Node) -> None:
        operator = OLD_OPERATORS[node["op"].text()]
        try:
            value = EXACT[operator](self.number(left), self.number(right))
        except TooWide as error:
            node.fail(str(error))
        self._put(target, value, node)

    # --- headers -----------------------------------------------------------------------------------------------------

    def add_header(self, parameters: list[Node], node: Node) -> None:
        header = self.header(parameters[0])
        self.out.append(ir.SetValidity(header, True, node.span()))
        self.invalidate_siblings(header, node)

    def remove_header(self, parameters: list[Node], node: Node) -> None:
        self.out.append(ir.SetValidity(self.header(parameters[0]), False, node.span()))

    def invalidate_siblings(self, header: ir.HeaderRef, node: Node) -> None:
        for sibling in self.storage.siblings(header):
            self.out.append(ir.SetValidity(sibling, False, node.span()))

    def assign_header(self, parameters: list[Node], node: Node) -> None:
        names = [self.metadata_name(each) for each in parameters]
        if None not in names:
            return self._assign_metadata(names[0] or "", names[1] or "", parameters, node)
        target, source = (self.header(each) for each in parameters)
        return self.copy_header(target, source, node)

    def copy_header(self, target: ir.HeaderRef, source: ir.HeaderRef, node: Node) -> None:
        if target.type.fields != source.type.fields:
            node.fail(f"a header of type {source.type.name} cannot become one of type {target.type.name}")
        if target.type != source.type:
            return self._copy_fields(target, source, node)
        self.out.append(ir.CopyHeader(target, source, node.span()))
        siblings = tuple(ir.SetValidity(s, False, node.span()) for s in self.storage.siblings(target))
        if siblings:
            self.out.append(ir.If(ir.IsValid(source), siblings, (), node.span()))
        return None

    def _copy_fields(self, target: ir.HeaderRef, source: ir.HeaderRef, node: Node) -> None:
        """Between types that only differ in name."""
        span = node.span()
        copies = tuple(ir.Assign(ir.FieldRef(target, f), ir.FieldRef(source, f), span) for f in target.type.fields)
        gone = ir.SetValidity(target, False, span)
        siblings = tuple(ir.SetValidity(s, False, span) for s in self.storage.siblings(target))
        there: ir.Block = (ir.SetValidity(target, True, span), *copies, *siblings)
        self.out.append(ir.If(ir.IsValid(source), there, (gone,), span))

    def metadata_name(self, node: Node) -> str | None:
        node = self.unwrap(node)
        name = node.object().get("value")
        return name if isinstance(name, str) and name in self.storage.metadata else None

    def _assign_metadata(self, target: str, source: str, parameters: list[Node], node: Node) -> None:
        targets, sources = (
            self.storage.metadata_slots(name, each) for name, each in zip((target, source), parameters, strict=True)
        )
        if [slot.type for slot in targets] != [slot.type for slot in sources]:
            node.fail(f"{source} and {target} do not have the same fields")
        for one, other in zip(targets, sources, strict=True):
            self.store(one, self.read(other).expr, node)

    def assign_union(self, parameters: list[Node], node: Node) -> None:
        target, source = (self.union(each) for each in parameters)
        self._copy_union(target, source, node)

    def _copy_union(self, target: Union, source: Union, node: Node) -> None:
        if [h.type for h in target.headers] != [h.type for h in source.headers]:
            node.fail(f"unions {source.name} and {target.name} are of different types")
        for one, other in zip(target.headers, source.headers, strict=True):
            self.out.append(ir.CopyHeader(one, other, node.span()))

    def assign_stack(self, parameters: list[Node], node: Node) -> None:
        self._copy_stack(self.stack(parameters[0]), self.stack(parameters[1]), node)

    def _copy_stack(self, target: ir.HeaderStack, source: ir.HeaderStack, node: Node) -> None:
        if (target.element, target.size) != (source.element, source.size):
            node.fail(f"stacks {source.name} and {target.name} are of different types")
        for one, other in zip(target.headers, source.headers, strict=True):
            self.out.append(ir.CopyHeader(one, other, node.span()))

    def assign_union_stack(self, parameters: list[Node], node: Node) -> None:
        target, source = (self.union_stack(each) for each in parameters)
        if len(target.members) != len(source.members):
            node.fail(f"stacks {source.name} and {target.name} are of different types")
        for (_, one), (_, other) in zip(target.members, source.members, strict=True):
            self._copy_stack(one, other, node)

    def push(self, parameters: list[Node], node: Node) -> None:
        self._shift(parameters, node, 1)

    def pop(self, parameters: list[Node], node: Node) -> None:
        self._shift(parameters, node, -1)

    def _shift(self, parameters: list[Node], node: Node, sign: int) -> None:
        kind, span = ir.PushFront if sign > 0 else ir.PopFront, node.span()
        count = self.constant(parameters[1], 0, (1 << 31) - 1) if len(parameters) > 1 else 1
        target = self.unwrap(parameters[0])
        if target["type"].text() != "header_union_stack":
            stack = self.stack(target)
            self.out.append(kind(stack, min(count, stack.size), span))
            return
        unions = self.union_stack(target)
        count = min(count, unions.size)
        for _, members in unions.members:
            self.out.append(kind(members, count, span))
        moved = n.add(Number(unions.next_index, 0, unions.size), n.literal(sign * count))
        low = n.choose(n.compare(ir.BinaryOp.LT, moved, n.literal(0)), n.literal(0), moved)
        high = n.choose(n.compare(ir.BinaryOp.GT, low, n.literal(unions.size)), n.literal(unions.size), low)
        self.out.append(ir.Assign(unions.next_index, n.cast(high.expr, ir.INDEX), span))

    def nothing(self, parameters: list[Node], node: Node) -> None:
        """``no_op``."""


Primitive = Callable[[Any, list[Node], Node], None]
"""A method of `Primitives` or of a class made from it."""

OLD_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "bit_xor": "^",
    "bit_or": "|",
    "bit_and": "&",
    "shift_left": "<<",
    "shift_right": ">>",
    "add_to_field": "+",
    "subtract_from_field": "-",
}

PRIMITIVES: dict[str, tuple[tuple[int, ...], Primitive]] = {
    "assign": ((2,), Primitives.assign),
    "set": ((2,), Primitives.assign),
    "modify_field": ((2,), Primitives.assign),
    "assign_VL": ((2,), Primitives.assign_variable),
    "assign_header": ((2,), Primitives.assign_header),
    "copy_header": ((2,), Primitives.assign_header),
    "assign_union": ((2,), Primitives.assign_union),
    "assign_header_stack": ((2,), Primitives.assign_stack),
    "assign_union_stack": ((2,), Primitives.assign_union_stack),
    "add_header": ((1,), Primitives.add_header),
    "add_header_fast": ((1,), Primitives.add_header),
    "remove_header": ((1,), Primitives.remove_header),
    "push": ((1, 2), Primitives.push),
    "pop": ((1, 2), Primitives.pop),
    "no_op": ((0,), Primitives.nothing),
    **{name: ((2,) if name.endswith("_field") else (3,), Primitives.combine_into if name.endswith("_field")
              else Primitives.combine) for name in OLD_OPERATORS},
}  # fmt: skip
"""How many parameters each takes, and what makes its statements."""
