"""Expressions: a tree of ``{type, value}`` and ``{op, left, right, cond}``, evaluated on numbers without bounds.

Numbers and truth values are kept apart by bmv2; where a document puts one in the other's place it is converted, for
some compilers left the conversion out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.bmv2json import numbers as n
from emulator.bmv2json.document import Node
from emulator.bmv2json.headers import HeaderExpressions
from emulator.bmv2json.numbers import Number, TooWide
from emulator.bmv2json.storage import VALID, Slot
from emulator.p4 import ir

RING: Mapping[str, ir.BinaryOp] = {
    "+": ir.BinaryOp.ADD,
    "-": ir.BinaryOp.SUB,
    "*": ir.BinaryOp.MUL,
    "&": ir.BinaryOp.AND,
    "|": ir.BinaryOp.OR,
    "^": ir.BinaryOp.XOR,
}
"""Operators whose low bits depend on the operands' low bits only."""
COMPARISONS: Mapping[str, ir.BinaryOp] = {
    "==": ir.BinaryOp.EQ,
    "!=": ir.BinaryOp.NE,
    "<": ir.BinaryOp.LT,
    "<=": ir.BinaryOp.LE,
    ">": ir.BinaryOp.GT,
    ">=": ir.BinaryOp.GE,
}
LOGIC: Mapping[str, ir.BinaryOp] = {"and": ir.BinaryOp.LOGICAL_AND, "or": ir.BinaryOp.LOGICAL_OR}
EXACT: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": n.add,
    "-": n.subtract,
    "*": n.multiply,
    "/": n.divide,
    "%": n.modulo,
    "<<": n.shift_left,
    ">>": n.shift_right,
    "&": lambda a, b: n.bitwise(ir.BinaryOp.AND, a, b),
    "|": lambda a, b: n.bitwise(ir.BinaryOp.OR, a, b),
    "^": lambda a, b: n.bitwise(ir.BinaryOp.XOR, a, b),
}
TRUTHS = {*COMPARISONS, *LOGIC, "not", "valid", "valid_union", "d2b"}
"""Operators that give a truth value."""


class Expressions(HeaderExpressions):
    """The expressions of one action, parser state or condition."""

    parameters: Sequence[ir.Variable] = ()
    """The action's data."""
    registers: Mapping[str, ir.ExternInstance] = {}

    # --- numbers -----------------------------------------------------------------------------------------------------

    def number(self, node: Node) -> Number:
        """The value, exactly."""
        node = self.unwrap(node)
        if self._is_truth(node):
            return Number(ir.Cast(self.truth(node), ir.Bits(1)), 0, 1)
        if "op" not in node.object():
            return self._leaf(node)
        op = node["op"].text()
        try:
            return self._operation(op, node)
        except TooWide as error:
            node.fail(str(error))

    def _operation(self, op: str, node: Node) -> Number:
        if op == "?":
            left, right = self.number(node["left"]), self.number(node["right"])
            return n.choose(self.truth(node["cond"]), left, right)
        if op == "&" and (masked := self._masked(node)) is not None:
            return masked
        if op == "-" and node.get("left") is None:
            return n.subtract(n.literal(0), self.number(node["right"]))
        if op == "~":
            return n.complement(self.number(node["right"]))
        if op in EXACT:
            return EXACT[op](self.number(node["left"]), self.number(node["right"]))
        if op == "b2d":
            return Number(ir.Cast(self.truth(node["right"]), ir.Bits(1)), 0, 1)
        if op == "two_comp_mod":
            width = self._width(node["right"])
            return n.of(n.cast(self.low_bits(node["left"], width), ir.Bits(width, True)))
        if op in ("sat_cast", "usat_cast"):
            return n.clamp(self.number(node["left"]), ir.Bits(self._width(node["right"]), op == "sat_cast"))
        if op == "last_stack_index":
            return self.last_index(node["right"])
        if op == "size_stack":
            return n.literal(self.stack_size(node["right"]))
        if op == "access_field":
            return self.read(self.slot(node))
        return node["op"].fail(f"operator {op!r} is not known")

    def low_bits(self, node: Node, width: int) -> ir.Expr:
        """The value modulo ``2 ** width``, as ``Bits(width)``; widths of intermediate results stay at that."""
        node = self.unwrap(node)
        if "op" not in node.object() or self._is_truth(node):
            return n.low_bits(self.number(node), width)
        op, type_ = node["op"].text(), ir.Bits(width)
        if op in RING and node.get("left") is not None:
            if op == "&" and (masked := self._masked(node)) is not None:
                return n.low_bits(masked, width)
            left, right = self.low_bits(node["left"], width), self.low_bits(node["right"], width)
            return ir.Binary(RING[op], left, right, type_)
        if op == "~":
            return ir.Unary(ir.UnaryOp.COMPLEMENT, self.low_bits(node["right"], width), type_)
        if op == "<<":
            amount = self.number(node["right"])
            if amount.low >= 0:
                return ir.Binary(ir.BinaryOp.SHL, self.low_bits(node["left"], width), amount.expr, type_)
        if op == "?":
            condition = self.truth(node["cond"])
            return ir.Mux(condition, self.low_bits(node["left"], width), self.low_bits(node["right"], width), type_)
        if op == "two_comp_mod" and width <= self._width(node["right"]):
            return self.low_bits(node["left"], width)
        return n.low_bits(self.number(node), width)

    def _masked(self, node: Node) -> Number | None:
        """``x & constant`` needs of x no more bits than the constant has."""
        for one, other in (("right", "left"), ("left", "right")):
            mask_node = self.unwrap(node[one])
            if mask_node.object().get("type") != "hexstr":
                continue
            mask = mask_node["value"].hexadecimal()
            if mask < 0:
                continue
            if mask == 0:
                return n.literal(0)
            type_ = n.type_for(0, mask)
            value = self.low_bits(node[other], type_.width_bits)
            if isinstance(value, ir.Cast) and n.bounds(ir.Bits(ir.width_of(value.operand.type)))[1] == mask:
                return Number(value, 0, mask)
            if mask != n.bounds(type_)[1]:
                value = ir.Binary(ir.BinaryOp.AND, value, ir.Constant(mask, type_), type_)
            return Number(value, 0, mask)
        return None

    def _width(self, node: Node) -> int:
        width = self.number(node).constant
        if width is None or not 1 <= width <= n.MAX_BITS:
            node.fail(f"must be a constant width, 1 to {n.MAX_BITS}")
        return width

    def _leaf(self, node: Node) -> Number:
        kind, value = node["type"].text(), node["value"]
        if kind == "hexstr":
            number = value.hexadecimal()
            if number.bit_length() > n.MAX_BITS:
                value.fail(f"a number of more than {n.MAX_BITS} bits is not supported")
            return n.literal(number)
        if kind == "field" and self._names_validity(value):
            return Number(ir.Cast(ir.IsValid(self.storage.header(value.items()[0])), ir.Bits(1)), 0, 1)
        if kind in ("field", "stack_field", "union_stack_field"):
            return self.read(self.slot(node))
        if kind in ("runtime_data", "local"):
            return n.of(self._parameter(value))
        if kind == "lookahead":
            return n.of(self.lookahead(value))
        if kind == "register":
            return n.of(self._register(value))
        return node["type"].fail(f"{kind!r} is no number")

    def _names_validity(self, value: Node) -> bool:
        return isinstance(value.value, list) and len(value.value) == 2 and value.value[1] == VALID

    def _parameter(self, node: Node) -> ir.Variable:
        if not 0 <= node.number() < len(self.parameters):
            node.fail(f"the action has {len(self.parameters)} parameters, there is none with index {node.value}")
        return self.parameters[node.number()]

    def lookahead(self, value: Node) -> ir.Variable:
        """Bits from here on, ``[offset, bits]``; only in parsers."""
        offset_node, width_node = value.exactly(2, "offset, bits")
        offset, width = offset_node.number(0, n.MAX_BITS), width_node.number(1, n.MAX_BITS)
        if not self.in_parser:
            value.fail("lookahead stands outside a parser")
        variable = self.storage.temporary(ir.Bits(width))
        self.out.append(ir.Lookahead(((variable, offset),), offset + width, value.span()))
        return variable

    def _register(self, value: Node) -> ir.Variable:
        """A cell read in the middle of an expression (P4_14): read before the statement."""
        name_node, index_node = value.exactly(2, "register array, index")
        name = name_node.text()
        if name not in self.registers:
            name_node.fail(f"register array {name!r} is not declared")
        instance = self.registers[name]
        index = n.clamp_index(self.number(index_node))
        target = self.storage.temporary(instance.type_arguments[0])
        self.out.append(ir.CallExtern("register.read", (target, index), instance, value.span()))
        return target

    # --- fields ------------------------------------------------------------------------------------------------------

    def read(self, slot: Slot) -> Number:
        assert isinstance(slot.type, ir.Bits), "callers have refused fields of variable width"
        return n.of(n.cast(slot.place, slot.type))

    def slot(self, node: Node) -> Slot:
        """The field of fixed width that a node names, to be read or written."""
        slot = self.any_slot(node)
        if isinstance(slot.type, ir.VarBits):
            node.fail("a field of variable width cannot stand here")
        return slot

    # --- truth values ------------------------------------------------------------------------------------------------

    def truth(self, node: Node) -> ir.Expr:
        node = self.unwrap(node)
        if not self._is_truth(node):
            number = self.number(node)
            if number.expr.type == ir.Bits(1):
                return ir.Cast(number.expr, ir.BOOL)
            return n.compare(ir.BinaryOp.NE, number, n.literal(0))
        if "op" not in node.object():
            return ir.Constant(int(node["value"].flag()), ir.BOOL)
        op = node["op"].text()
        if op in LOGIC:
            return ir.Binary(LOGIC[op], self.truth(node["left"]), self.truth(node["right"]), ir.BOOL)
        if op == "not":
            return ir.Unary(ir.UnaryOp.NOT, self.truth(node["right"]), ir.BOOL)
        if op == "d2b":
            number = self.number(node["right"])
            if number.expr.type == ir.Bits(1):
                return ir.Cast(number.expr, ir.BOOL)
            return n.compare(ir.BinaryOp.NE, number, n.literal(0))
        if op == "valid":
            return ir.IsValid(self.header(node["right"]))
        if op == "valid_union":
            return self.any_valid(self.union(node["right"]))
        if op == "?":
            condition = self.truth(node["cond"])
            return ir.Mux(condition, self.truth(node["left"]), self.truth(node["right"]), ir.BOOL)
        return self._comparison(op, node)

    def _comparison(self, op: str, node: Node) -> ir.Expr:
        left, right = self.unwrap(node["left"]), self.unwrap(node["right"])
        if op in ("==", "!="):
            same: ir.Expr | None = None
            if self._is_truth(left) or self._is_truth(right):
                return ir.Binary(COMPARISONS[op], self.truth(left), self.truth(right), ir.BOOL)
            kind = self.kind_of_header(left)
            if kind == "header":
                same = self.same_headers(self.header(left), self.header(right), node)
            elif kind == "union":
                same = self.same_unions(self.union(left), self.union(right), node)
            if same is not None:
                return same if op == "==" else ir.Unary(ir.UnaryOp.NOT, same, ir.BOOL)
        return n.compare(COMPARISONS[op], self.number(left), self.number(right))

    def _is_truth(self, node: Node) -> bool:
        members = node.object()
        if "op" not in members:
            return members.get("type") == "bool"
        if members["op"] == "?":
            return self._is_truth(self.unwrap(node["left"]))
        return members["op"] in TRUTHS if isinstance(members["op"], str) else False

    # --- constants ---------------------------------------------------------------------------------------------------

    def constant(self, node: Node, low: int, high: int) -> int:
        """A number that is known now: plain, or as hexstr."""
        if not isinstance(node.value, dict):
            return node.number(low, high)
        value: Any = self.number(node).constant
        if value is None or not low <= value <= high:
            node.fail(f"must be a constant from {low} to {high}")
        return int(value)
