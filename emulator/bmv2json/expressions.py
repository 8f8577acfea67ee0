"""Expressions: a tree of ``{type, value}`` and ``{op, left, right, cond}``, evaluated on numbers without bounds.

Numbers and truth values are kept apart by bmv2; where a document puts one in the other's place it is converted, for
some compilers left the conversion out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from emulator.bmv2json import headers
from emulator.bmv2json import numbers as n
from emulator.bmv2json.context import Context, unwrap
from emulator.bmv2json.document import Node
from emulator.bmv2json.numbers import Number, TooWide
from emulator.bmv2json.objects import Objects
from emulator.bmv2json.storage import Slot, Storage
from emulator.p4 import ir

RING: Mapping[str, ir.BinaryOp] = {
    "+": ir.BinaryOp.ADD,
    "-": ir.BinaryOp.SUB,
    "*": ir.BinaryOp.MUL,
    "&": ir.BinaryOp.AND,
    "|": ir.BinaryOp.OR,
    "^": ir.BinaryOp.XOR,
}
"""Operators for which the low bits of the result depend on the operands' low bits only."""
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


def new_context(
    storage: Storage, objects: Objects, parameters: Sequence[ir.Variable] = (), errors: tuple[str, ...] = ()
) -> Context:
    """Context of one action, parser state or condition; ``errors`` are a parser's."""
    return Context(storage, objects, exact, parameters, errors)


# --- numbers ----------------------------------------------------------------------------------------------------------


def exact(cx: Context, node: Node) -> Number:
    """The value, exactly."""
    node = unwrap(node)
    if _is_truth(node):
        return Number(ir.Cast(truth(cx, node), ir.Bits(1)), 0, 1)
    if "op" not in node.object():
        return _leaf(cx, node)
    op = node["op"].text()
    try:
        return _operation(cx, op, node)
    except TooWide as error:
        node.fail(str(error))


def _operation(cx: Context, op: str, node: Node) -> Number:
    if op == "?":
        left, right = exact(cx, node["left"]), exact(cx, node["right"])
        return n.choose(truth(cx, node["cond"]), left, right)
    if op == "&" and (masked := _masked(cx, node)) is not None:
        return masked
    if op == "-" and node.get("left") is None:
        return n.subtract(n.literal(0), exact(cx, node["right"]))
    if op == "~":
        return n.complement(exact(cx, node["right"]))
    if op in EXACT:
        return EXACT[op](exact(cx, node["left"]), exact(cx, node["right"]))
    if op == "b2d":
        return Number(ir.Cast(truth(cx, node["right"]), ir.Bits(1)), 0, 1)
    if op == "two_comp_mod":
        width = _width(cx, node["right"])
        return n.of(n.cast(low_bits(cx, node["left"], width), ir.Bits(width, True)))
    if op in ("sat_cast", "usat_cast"):
        return n.clamp(exact(cx, node["left"]), ir.Bits(_width(cx, node["right"]), op == "sat_cast"))
    if op == "last_stack_index":
        return headers.last_index(cx, node["right"])
    if op == "size_stack":
        return n.literal(headers.stack_size(cx, node["right"]))
    if op == "access_field":
        return read(fixed_slot(cx, node))
    return node["op"].fail(f"operator {op!r} is not known")


def low_bits(cx: Context, node: Node, width: int) -> ir.Expr:
    """The value modulo ``2 ** width``, as ``Bits(width)``; widths of intermediate results stay at that."""
    node = unwrap(node)
    if "op" not in node.object() or _is_truth(node):
        return n.low_bits(exact(cx, node), width)
    op, type_ = node["op"].text(), ir.Bits(width)
    if op in RING and node.get("left") is not None:
        if op == "&" and (masked := _masked(cx, node)) is not None:
            return n.low_bits(masked, width)
        left, right = low_bits(cx, node["left"], width), low_bits(cx, node["right"], width)
        return ir.Binary(RING[op], left, right, type_)
    if op == "~":
        return ir.Unary(ir.UnaryOp.COMPLEMENT, low_bits(cx, node["right"], width), type_)
    if op == "<<":
        amount = exact(cx, node["right"])
        if amount.low >= 0:
            return ir.Binary(ir.BinaryOp.SHL, low_bits(cx, node["left"], width), amount.expr, type_)
    if op == "?":
        condition = truth(cx, node["cond"])
        return ir.Mux(condition, low_bits(cx, node["left"], width), low_bits(cx, node["right"], width), type_)
    if op == "two_comp_mod" and width <= _width(cx, node["right"]):
        return low_bits(cx, node["left"], width)
    return n.low_bits(exact(cx, node), width)


def _masked(cx: Context, node: Node) -> Number | None:
    """``x & constant`` needs of x no more bits than the constant has."""
    for one, other in (("right", "left"), ("left", "right")):
        mask_node = unwrap(node[one])
        if mask_node.object().get("type") != "hexstr":
            continue
        mask = mask_node["value"].hexadecimal()
        if mask < 0:
            continue
        if mask == 0:
            return n.literal(0)
        type_ = n.type_for(0, mask)
        value = low_bits(cx, node[other], type_.width_bits)
        if isinstance(value, ir.Cast) and n.bounds(ir.Bits(ir.width_of(value.operand.type)))[1] == mask:
            return Number(value, 0, mask)
        if mask != n.bounds(type_)[1]:
            value = ir.Binary(ir.BinaryOp.AND, value, ir.Constant(mask, type_), type_)
        return Number(value, 0, mask)
    return None


def _width(cx: Context, node: Node) -> int:
    width = exact(cx, node).constant
    if width is None or not 1 <= width <= n.MAX_BITS:
        node.fail(f"must be a constant width, 1 to {n.MAX_BITS}")
    return width


def _leaf(cx: Context, node: Node) -> Number:
    kind, value = node["type"].text(), node["value"]
    if kind == "hexstr":
        number = value.hexadecimal()
        if number.bit_length() > n.MAX_BITS:
            value.fail(f"a number of more than {n.MAX_BITS} bits is not supported")
        return n.literal(number)
    if kind == "field" and (validity := cx.storage.validity(value)) is not None:
        return Number(validity, 0, 1)
    if kind in ("stack_field", "union_stack_field") and headers.names_validity(node):
        return Number(ir.Cast(ir.IsValid(headers.last_header(cx, node)), ir.Bits(1)), 0, 1)
    if kind in ("field", "stack_field", "union_stack_field"):
        return read(fixed_slot(cx, node))
    if kind in ("runtime_data", "local"):
        return n.of(_parameter(cx, value))
    if kind == "lookahead":
        return n.of(_lookahead(cx, value))
    if kind == "register":
        return n.of(_register(cx, value))
    return node["type"].fail(f"{kind!r} is not a number")


def _parameter(cx: Context, node: Node) -> ir.Variable:
    if not 0 <= node.number() < len(cx.parameters):
        node.fail(f"the action has {len(cx.parameters)} parameters, there is none with index {node.value}")
    return cx.parameters[node.number()]


def _lookahead(cx: Context, value: Node) -> ir.Variable:
    """Bits from here on, ``[offset, bits]``; only in parsers."""
    offset_node, width_node = value.exactly(2, "offset, bits")
    offset, width = offset_node.number(0, n.MAX_BITS), width_node.number(1, n.MAX_BITS)
    if not cx.errors:
        value.fail("lookahead is outside a parser")
    variable = cx.storage.temporary(ir.Bits(width))
    cx.out.append(ir.Lookahead(((variable, offset),), offset + width, value.span()))
    return variable


def _register(cx: Context, value: Node) -> ir.Variable:
    """A cell read in the middle of an expression (P4_14): read before the statement."""
    name_node, index_node = value.exactly(2, "register array, index")
    name = name_node.text()
    if name not in cx.objects.registers:
        name_node.fail(f"register array {name!r} is not declared")
    instance = cx.objects.registers[name]
    index = n.clamp_index(exact(cx, index_node))
    target = cx.storage.temporary(instance.type_arguments[0])
    cx.out.append(ir.CallExtern("register.read", (target, index), instance, value.span()))
    return target


# --- fields -----------------------------------------------------------------------------------------------------------


def read(slot: Slot) -> Number:
    assert isinstance(slot.type, ir.Bits), "callers have refused fields of variable width"
    if slot.is_empty:
        return n.literal(0)
    return n.of(n.cast(slot.place, slot.type))


def fixed_slot(cx: Context, node: Node) -> Slot:
    """The field of fixed width that a node names, to be read or written."""
    slot = headers.find_slot(cx, node)
    if isinstance(slot.type, ir.VarBits):
        node.fail("a field of variable width is not allowed here")
    return slot


# --- truth values -----------------------------------------------------------------------------------------------------


def truth(cx: Context, node: Node) -> ir.Expr:
    node = unwrap(node)
    if not _is_truth(node):
        number = exact(cx, node)
        if number.expr.type == ir.Bits(1):
            return ir.Cast(number.expr, ir.BOOL)
        return n.compare(ir.BinaryOp.NE, number, n.literal(0))
    if "op" not in node.object():
        return ir.Constant(int(node["value"].flag()), ir.BOOL)
    op = node["op"].text()
    if op in LOGIC:
        return ir.Binary(LOGIC[op], truth(cx, node["left"]), truth(cx, node["right"]), ir.BOOL)
    if op == "not":
        return ir.Unary(ir.UnaryOp.NOT, truth(cx, node["right"]), ir.BOOL)
    if op == "d2b":
        number = exact(cx, node["right"])
        if number.expr.type == ir.Bits(1):
            return ir.Cast(number.expr, ir.BOOL)
        return n.compare(ir.BinaryOp.NE, number, n.literal(0))
    if op == "valid":
        return ir.IsValid(headers.find(cx, node["right"]))
    if op == "valid_union":
        return headers.any_valid(headers.find_union(cx, node["right"]))
    if op == "?":
        condition = truth(cx, node["cond"])
        return ir.Mux(condition, truth(cx, node["left"]), truth(cx, node["right"]), ir.BOOL)
    return _comparison(cx, op, node)


def _comparison(cx: Context, op: str, node: Node) -> ir.Expr:
    left, right = unwrap(node["left"]), unwrap(node["right"])
    if op in ("==", "!="):
        same: ir.Expr | None = None
        if _is_truth(left) or _is_truth(right):
            return ir.Binary(COMPARISONS[op], truth(cx, left), truth(cx, right), ir.BOOL)
        kind = headers.kind_of(left)
        slots = [headers.find_slot(cx, each) for each in (left, right) if headers.names_field(each)]
        if any(isinstance(slot.type, ir.VarBits) for slot in slots):
            if len(slots) != 2 or slots[0].type != slots[1].type:
                node.fail("fields of variable width can be compared only with those of the same greatest width")
            return ir.Binary(COMPARISONS[op], slots[0].place, slots[1].place, ir.BOOL)
        if kind == "header":
            same = headers.same_headers(headers.find(cx, left), headers.find(cx, right), node)
        elif kind == "union":
            same = headers.same_unions(headers.find_union(cx, left), headers.find_union(cx, right), node)
        if same is not None:
            return same if op == "==" else ir.Unary(ir.UnaryOp.NOT, same, ir.BOOL)
    return n.compare(COMPARISONS[op], exact(cx, left), exact(cx, right))


def _is_truth(node: Node) -> bool:
    members = node.object()
    if "op" not in members:
        return members.get("type") == "bool"
    if members["op"] == "?":
        return _is_truth(unwrap(node["left"]))
    return members["op"] in TRUTHS if isinstance(members["op"], str) else False
