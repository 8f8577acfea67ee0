"""Expressions: arithmetic of unbounded numbers, cut to its width after each operation.

`number` gives a value as a number (truth values as 0 and 1), `truth` as a truth value; bmv2 keeps the two apart.
"""

from __future__ import annotations

from emulator.bmv2json.write.context import SCALARS, VARBIT_FIELD, Context, Json, hexstr, operation, parameter
from emulator.p4 import ir

_PLAIN = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}
_SATURATING = {"|+|": "+", "|-|": "-"}
_LOGIC = {"&&": "and", "||": "or"}


# --- names -------------------------------------------------------------------------------------------------------


def variable(cx: Context, v: ir.Variable) -> Json:
    if v.name in cx.parameters:
        return {"type": "local", "value": cx.parameters[v.name]}
    if isinstance(v.type, ir.VarBits):
        return {"type": "field", "value": [v.name, VARBIT_FIELD]}
    instance, _, name = v.name.rpartition(".")
    if instance in cx.standard:
        return {"type": "field", "value": [instance, name]}
    return {"type": "field", "value": [SCALARS, v.name]}


def header(cx: Context, ref: ir.HeaderRef) -> Json:
    match ref:
        case ir.Header(name):
            return {"type": "header", "value": cx.instance(name)}
        case ir.StackAt(stack, index):
            return operation("dereference_header_stack", header_stack(cx, stack), number(cx, index))
    raise cx.fail("'next' or 'last' as a header")


def header_stack(cx: Context, stack: ir.HeaderStack) -> Json:
    return {"type": "header_stack", "value": cx.instance(stack.name)}


def field(cx: Context, ref: ir.FieldRef) -> Json:
    match ref.header:
        case ir.Header(name):
            return {"type": "field", "value": [cx.instance(name), ref.field.name]}
        case ir.StackLast(stack):
            return {"type": "stack_field", "value": [cx.instance(stack.name), ref.field.name]}
        case ir.StackAt():
            return operation("access_field", header(cx, ref.header), ref.header.type.fields.index(ref.field))
    raise cx.fail("a field of 'next'")


def place(cx: Context, target: ir.Place) -> Json:
    """What a primitive writes, as its parameter."""
    if isinstance(target, ir.Variable):
        result = variable(cx, target)
        if result["type"] != "field":
            raise cx.fail("an assignment to an action's parameter")
        return result
    assert isinstance(target, ir.FieldRef)
    return parameter(field(cx, target))


def stored(cx: Context, expr: ir.Expr, *, copies: bool = False) -> Json:
    """As a field: through a temporary where it is none, or where a copy is asked for."""
    if not copies and isinstance(expr, ir.FieldRef) and isinstance(expr.header, ir.Header):
        return field(cx, expr)
    if isinstance(expr, ir.Variable) and expr.name not in cx.parameters:
        return variable(cx, expr)
    target = cx.temporary(expr.type)
    cx.add("assign", target, parameter(number(cx, expr)))
    return target


# --- values ------------------------------------------------------------------------------------------------------


def number(cx: Context, expr: ir.Expr) -> Json:
    if expr.type == ir.BOOL and not isinstance(expr, ir.Variable | ir.FieldRef):
        return operation("b2d", None, truth(cx, expr))
    match expr:
        case ir.Constant(value, type_):
            return hexstr(value, ir.width_of(type_) if value >= 0 else 0)
        case ir.Variable():
            return variable(cx, expr)
        case ir.FieldRef():
            return field(cx, expr)
        case ir.StackLastIndex(stack):
            return operation("last_stack_index", None, header_stack(cx, stack))
        case ir.Unary(op, operand, type_):
            if op is ir.UnaryOp.NEGATE:
                return _cut(operation("-", hexstr(0), number(cx, operand)), type_)
            return _cut(operation("~", None, number(cx, operand)), type_)
        case ir.Binary(op, left, right, type_):
            return _arithmetic(cx, op.value, number(cx, left), number(cx, right), type_)
        case ir.Mux(condition, then, otherwise):
            return operation("?", number(cx, then), number(cx, otherwise), truth(cx, condition))
        case ir.Cast(operand, type_):
            return _cut(number(cx, operand), type_)
        case ir.Slice(operand, high, low):
            shifted = operation(">>", number(cx, operand), hexstr(low))
            return _cut(shifted, ir.Bits(high - low + 1))
        case ir.Concat(left, right, type_):
            width = ir.width_of(right.type)
            lower = _cut(number(cx, right), ir.Bits(width))
            return _cut(operation("|", operation("<<", number(cx, left), hexstr(width)), lower), type_)
        case ir.PacketLength():
            raise cx.fail("packet_in.length()")
    raise cx.fail(f"{type(expr).__name__} as a number")


def _arithmetic(cx: Context, op: str, left: Json, right: Json, type_: ir.Type) -> Json:
    if op in _SATURATING:
        assert isinstance(type_, ir.Bits)
        cast = "sat_cast" if type_.signed else "usat_cast"
        return operation(cast, operation(_SATURATING[op], left, right), hexstr(type_.width_bits))
    if op not in _PLAIN:
        raise cx.fail(f"the operator {op}")
    return _cut(operation(op, left, right), type_)


def _cut(value: Json, type_: ir.Type) -> Json:
    if isinstance(type_, ir.Bits) and type_.signed:
        return operation("two_comp_mod", value, hexstr(type_.width_bits))
    width = ir.width_of(type_)
    return operation("&", value, hexstr((1 << width) - 1, width))


def truth(cx: Context, expr: ir.Expr) -> Json:
    match expr:
        case ir.Constant(value):
            return {"type": "bool", "value": bool(value)}
        case ir.Variable() | ir.FieldRef():
            return operation("d2b", None, number(cx, expr))
        case ir.IsValid(ir.Header(name)):
            return operation("d2b", None, {"type": "field", "value": [cx.instance(name), "$valid$"]})
        case ir.IsValid(ref):
            return operation("valid", None, header(cx, ref))
        case ir.Unary(_, operand):
            return operation("not", None, truth(cx, operand))
        case ir.Binary(op, left, right) if op.value in _LOGIC:
            return operation(_LOGIC[op.value], truth(cx, left), truth(cx, right))
        case ir.Binary(op, left, right):
            side = truth if left.type == ir.BOOL else number
            return operation(op.value, side(cx, left), side(cx, right))
        case ir.Mux(condition, then, otherwise):
            return operation("?", truth(cx, then), truth(cx, otherwise), truth(cx, condition))
        case ir.Cast(operand):
            return operation("d2b", None, number(cx, operand))
    raise cx.fail(f"{type(expr).__name__} as a truth value")


def equals(value: Json, other: int) -> Json:
    return operation("==", value, hexstr(other))
