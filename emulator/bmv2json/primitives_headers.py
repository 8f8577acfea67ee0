"""Primitives that write fields, headers, stacks and unions; the registry at the end names them."""

from __future__ import annotations

from collections.abc import Callable

from emulator.bmv2json import expressions, headers
from emulator.bmv2json import numbers as n
from emulator.bmv2json.context import Context, unwrap
from emulator.bmv2json.document import Node
from emulator.bmv2json.expressions import EXACT
from emulator.bmv2json.numbers import Number, TooWide
from emulator.bmv2json.storage import Slot, Union
from emulator.p4 import ir

# --- fields -----------------------------------------------------------------------------------------------------------


def store(cx: Context, slot: Slot, value: ir.Expr, node: Node) -> None:
    """Write a value of the slot's width, as bits or as its type."""
    assert isinstance(slot.type, ir.Bits)
    assert isinstance(slot.place.type, ir.Bits)
    value = n.cast(n.cast(value, slot.type), slot.place.type)
    cx.out.append(ir.Assign(slot.place, value, node.span()))


def assign(cx: Context, parameters: list[Node], node: Node) -> None:
    slot = headers.find_slot(cx, parameters[0])
    if isinstance(slot.type, ir.VarBits):
        return assign_variable(cx, parameters, node)
    assert isinstance(slot.type, ir.Bits)
    if slot.is_empty:
        return None
    value = expressions.low_bits(cx, parameters[1], slot.type.width_bits)
    return store(cx, slot, value, node)


def assign_variable(cx: Context, parameters: list[Node], node: Node) -> None:
    """Assignment of fields of variable width."""
    target, source = (headers.find_slot(cx, each) for each in parameters)
    if not isinstance(target.type, ir.VarBits) or source.type != target.type:
        node.fail("the fields must be of variable width, and equally long at most")
    cx.out.append(ir.Assign(target.place, source.place, node.span()))


def _put(cx: Context, target: Node, value: Number, node: Node) -> None:
    slot = expressions.fixed_slot(cx, target)
    if not slot.is_empty:
        store(cx, slot, n.low_bits(value, ir.width_of(slot.type)), node)


def combine(cx: Context, parameters: list[Node], node: Node) -> None:
    """P4_14's ``add(dest, a, b)`` and its like."""
    _combine(cx, parameters[0], parameters[1], parameters[2], node)


def combine_into(cx: Context, parameters: list[Node], node: Node) -> None:
    """``add_to_field(dest, value)``."""
    _combine(cx, parameters[0], parameters[0], parameters[1], node)


def _combine(cx: Context, target: Node, left: Node, right: Node, node: Node) -> None:
    operator = OLD_OPERATORS[node["op"].text()]
    try:
        value = EXACT[operator](expressions.exact(cx, left), expressions.exact(cx, right))
    except TooWide as error:
        node.fail(str(error))
    _put(cx, target, value, node)


# --- headers ----------------------------------------------------------------------------------------------------------


def add_header(cx: Context, parameters: list[Node], node: Node) -> None:
    header = headers.find(cx, parameters[0])
    cx.out.append(ir.SetValidity(header, True, node.span()))
    invalidate_siblings(cx, header, node)


def remove_header(cx: Context, parameters: list[Node], node: Node) -> None:
    cx.out.append(ir.SetValidity(headers.find(cx, parameters[0]), False, node.span()))


def invalidate_siblings(cx: Context, header: ir.HeaderRef, node: Node) -> None:
    for sibling in cx.storage.siblings(header):
        cx.out.append(ir.SetValidity(sibling, False, node.span()))


def assign_header(cx: Context, parameters: list[Node], node: Node) -> None:
    names = [metadata_name(cx, each) for each in parameters]
    if None not in names:
        return _assign_metadata(cx, names[0] or "", names[1] or "", parameters, node)
    target, source = (headers.find(cx, each) for each in parameters)
    return _copy_header(cx, target, source, node)


def _copy_header(cx: Context, target: ir.HeaderRef, source: ir.HeaderRef, node: Node) -> None:
    if target.type.fields != source.type.fields:
        node.fail(f"a header of type {source.type.name} cannot become one of type {target.type.name}")
    if target.type != source.type:
        return _copy_fields(cx, target, source, node)
    cx.out.append(ir.CopyHeader(target, source, node.span()))
    siblings = tuple(ir.SetValidity(s, False, node.span()) for s in cx.storage.siblings(target))
    if siblings:
        cx.out.append(ir.If(ir.IsValid(source), siblings, (), node.span()))
    return None


def _copy_fields(cx: Context, target: ir.HeaderRef, source: ir.HeaderRef, node: Node) -> None:
    """Copy between types that only differ in name."""
    span = node.span()
    copies = tuple(ir.Assign(ir.FieldRef(target, f), ir.FieldRef(source, f), span) for f in target.type.fields)
    gone = ir.SetValidity(target, False, span)
    siblings = tuple(ir.SetValidity(s, False, span) for s in cx.storage.siblings(target))
    there: ir.Block = (ir.SetValidity(target, True, span), *copies, *siblings)
    cx.out.append(ir.If(ir.IsValid(source), there, (gone,), span))


def metadata_name(cx: Context, node: Node) -> str | None:
    node = unwrap(node)
    name = node.object().get("value")
    return name if isinstance(name, str) and name in cx.storage.metadata else None


def _assign_metadata(cx: Context, target: str, source: str, parameters: list[Node], node: Node) -> None:
    targets, sources = (
        cx.storage.metadata_slots(name, each) for name, each in zip((target, source), parameters, strict=True)
    )
    if [slot.type for slot in targets] != [slot.type for slot in sources]:
        node.fail(f"{source} and {target} do not have the same fields")
    for one, other in zip(targets, sources, strict=True):
        if isinstance(one.type, ir.VarBits):
            cx.out.append(ir.Assign(one.place, other.place, node.span()))
        elif not one.is_empty:
            store(cx, one, expressions.read(other).expr, node)


def assign_union(cx: Context, parameters: list[Node], node: Node) -> None:
    target, source = (headers.find_union(cx, each) for each in parameters)
    _copy_union(cx, target, source, node)


def _copy_union(cx: Context, target: Union, source: Union, node: Node) -> None:
    if [h.type for h in target.headers] != [h.type for h in source.headers]:
        node.fail(f"unions {source.name} and {target.name} are of different types")
    for one, other in zip(target.headers, source.headers, strict=True):
        cx.out.append(ir.CopyHeader(one, other, node.span()))


def assign_stack(cx: Context, parameters: list[Node], node: Node) -> None:
    _copy_stack(cx, headers.find_stack(cx, parameters[0]), headers.find_stack(cx, parameters[1]), node)


def _copy_stack(cx: Context, target: ir.HeaderStack, source: ir.HeaderStack, node: Node) -> None:
    if (target.element, target.size) != (source.element, source.size):
        node.fail(f"stacks {source.name} and {target.name} are of different types")
    for one, other in zip(target.headers, source.headers, strict=True):
        cx.out.append(ir.CopyHeader(one, other, node.span()))
    cx.out.append(ir.CopyNext(target, source, node.span()))


def assign_union_stack(cx: Context, parameters: list[Node], node: Node) -> None:
    target, source = (headers.find_union_stack(cx, each) for each in parameters)
    if len(target.members) != len(source.members):
        node.fail(f"stacks {source.name} and {target.name} are of different types")
    for (_, one), (_, other) in zip(target.members, source.members, strict=True):
        _copy_stack(cx, one, other, node)
    cx.out.append(ir.Assign(target.next_index, source.next_index, node.span()))


def push(cx: Context, parameters: list[Node], node: Node) -> None:
    _shift(cx, parameters, node, 1)


def pop(cx: Context, parameters: list[Node], node: Node) -> None:
    _shift(cx, parameters, node, -1)


def _shift(cx: Context, parameters: list[Node], node: Node, sign: int) -> None:
    kind, span = ir.PushFront if sign > 0 else ir.PopFront, node.span()
    count = cx.constant(parameters[1], 0, (1 << 31) - 1) if len(parameters) > 1 else 1
    target = unwrap(parameters[0])
    if target["type"].text() != "header_union_stack":
        stack = headers.find_stack(cx, target)
        cx.out.append(kind(stack, min(count, stack.size), span))
        return
    unions = headers.find_union_stack(cx, target)
    count = min(count, unions.size)
    for _, members in unions.members:
        cx.out.append(kind(members, count, span))
    moved = n.add(Number(unions.next_index, 0, unions.size), n.literal(sign * count))
    low = n.choose(n.compare(ir.BinaryOp.LT, moved, n.literal(0)), n.literal(0), moved)
    high = n.choose(n.compare(ir.BinaryOp.GT, low, n.literal(unions.size)), n.literal(unions.size), low)
    cx.out.append(ir.Assign(unions.next_index, n.cast(high.expr, ir.INDEX), span))


def nothing(cx: Context, parameters: list[Node], node: Node) -> None:
    """``no_op``."""


Primitive = Callable[[Context, list[Node], Node], None]
"""Appends a primitive's statements to the context."""

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

HEADER_PRIMITIVES: dict[str, tuple[tuple[int, ...], Primitive]] = {
    "assign": ((2,), assign),
    "set": ((2,), assign),
    "modify_field": ((2,), assign),
    "assign_VL": ((2,), assign_variable),
    "assign_header": ((2,), assign_header),
    "copy_header": ((2,), assign_header),
    "assign_union": ((2,), assign_union),
    "assign_header_stack": ((2,), assign_stack),
    "assign_union_stack": ((2,), assign_union_stack),
    "add_header": ((1,), add_header),
    "add_header_fast": ((1,), add_header),
    "remove_header": ((1,), remove_header),
    "push": ((1, 2), push),
    "pop": ((1, 2), pop),
    "no_op": ((0,), nothing),
    **{name: ((2,) if name.endswith("_field") else (3,), combine_into if name.endswith("_field")
              else combine) for name in OLD_OPERATORS},
}  # fmt: skip
"""How many parameters each takes, and what makes its statements."""
