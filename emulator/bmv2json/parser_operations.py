"""What parser states do; primitives of actions come wrapped in ``primitive``."""

from __future__ import annotations

from emulator.bmv2json import expressions, headers, primitives, primitives_headers
from emulator.bmv2json.context import Context
from emulator.bmv2json.document import Node
from emulator.bmv2json.primitives_headers import Primitive
from emulator.bmv2json.storage import UnionStack
from emulator.p4 import ir


def run(cx: Context, node: Node) -> None:
    op = node["op"].text()
    if op not in OPERATIONS:
        node["op"].fail(f"parser operation {op!r} is not known")
    count, append = OPERATIONS[op]
    append(cx, node["parameters"].exactly(count, f"parameters of {op}"), node)


def extract(cx: Context, parameters: list[Node], node: Node) -> None:
    _extract_header(cx, parameters[0], None, node)


def extract_variable(cx: Context, parameters: list[Node], node: Node) -> None:
    _extract_header(cx, parameters[0], expressions.low_bits(cx, parameters[1], 32), node)


def _extract_header(cx: Context, what: Node, bits: ir.Expr | None, node: Node) -> None:
    kind, value, span = what["type"].text(), what["value"], node.span()
    unions: UnionStack | None = None
    header: ir.HeaderRef
    if kind == "regular":
        header = cx.storage.header(value)
    elif kind == "stack":
        header = ir.StackNext(headers.stack_by_name(cx, value))
    elif kind == "union_stack":
        stack, member = value.exactly(2, "stack of unions, member")
        unions = headers.union_stack_by_name(cx, stack)
        header = ir.StackAt(headers.member_stack(unions, member), unions.next_index)
        _check_room(cx, unions, node)
    else:
        what["type"].fail("must be regular, stack or union_stack")
    if (header.type.varbit is None) != (bits is None):
        what.fail("a header with a field of variable width is extracted by extract_VL, and no other")
    cx.out.append(ir.Extract(header, bits, span))
    primitives_headers.invalidate_siblings(cx, header, node)
    if unions is not None:
        following = ir.Binary(ir.BinaryOp.ADD, unions.next_index, ir.Constant(1, ir.INDEX), ir.INDEX)
        cx.out.append(ir.Assign(unions.next_index, following, span))


def _check_room(cx: Context, stack: UnionStack, node: Node) -> None:
    room = ir.Binary(ir.BinaryOp.LT, stack.next_index, ir.Constant(stack.size, ir.INDEX), ir.BOOL)
    error = ir.Constant(cx.errors.index("StackOutOfBounds"), ir.INDEX)
    cx.out.append(ir.Verify(room, error, node.span()))


def verify(cx: Context, parameters: list[Node], node: Node) -> None:
    condition, error = expressions.truth(cx, parameters[0]), expressions.low_bits(cx, parameters[1], 32)
    cx.out.append(ir.Verify(condition, error, node.span()))


def advance(cx: Context, parameters: list[Node], node: Node) -> None:
    cx.out.append(ir.Advance(expressions.low_bits(cx, parameters[0], 32), node.span()))


def shift(cx: Context, parameters: list[Node], node: Node) -> None:
    amount = 8 * cx.constant(parameters[0], 0, 1 << 16)
    cx.out.append(ir.Advance(ir.Constant(amount, ir.INDEX), node.span()))


def action_primitive(cx: Context, parameters: list[Node], node: Node) -> None:
    primitives.run(cx, parameters[0])


OPERATIONS: dict[str, tuple[int, Primitive]] = {
    "extract": (1, extract),
    "extract_VL": (2, extract_variable),
    "set": (2, primitives_headers.assign),
    "verify": (2, verify),
    "advance": (1, advance),
    "shift": (1, shift),
    "primitive": (1, action_primitive),
}
