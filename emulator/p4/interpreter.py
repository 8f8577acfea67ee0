"""The slow, obvious engine: the oracle that the compiled one is held to.

It walks the IR as the front end left it, one packet at a time, with Python integers. Nothing here is shared with the
LLVM engine but the IR itself. Headers hold one integer per field; a field keeps its value when the header becomes
invalid, and reads 0 before any write (the architecture's rule, bmv2's without its left-overs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from emulator.p4 import ir
from emulator.p4.arithmetic import binary, cast, unary, wrap
from emulator.p4.target import Target

MAX_TRANSITIONS = 65_536
"""A parser that goes round more often ends with error.ParserTimeout."""


class Tables(Protocol):
    """Where the interpreter looks entries up: a naive scan is best."""

    def look_up(self, table: str, key: tuple[int, ...], counted_bytes: int) -> tuple[bool, int, tuple[int, ...]]:
        """(hit, action's index in the table's actions, its parameters); counts a hit on a direct counter."""
        ...


Extern: TypeAlias = Callable[["Machine", ir.CallExtern], None]


class ParserEnd(Exception):
    """The parser stops with this error number."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Return(Exception):
    pass


class _Exit(Exception):
    pass


class Discard(Exception):
    """The packet (or copy) is thrown away at once, already counted."""


@dataclass(slots=True)
class HeaderState:
    type: ir.HeaderType
    valid: bool = False
    fields: dict[str, int] = field(default_factory=dict)

    def bits(self) -> int:
        """All fields as one number, first field on top."""
        pieces = [
            f"{self.fields.get(f.name, 0) & ((1 << f.width_bits) - 1):0{f.width_bits}b}" for f in self.type.fields
        ]
        return int("".join(pieces) or "0", 2)

    def load(self, bits: int) -> None:
        """From one number; in text, for shifting a long number once per field takes quadratic time."""
        text = f"{bits:0{self.type.length_bits}b}"
        for f in self.type.fields:
            self.fields[f.name] = wrap(int(text[f.offset_bits : f.offset_bits + f.width_bits], 2), f.type)


@dataclass(slots=True)
class Machine:
    """One packet's state, and the program that works on it."""

    program: ir.Program
    tables: Tables
    externs: Mapping[str, Extern]
    target: Target
    frame: bytes = b""
    notes: dict[str, Any] = field(default_factory=dict)
    """The architecture's own values, for its externs."""
    variables: dict[str, int] = field(default_factory=dict)
    headers: dict[str, HeaderState] = field(default_factory=dict)
    next_index: dict[str, int] = field(default_factory=dict)
    cursor: int = 0
    """Bytes the parser has taken."""
    output: bytearray = field(default_factory=bytearray)
    turn: int = 0
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
            case ir.Binary(op, left, right, kind):
                return binary(op, self.value(left), self.value(right), left.type, kind)
            case ir.Mux(condition, then, otherwise, _):
                return self.value(then) if self.value(condition) else self.value(otherwise)
            case ir.Cast(operand, kind):
                return cast(self.value(operand), kind)
            case ir.Slice(operand, high, low):
                return (self.value(operand) >> low) & ((1 << (high - low + 1)) - 1)
            case ir.Concat(left, right, kind):
                width = right.type.width_bits if isinstance(right.type, ir.Bits) else 1
                return wrap(self.value(left) << width | self.value(right) & ((1 << width) - 1), kind)
        raise TypeError(expr)

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

    # --- Statements ---------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        for statement in block:
            self.statement(statement)

    def control(self, block: ir.Block) -> None:
        """A whole control, however it ends."""
        with suppress(_Return, _Exit):
            self.block(block)

    def statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Assign(target, value):
                self.assign(target, self.value(value))
            case ir.SetValidity(ref, valid):
                self._set_validity(ref, valid)
            case ir.CopyHeader(target, source):
                self._copy_header(self.resolve(target), self.resolve(source))
            case ir.PushFront(stack, count):
                self._shift(stack, count)
            case ir.PopFront(stack, count):
                self._shift(stack, -count)
            case ir.If(condition, then, otherwise):
                self.block(then if self.value(condition) else otherwise)
            case ir.Switch(value, cases, default):
                number = self.value(value)
                self.block(next((c.body for c in cases if number in c.values), default))
            case ir.ApplyTable():
                self._apply(s)
            case ir.CallExtern(name):
                self.externs[name](self, s)
            case ir.Repeat(count, body):
                self._repeat(count, body)
            case ir.Region(_, body, cleanup):
                try:
                    self.block(body)
                except _Return:
                    pass
                except _Exit:
                    self.block(cleanup)
                    raise
                self.block(cleanup)
            case ir.Return():
                raise _Return
            case ir.Exit():
                raise _Exit
            case ir.Emit(ref):
                header = self.resolve(ref)
                if header is not None and header.valid:
                    self.output += header.bits().to_bytes(header.type.length_bits // 8, "big")
            case _:
                self._parser_statement(s)

    def _parser_statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Extract(ref):
                self._extract(ref)
            case ir.Lookahead(targets, total):
                size = (total + 7) // 8
                bits = int.from_bytes(self._ahead(size), "big")
                for variable, offset in targets:
                    width = variable.type.width_bits if isinstance(variable.type, ir.Bits) else 1
                    self.variables[variable.name] = wrap(bits >> (size * 8 - offset - width), variable.type)
            case ir.Advance(bits):
                amount = self.value(bits)
                if amount % 8:
                    raise ParserEnd(self.error("ParserInvalidArgument"))
                self._ahead(amount // 8)
                self.cursor += amount // 8
            case ir.Verify(condition, error):
                if not self.value(condition):
                    raise ParserEnd(self.value(error))
            case _:
                raise TypeError(s)

    def _ahead(self, size: int) -> bytes:
        if len(self.frame) - self.cursor < size:
            raise ParserEnd(self.error("PacketTooShort"))
        return self.frame[self.cursor : self.cursor + size]

    def _extract(self, ref: ir.HeaderRef) -> None:
        header = self.resolve(ref)
        if header is None:
            return
        size = header.type.length_bits // 8
        header.load(int.from_bytes(self._ahead(size), "big"))
        header.valid = True
        self.cursor += size
        if isinstance(ref, ir.StackNext):
            self.next_index[ref.stack.name] = self.next_index.get(ref.stack.name, 0) + 1

    def _set_validity(self, ref: ir.HeaderRef, valid: bool) -> None:
        header = self.resolve(ref)
        if header is None:
            return
        if valid != header.valid:
            sign = 1 if valid else -1
            self.notes["length"] = self.notes.get("length", 0) + sign * (header.type.length_bits // 8)
        if valid and not header.valid:
            header.fields.clear()
        header.valid = valid

    def _copy_header(self, target: HeaderState | None, source: HeaderState | None) -> None:
        if target is None:
            return
        target.valid = source is not None and source.valid
        if source is not None and source.valid:
            target.fields = dict(source.fields)

    def _shift(self, stack: ir.HeaderStack, count: int) -> None:
        """Elements move up by ``count`` (down if negative); those without a source become invalid."""
        order = range(stack.size - 1, -1, -1) if count > 0 else range(stack.size)
        for i in order:
            self._copy_header(self._element(stack, i), self._element(stack, i - count))
        moved = self.next_index.get(stack.name, 0) + count
        self.next_index[stack.name] = min(max(moved, 0), stack.size)

    def _repeat(self, count: int, body: ir.Block) -> None:
        written: list[ir.Argument] = [s.target for s in body if isinstance(s, ir.Assign)]
        for call in (s for s in body if isinstance(s, ir.CallExtern)):
            written += [call.arguments[i] for i in self.target.outs(call.name)]
        private = {p.name for p in written if isinstance(p, ir.Variable)}
        kept = dict(self.variables)
        for turn in range(count):
            self.turn = turn
            for name in private:
                self.variables[name] = 0
            self.block(body)
        self.turn = 0
        for name in private:
            self.variables[name] = kept.get(name, 0)

    def _apply(self, s: ir.ApplyTable) -> None:
        table = self.program.table(s.table)
        key = tuple(self._key(k.value) for k in table.keys)
        hit, number, parameters = self.tables.look_up(s.table, key, len(self.frame))
        if s.hit is not None:
            self.variables[s.hit.name] = int(hit)
        if s.action_run is not None:
            self.variables[s.action_run.name] = number
        action = self.program.action(table.actions[number].action)
        for parameter, value in zip(action.parameters, parameters, strict=True):
            self.variables[parameter.name] = wrap(value, parameter.type)
        with suppress(_Return):
            self.block(action.body)

    def _key(self, expr: ir.Expr) -> int:
        """Unsigned bits of the key; a field of an invalid header counts as zero."""
        value = self.value(expr)
        if isinstance(expr, ir.FieldRef):
            header = self.resolve(expr.header)
            if header is None or not header.valid:
                return 0
        return value & ((1 << expr.type.width_bits) - 1) if isinstance(expr.type, ir.Bits) else value

    # --- Parser -------------------------------------------------------------------------------------------------

    def parse(self, parser: ir.Parser) -> int:
        """Run the state graph; the error's number. No matching select case is accept (bmv2)."""
        states = {s.name: s for s in parser.states}
        name, transitions = "start", 0
        try:
            while name not in ("accept", "reject"):
                transitions += 1
                if transitions > MAX_TRANSITIONS:
                    return self.error("ParserTimeout")
                self.block(states[name].body)
                name = self._next_state(states[name].transition)
        except ParserEnd as end:
            return end.number
        except _Exit:
            pass
        return 0

    def _next_state(self, transition: ir.Select | ir.Goto) -> str:
        if isinstance(transition, ir.Goto):
            return transition.next_state
        keys = [self._unsigned(k) for k in transition.keys]
        for case in transition.cases:
            if all(matches(k, s) for k, s in zip(keys, case.keysets, strict=True)):
                return case.next_state
        return "accept"

    def _unsigned(self, expr: ir.Expr) -> int:
        value = self.value(expr)
        return value & ((1 << expr.type.width_bits) - 1) if isinstance(expr.type, ir.Bits) else value


def matches(key: int, keyset: ir.KeySet) -> bool:
    if isinstance(keyset, ir.Between):
        return keyset.low <= key <= keyset.high
    return key & keyset.mask == keyset.value & keyset.mask


def _lane(kind: ir.HeaderType, offset_bits: int) -> ir.HeaderField:
    return next(f for f in kind.fields if f.offset_bits == offset_bits)
