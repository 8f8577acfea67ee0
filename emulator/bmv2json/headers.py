"""Headers, stacks and unions in expressions."""

from __future__ import annotations

from functools import reduce

from emulator.bmv2json import numbers as n
from emulator.bmv2json.document import Node
from emulator.bmv2json.numbers import Number
from emulator.bmv2json.storage import Slot, Storage, Union, UnionStack, slot_of
from emulator.p4 import ir

HEADER_OPS = {"dereference_header_stack": "header", "access_union_header": "header", "dereference_union_stack": "union"}
ONE = ir.Constant(1, ir.INDEX)


def last_of(stack: UnionStack) -> ir.Expr:
    return ir.Binary(ir.BinaryOp.SUB, stack.next_index, ONE, ir.INDEX)


class HeaderExpressions:
    def __init__(self, storage: Storage, *, in_parser: bool = False) -> None:
        self.storage = storage
        self.in_parser = in_parser
        self.out: list[ir.Statement] = []
        """What has to run before the value is there; statements are appended here, too."""

    def number(self, node: Node) -> Number:
        raise NotImplementedError

    def constant(self, node: Node, low: int, high: int) -> int:
        raise NotImplementedError

    def unwrap(self, node: Node) -> Node:
        """p4c wraps expressions in expressions."""
        while node.object().get("type") == "expression":
            node = node["value"]
        return node

    # --- which header ------------------------------------------------------------------------------------------------

    def kind_of_header(self, node: Node) -> str | None:
        """``header`` or ``union``, if it is one."""
        members = node.object()
        if "op" in members:
            return HEADER_OPS.get(members["op"]) if isinstance(members["op"], str) else None
        return {"header": "header", "header_union": "union"}.get(str(members.get("type")))

    def header(self, node: Node) -> ir.HeaderRef:
        """The header that a node names: by its name, or as the element of something."""
        node = self.unwrap(node)
        if "op" not in node.object():
            if node["type"].text() != "header":
                node["type"].fail(f"{node['type'].text()!r} is no header")
            return self.storage.header(node["value"])
        op = node["op"].text()
        if op == "dereference_header_stack":
            stack, index = self.stack(node["left"]), self.index(node["right"])
            if isinstance(index, ir.Constant) and index.value < stack.size:
                return stack.headers[index.value]
            return ir.StackAt(stack, index)
        if op == "access_union_header":
            union = self.union(node["left"])
            return union.headers[self.constant(node["right"], 0, len(union.members) - 1)]
        return node["op"].fail(f"{op!r} gives no header")

    def index(self, node: Node) -> ir.Expr:
        return n.clamp_index(self.number(node))

    def stack(self, node: Node) -> ir.HeaderStack:
        node = self.unwrap(node)
        if node["type"].text() != "header_stack":
            node["type"].fail("must be a header_stack")
        return self.stack_named(node["value"])

    def stack_named(self, node: Node) -> ir.HeaderStack:
        name = node.text()
        if name not in self.storage.stacks:
            node.fail(f"header stack {name!r} is not declared")
        return self.storage.stacks[name]

    def union(self, node: Node) -> Union:
        node = self.unwrap(node)
        if "op" in node.object():
            if node["op"].text() != "dereference_union_stack":
                node["op"].fail("gives no header union")
            return self.union_stack(node["left"]).at(self.index(node["right"]))
        if node["type"].text() != "header_union":
            node["type"].fail("must be a header_union")
        name = node["value"].text()
        if name not in self.storage.unions:
            node["value"].fail(f"header union {name!r} is not declared")
        return self.storage.unions[name]

    def union_stack(self, node: Node) -> UnionStack:
        node = self.unwrap(node)
        if node["type"].text() != "header_union_stack":
            node["type"].fail("must be a header_union_stack")
        return self.union_stack_named(node["value"])

    def union_stack_named(self, node: Node) -> UnionStack:
        name = node.text()
        if name not in self.storage.union_stacks:
            node.fail(f"stack of header unions {name!r} is not declared")
        return self.storage.union_stacks[name]

    def union_member(self, stack: UnionStack, node: Node) -> ir.HeaderStack:
        for member, members in stack.members:
            if member == node.text():
                return members
        return node.fail(f"{stack.name} has no member {node.text()!r}")

    # --- fields ------------------------------------------------------------------------------------------------------

    def any_slot(self, node: Node) -> Slot:
        """The field that a node names."""
        node = self.unwrap(node)
        if "op" in node.object():
            if node["op"].text() != "access_field":
                node["op"].fail("must name a field")
            header = self.header(node["left"])
            fields = header.type.fields
            if not fields:
                node["left"].fail("the header has no fields")
            chosen = fields[self.constant(node["right"], 0, len(fields) - 1)]
            return Slot(ir.FieldRef(header, chosen), chosen.type)
        kind, value = node["type"].text(), node["value"]
        if kind == "field":
            return self.storage.slot(value)
        if kind == "stack_field":
            stack, name = value.exactly(2, "stack, field")
            return slot_of(ir.StackLast(self.stack_named(stack)), name)
        if kind == "union_stack_field":
            unions, member, name = value.exactly(3, "stack of unions, member, field")
            stack_of = self.union_stack_named(unions)
            return slot_of(ir.StackAt(self.union_member(stack_of, member), last_of(stack_of)), name)
        return node["type"].fail(f"{kind!r} is no field")

    def last_index(self, node: Node) -> Number:
        node = self.unwrap(node)
        if node["type"].text() == "header_union_stack":
            return n.of(last_of(self.union_stack(node)))
        return n.of(ir.StackLastIndex(self.stack(node)))

    def stack_size(self, node: Node) -> int:
        node = self.unwrap(node)
        if node["type"].text() == "header_union_stack":
            return self.union_stack(node).size
        return self.stack(node).size

    # --- truth values ------------------------------------------------------------------------------------------------

    def any_valid(self, union: Union) -> ir.Expr:
        parts: list[ir.Expr] = [ir.IsValid(header) for header in union.headers]
        return reduce(lambda a, b: ir.Binary(ir.BinaryOp.LOGICAL_OR, a, b, ir.BOOL), parts)

    def same_headers(self, left: ir.HeaderRef, right: ir.HeaderRef, node: Node) -> ir.Expr:
        """Both invalid, or both valid with equal fields."""
        if left.type != right.type:
            node.fail(f"headers of types {left.type.name} and {right.type.name} cannot be compared")
        equal: ir.Expr = ir.IsValid(right)
        for field in left.type.fields:
            one = ir.Binary(ir.BinaryOp.EQ, ir.FieldRef(left, field), ir.FieldRef(right, field), ir.BOOL)
            equal = ir.Binary(ir.BinaryOp.LOGICAL_AND, equal, one, ir.BOOL)
        neither = ir.Unary(ir.UnaryOp.NOT, ir.IsValid(right), ir.BOOL)
        return ir.Mux(ir.IsValid(left), equal, neither, ir.BOOL)

    def same_unions(self, left: Union, right: Union, node: Node) -> ir.Expr:
        if len(left.members) != len(right.members):
            node.fail("unions of different types cannot be compared")
        pairs = zip(left.headers, right.headers, strict=True)
        parts = [self.same_headers(a, b, node) for a, b in pairs]
        return reduce(lambda a, b: ir.Binary(ir.BinaryOp.LOGICAL_AND, a, b, ir.BOOL), parts)
