"""A packet's state in the interpreter, and the values of expressions."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.arithmetic import binary, cast, unary, unsigned, wrap
from emulator.p4.interpreter.header_state import HeaderState


class ParserEnd(Exception):
    """The parser stops with this error number."""

    def __init__(self, number: int) -> None:
        self.number = number


class Values:
    """One packet's state, and what expressions read of it; `Machine` holds the fields."""

    program: ir.Program
    frame: bytes
    variables: dict[str, int]
    """Values by name; the current width of a varbit variable under `width_name` of it."""
    headers: dict[str, HeaderState]
    next_index: dict[str, int]
    """Next element of stacks in parsers, by name."""
    turn: int
    """Inside a Repeat."""

    # --- State --------------------------------------------------------------------------------------------------

    def header(self, header: ir.Header) -> HeaderState:
        if header.name not in self.headers:
            self.headers[header.name] = HeaderState(header.type)
        return self.headers[header.name]

    def resolve(self, ref: ir.HeaderRef) -> HeaderState | None:
        """The header meant; None for an index out of range."""
        match ref:
            case ir.Header():
                return self.header(ref)
            case ir.StackAt(stack, index):
                return self._element(stack, self.value(index))
            case ir.StackNext(stack):
                return self._parser_element(stack, self.next_index.get(stack.name, 0))
            case ir.StackLast(stack):
                return self._parser_element(stack, self.next_index.get(stack.name, 0) - 1)
        raise TypeError(ref)

    def _element(self, stack: ir.HeaderStack, index: int) -> HeaderState | None:
        return self.header(stack.headers[index]) if 0 <= index < stack.size else None

    def _parser_element(self, stack: ir.HeaderStack, index: int) -> HeaderState:
        element = self._element(stack, index)
        if element is None:
            raise ParserEnd(self.error("StackOutOfBounds"))
        return element

    def error(self, name: str) -> int:
        return self.program.errors.index(name) if name in self.program.errors else 0

    # --- Expressions --------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> int:
        match expr:
            case ir.Constant(number, kind):
                return wrap(number, kind)
            case ir.Variable(name, _):
                return self.variables.get(name, 0)
            case ir.FieldRef(ref, f):
                header = self.resolve(ref)
                return header.fields.get(f.name, 0) if header else 0
            case ir.LaneField(header, first, stride):
                state = self.header(header)
                return state.fields.get(_lane(header.type, first.offset_bits + self.turn * stride).name, 0)
            case ir.FieldRun(header, offset, width):
                bits = self.header(header).bits() >> (header.type.length_bits - offset - width)
                return bits & ((1 << width) - 1)
            case ir.IsValid(ref):
                header_state = self.resolve(ref)
                return int(header_state is not None and header_state.valid)
            case ir.StackLastIndex(stack):
                return (self.next_index.get(stack.name, 0) - 1) & 0xFFFF_FFFF
            case ir.Unary(op, operand, kind):
                return unary(op, self.value(operand), kind)
            case ir.Binary(ir.BinaryOp.EQ | ir.BinaryOp.NE as op, left, right) if isinstance(left.type, ir.VarBits):
                return int((self.varbits(left) == self.varbits(right)) == (op is ir.BinaryOp.EQ))
            case ir.Binary(op, left, right, kind):
                return binary(op, self.value(left), self.value(right), left.type, kind)
            case ir.Mux(condition, then, otherwise, _):
                arms = self.value(otherwise), self.value(then)
                return arms[self.value(condition)]
            case ir.Cast(operand, kind):
                return cast(self.value(operand), kind)
            case ir.Slice(operand, high, low):
                return (self.value(operand) >> low) & ((1 << (high - low + 1)) - 1)
            case ir.Concat(left, right, kind):
                low = unsigned(self.value(right), right.type)
                return wrap(self.value(left) << ir.width_of(right.type) | low, kind)
            case ir.PacketLength():
                return len(self.frame)
        raise TypeError(expr)

    def varbits(self, expr: ir.Expr) -> tuple[int, int]:
        """(bits as a number, how many) of a field or variable of variable width; else the value as it is stored."""
        value = self.value(expr)
        if not isinstance(expr.type, ir.VarBits):
            return unsigned(value, expr.type), ir.width_of(expr.type)
        if isinstance(expr, ir.FieldRef):
            header = self.resolve(expr.header)
            return value, header.varbit_width if header is not None else 0
        assert isinstance(expr, ir.Variable)
        return value, self.variables.get(width_name(expr), 0)

    def assign(self, place: ir.Place, value: int) -> None:
        match place:
            case ir.Variable(name, _):
                self.variables[name] = value
            case ir.FieldRef(ref, f):
                header = self.resolve(ref)
                if header is not None:
                    header.fields[f.name] = value
            case ir.LaneField(header, first, stride):
                name = _lane(header.type, first.offset_bits + self.turn * stride).name
                self.header(header).fields[name] = value

    def _assign_varbits(self, place: ir.Place, source: ir.Expr) -> None:
        value, width = self.varbits(source)
        self.assign(place, value)
        if isinstance(place, ir.FieldRef):
            header = self.resolve(place.header)
            if header is not None:
                header.varbit_width = width
        else:
            assert isinstance(place, ir.Variable)
            self.variables[width_name(place)] = width


def width_name(variable: ir.Variable) -> str:
    """Name of the variable that holds the current width of a varbit variable."""
    return f"{variable.name}.$width"


def _lane(kind: ir.HeaderType, offset_bits: int) -> ir.HeaderField:
    return next(f for f in kind.fields if f.offset_bits == offset_bits)
