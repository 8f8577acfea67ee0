"""Expressions of the IR as bmv2's JSON says them: unbounded arithmetic, cut to its width after each operation."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir

Json = dict[str, Any]

PLAIN = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}
SATURATING = {"|+|": "+", "|-|": "-"}
LOGIC = {"&&": "and", "||": "or"}
STANDARD = "standard_metadata"


class Unwritable(Exception):
    """The IR says something for which this writer, or the format, has no words."""


def hexstr(value: int) -> Json:
    return {"type": "hexstr", "value": f"-0x{-value:x}" if value < 0 else f"0x{value:x}"}


def node(op: str, left: Json | None, right: Json | None, cond: Json | None = None) -> Json:
    """Wrapped twice, as p4c does."""
    value: Json = {"op": op, "left": left, "right": right}
    if cond is not None:
        value["cond"] = cond
    return {"type": "expression", "value": {"type": "expression", "value": value}}


class ExpressionWriter:
    parameters: dict[str, int]

    def __init__(self) -> None:
        self.parameters = {}
        self.types: dict[str, ir.HeaderType] = {}
        self.standard = {STANDARD}
        """Metadata instances of the standard metadata's type: itself, and the program's copies of it."""

    # --- names -------------------------------------------------------------------------------------------------------

    def variable(self, variable: ir.Variable) -> Json:
        if variable.name in self.parameters:
            return {"type": "local", "value": self.parameters[variable.name]}
        if isinstance(variable.type, ir.VarBits):
            raise Unwritable("a local of variable width")
        instance, _, name = variable.name.rpartition(".")
        if instance in self.standard:
            return {"type": "field", "value": [instance, name]}
        return {"type": "field", "value": ["scalars", variable.name]}

    def header(self, ref: ir.HeaderRef) -> Json:
        match ref:
            case ir.Header(name):
                return {"type": "header", "value": name}
            case ir.StackAt(stack, index):
                array = {"type": "header_stack", "value": stack.name}
                return node("dereference_header_stack", array, self.number(index))
        raise Unwritable(f"{ref} as a header")

    def field(self, ref: ir.FieldRef) -> Json:
        match ref.header:
            case ir.Header(name):
                return {"type": "field", "value": [name, ref.field.name]}
            case ir.StackLast(stack):
                return {"type": "stack_field", "value": [stack.name, ref.field.name]}
            case ir.StackAt():
                index = ref.header.type.fields.index(ref.field)
                return node("access_field", self.header(ref.header), index)  # type: ignore[arg-type]
        raise Unwritable(f"{ref} as a field")

    # --- values ------------------------------------------------------------------------------------------------------

    def number(self, expr: ir.Expr) -> Json:
        """As a number, exactly; truth values as 0 and 1."""
        if expr.type == ir.BOOL and not isinstance(expr, ir.Variable | ir.FieldRef):
            return node("b2d", None, self.truth(expr))
        match expr:
            case ir.Constant(value):
                return hexstr(value)
            case ir.Variable():
                return self.variable(expr)
            case ir.FieldRef():
                return self.field(expr)
            case ir.StackLastIndex(stack):
                return node("last_stack_index", None, {"type": "header_stack", "value": stack.name})
            case ir.Unary(op, operand, kind):
                if op is ir.UnaryOp.NEGATE:
                    return self.cut(node("-", hexstr(0), self.number(operand)), kind)
                return self.cut(node("~", None, self.number(operand)), kind)
            case ir.Binary(op, left, right, kind):
                return self.binary(op.value, self.number(left), self.number(right), kind)
            case ir.Mux(condition, then, otherwise):
                return node("?", self.number(then), self.number(otherwise), self.truth(condition))
            case ir.Cast(operand, kind):
                return self.cut(self.number(operand), kind)
            case ir.Slice(operand, high, low):
                shifted = node(">>", self.number(operand), hexstr(low))
                return self.cut(shifted, ir.Bits(high - low + 1))
            case ir.Concat(left, right, kind):
                width = ir.width_of(right.type)
                lower = self.cut(self.number(right), ir.Bits(width))
                return self.cut(node("|", node("<<", self.number(left), hexstr(width)), lower), kind)
        raise Unwritable(f"{type(expr).__name__} as a number")

    def binary(self, op: str, left: Json, right: Json, kind: ir.Type) -> Json:
        if op in SATURATING:
            assert isinstance(kind, ir.Bits)
            cast = "sat_cast" if kind.signed else "usat_cast"
            return node(cast, node(SATURATING[op], left, right), hexstr(kind.width_bits))
        if op not in PLAIN:
            raise Unwritable(op)
        return self.cut(node(op, left, right), kind)

    def cut(self, value: Json, kind: ir.Type) -> Json:
        if isinstance(kind, ir.Bits) and kind.signed:
            return node("two_comp_mod", value, hexstr(kind.width_bits))
        return node("&", value, hexstr((1 << ir.width_of(kind)) - 1))

    def truth(self, expr: ir.Expr) -> Json:
        match expr:
            case ir.Constant(value):
                return {"type": "bool", "value": bool(value)}
            case ir.Variable() | ir.FieldRef():
                return node("d2b", None, self.number(expr))
            case ir.IsValid(ir.Header(name)):
                return node("d2b", None, {"type": "field", "value": [name, "$valid$"]})
            case ir.IsValid(ref):
                return node("valid", None, self.header(ref))
            case ir.Unary(_, operand):
                return node("not", None, self.truth(operand))
            case ir.Binary(op, left, right) if op.value in LOGIC:
                return node(LOGIC[op.value], self.truth(left), self.truth(right))
            case ir.Binary(op, left, right):
                if isinstance(left.type, ir.VarBits):
                    raise Unwritable("fields of variable width compared")
                if left.type == ir.BOOL:
                    return node(op.value, self.truth(left), self.truth(right))
                return node(op.value, self.number(left), self.number(right))
            case ir.Mux(condition, then, otherwise):
                return node("?", self.truth(then), self.truth(otherwise), self.truth(condition))
            case ir.Cast(operand):
                return node("d2b", None, self.number(operand))
        raise Unwritable(f"{type(expr).__name__} as a truth value")
