"""Headers, stacks and unions in expressions."""

from __future__ import annotations

from functools import reduce

from emulator.bmv2json import numbers as n
from emulator.bmv2json.context import Context, unwrap
from emulator.bmv2json.document import Node
from emulator.bmv2json.numbers import Number
from emulator.bmv2json.storage import NOWHERE, VALID, Slot, Union, UnionStack
from emulator.p4 import ir

HEADER_OPS = {"dereference_header_stack": "header", "access_union_header": "header", "dereference_union_stack": "union"}
ONE = ir.Constant(1, ir.INDEX)


def last_of(stack: UnionStack) -> ir.Expr:
    return ir.Binary(ir.BinaryOp.SUB, stack.next_index, ONE, ir.INDEX)


# --- which header -----------------------------------------------------------------------------------------------------


def kind_of(node: Node) -> str | None:
    """``header`` or ``union``, if it is one."""
    members = node.object()
    if "op" in members:
        return HEADER_OPS.get(members["op"]) if isinstance(members["op"], str) else None
    return {"header": "header", "header_union": "union"}.get(str(members.get("type")))


def find(cx: Context, node: Node) -> ir.HeaderRef:
    """The header that a node names: by its name, or as the element of something."""
    node = unwrap(node)
    if "op" not in node.object():
        if node["type"].text() != "header":
            node["type"].fail(f"{node['type'].text()!r} is not a header")
        return cx.storage.header(node["value"])
    op = node["op"].text()
    if op == "dereference_header_stack":
        stack, index = find_stack(cx, node["left"]), cx.index(node["right"])
        if isinstance(index, ir.Constant) and index.value < stack.size:
            return stack.headers[index.value]
        return ir.StackAt(stack, index)
    if op == "access_union_header":
        union = find_union(cx, node["left"])
        return union.headers[cx.constant(node["right"], 0, len(union.members) - 1)]
    return node["op"].fail(f"{op!r} gives no header")


def find_stack(cx: Context, node: Node) -> ir.HeaderStack:
    node = unwrap(node)
    if node["type"].text() != "header_stack":
        node["type"].fail("must be a header_stack")
    return stack_by_name(cx, node["value"])


def stack_by_name(cx: Context, node: Node) -> ir.HeaderStack:
    name = node.text()
    if name not in cx.storage.stacks:
        node.fail(f"header stack {name!r} is not declared")
    return cx.storage.stacks[name]


def find_union(cx: Context, node: Node) -> Union:
    node = unwrap(node)
    if "op" in node.object():
        if node["op"].text() != "dereference_union_stack":
            node["op"].fail("gives no header union")
        return find_union_stack(cx, node["left"]).at(cx.index(node["right"]))
    if node["type"].text() != "header_union":
        node["type"].fail("must be a header_union")
    name = node["value"].text()
    if name not in cx.storage.unions:
        node["value"].fail(f"header union {name!r} is not declared")
    return cx.storage.unions[name]


def find_union_stack(cx: Context, node: Node) -> UnionStack:
    node = unwrap(node)
    if node["type"].text() != "header_union_stack":
        node["type"].fail("must be a header_union_stack")
    return union_stack_by_name(cx, node["value"])


def union_stack_by_name(cx: Context, node: Node) -> UnionStack:
    name = node.text()
    if name not in cx.storage.union_stacks:
        node.fail(f"stack of header unions {name!r} is not declared")
    return cx.storage.union_stacks[name]


def member_stack(stack: UnionStack, node: Node) -> ir.HeaderStack:
    for member, members in stack.members:
        if member == node.text():
            return members
    return node.fail(f"{stack.name} has no member {node.text()!r}")


# --- fields -----------------------------------------------------------------------------------------------------------


def find_slot(cx: Context, node: Node) -> Slot:
    """The field that a node names."""
    node = unwrap(node)
    if "op" in node.object():
        if node["op"].text() != "access_field":
            node["op"].fail("must name a field")
        header = find(cx, node["left"])
        names = cx.storage.field_order.get(header.type.name, [])
        if not names:
            node["left"].fail("the header has no fields")
        name = names[cx.constant(node["right"], 0, len(names) - 1)]
        chosen = next((field for field in header.type.fields if field.name == name), None)
        return NOWHERE if chosen is None else Slot(ir.FieldRef(header, chosen), chosen.type)
    kind, value = node["type"].text(), node["value"]
    if kind == "field":
        return cx.storage.slot(value)
    if kind in ("stack_field", "union_stack_field"):
        return cx.storage.field(last_header(cx, node), value.items()[-1])
    return node["type"].fail(f"{kind!r} is not a field")


def names_field(node: Node) -> bool:
    members = node.object()
    if "op" in members:
        return bool(members["op"] == "access_field")
    is_field = members.get("type") in ("field", "stack_field", "union_stack_field")
    return is_field and not names_validity(node)


def names_validity(node: Node) -> bool:
    """The hidden field ``$valid$``, as the last part of a field's name."""
    parts = node["value"].value
    return isinstance(parts, list) and parts[-1:] == [VALID]


def last_header(cx: Context, node: Node) -> ir.HeaderRef:
    """The header of which a ``stack_field`` or ``union_stack_field`` is a field."""
    if node["type"].text() == "stack_field":
        stack, _ = node["value"].exactly(2, "stack, field")
        return ir.StackLast(stack_by_name(cx, stack))
    unions, member, _ = node["value"].exactly(3, "stack of unions, member, field")
    stack_of = union_stack_by_name(cx, unions)
    return ir.StackAt(member_stack(stack_of, member), last_of(stack_of))


def last_index(cx: Context, node: Node) -> Number:
    node = unwrap(node)
    if node["type"].text() == "header_union_stack":
        return n.of(last_of(find_union_stack(cx, node)))
    return n.of(ir.StackLastIndex(find_stack(cx, node)))


def stack_size(cx: Context, node: Node) -> int:
    node = unwrap(node)
    if node["type"].text() == "header_union_stack":
        return find_union_stack(cx, node).size
    return find_stack(cx, node).size


# --- truth values -----------------------------------------------------------------------------------------------------


def any_valid(union: Union) -> ir.Expr:
    parts: list[ir.Expr] = [ir.IsValid(header) for header in union.headers]
    return reduce(lambda a, b: ir.Binary(ir.BinaryOp.LOGICAL_OR, a, b, ir.BOOL), parts)


def same_headers(left: ir.HeaderRef, right: ir.HeaderRef, node: Node) -> ir.Expr:
    """Both invalid, or both valid with equal fields."""
    if left.type != right.type:
        node.fail(f"headers of types {left.type.name} and {right.type.name} cannot be compared")
    equal: ir.Expr = ir.IsValid(right)
    for field in left.type.fields:
        one = ir.Binary(ir.BinaryOp.EQ, ir.FieldRef(left, field), ir.FieldRef(right, field), ir.BOOL)
        equal = ir.Binary(ir.BinaryOp.LOGICAL_AND, equal, one, ir.BOOL)
    neither = ir.Unary(ir.UnaryOp.NOT, ir.IsValid(right), ir.BOOL)
    return ir.Mux(ir.IsValid(left), equal, neither, ir.BOOL)


def same_unions(left: Union, right: Union, node: Node) -> ir.Expr:
    if len(left.members) != len(right.members):
        node.fail("unions of different types cannot be compared")
    pairs = zip(left.headers, right.headers, strict=True)
    parts = [same_headers(a, b, node) for a, b in pairs]
    return reduce(lambda a, b: ir.Binary(ir.BinaryOp.LOGICAL_AND, a, b, ir.BOOL), parts)
