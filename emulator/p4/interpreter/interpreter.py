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
from emulator.p4.arithmetic import unsigned, wrap
from emulator.p4.interpreter.header_state import HeaderState
from emulator.p4.interpreter.values import ParserEnd, Values
from emulator.p4.table_layout import NOTHING_RUN
from emulator.p4.target import Target

MAX_TRANSITIONS = 65_536
"""A parser that goes round more often ends with error.ParserTimeout."""


class Tables(Protocol):
    """Where the interpreter looks entries up: a naive scan is best."""

    def look_up(
        self, table: ir.Table, key: tuple[int, ...], machine: Machine
    ) -> tuple[bool, int | None, tuple[int, ...]]:
        """(hit, action's index in the table's actions, its parameters); None runs no action: an empty group, a miss
        without default. ``key`` has a value for each of the table's keys, unsigned. Does what a hit does besides."""
        ...

    def in_value_set(self, value_set: str, key: tuple[int, ...]) -> bool:
        """Does a member of the parser value set match these select keys (unsigned)?"""
        ...


Extern: TypeAlias = Callable[["Machine", ir.CallExtern], None]


class _Return(Exception):
    pass


class _Exit(Exception):
    pass


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Discard(Exception):
    """The packet (or copy) is thrown away at once, already counted, except for subclasses that state otherwise."""


class LoopLimit(Discard):
    """A loop went round ``ir.LOOP_LIMIT`` times; the architecture counts the packet."""


@dataclass(slots=True)
class Machine(Values):
    """One packet, and the program that works on it."""

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

    # --- Statements ---------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        for statement in block:
            self.statement(statement)

    def control(self, block: ir.Block) -> None:
        """A whole control, however it ends."""
        with suppress(_Return, _Exit):
            self.block(block)

    def statement(self, s: ir.Statement) -> None:
        match s:  # cases are tried in this order: the most frequent come first
            case ir.CallExtern(name):
                self.externs[name](self, s)
            case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
                self._assign_varbits(target, value)
            case ir.Assign(target, value):
                self.assign(target, self.value(value))
            case ir.If(condition, then, otherwise):
                self.block(then if self.value(condition) else otherwise)
            case ir.SetValidity(ref, valid):
                self._set_validity(ref, valid)
            case ir.CopyHeader(target, source):
                self._copy_header(self.resolve(target), self.resolve(source))
            case ir.PushFront(stack, count):
                self._shift(stack, count)
            case ir.PopFront(stack, count):
                self._shift(stack, -count)
            case ir.CopyNext(target, source):
                self.next_index[target.name] = self.next_index.get(source.name, 0)
            case ir.Switch(value, cases, default):
                number = self.value(value)
                self.block(next((c.body for c in cases if number in c.values), default))
            case ir.ApplyTable():
                self._apply(s)
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
            case ir.Loop():
                self._loop(s)
            case ir.Break():
                raise _Break
            case ir.Continue():
                raise _Continue
            case ir.Return():
                raise _Return
            case ir.Exit():
                raise _Exit
            case ir.Emit(ref):
                header = self.resolve(ref)
                if header is not None and header.valid:
                    self.output += header.wire()
            case _:
                self._parser_statement(s)

    def _parser_statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Extract(ref, bits):
                self._extract(ref, self.value(bits) if bits is not None else 0)
            case ir.Lookahead(targets, total):
                size = (total + 7) // 8
                ahead = int.from_bytes(self._ahead(size), "big")
                for variable, offset in targets:
                    width = ir.width_of(variable.type)
                    self.variables[variable.name] = wrap(ahead >> (size * 8 - offset - width), variable.type)
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

    def _extract(self, ref: ir.HeaderRef, variable_bits: int) -> None:
        """The order of the checks is bmv2's: whole bytes, then the packet's end, then the header's size."""
        header = self.resolve(ref)
        if header is None:
            return
        size_bits = header.fixed_bits + variable_bits
        if size_bits % 8:
            raise ParserEnd(self.error("ParserInvalidArgument"))
        content = self._ahead(size_bits // 8)
        if size_bits > header.type.length_bits:
            raise ParserEnd(self.error("HeaderTooShort"))
        header.load(content, variable_bits)
        header.valid = True
        self.cursor += size_bits // 8
        if isinstance(ref, ir.StackNext):
            self.next_index[ref.stack.name] = self.next_index.get(ref.stack.name, 0) + 1

    def _set_validity(self, ref: ir.HeaderRef, valid: bool) -> None:
        header = self.resolve(ref)
        if header is None or valid == header.valid:
            return
        if valid:
            header.clear()
        self.notes["length"] = self.notes.get("length", 0) + (1 if valid else -1) * header.wire_bytes
        header.valid = valid

    def _copy_header(self, target: HeaderState | None, source: HeaderState | None) -> None:
        if target is None:
            return
        target.valid = source is not None and source.valid
        if source is not None and source.valid:
            target.fields, target.varbit_width = dict(source.fields), source.varbit_width

    def _shift(self, stack: ir.HeaderStack, count: int) -> None:
        """Elements move up by ``count`` (down if negative); those without a source become invalid."""
        order = range(stack.size - 1, -1, -1) if count > 0 else range(stack.size)
        for i in order:
            self._copy_header(self._element(stack, i), self._element(stack, i - count))
        moved = self.next_index.get(stack.name, 0) + count
        self.next_index[stack.name] = min(max(moved, 0), stack.size)

    def _loop(self, loop: ir.Loop) -> None:
        for _ in range(ir.LOOP_LIMIT):
            self.block(loop.prelude)
            if not self.value(loop.condition):
                return
            try:
                self.block(loop.body)
            except _Break:
                return
            except _Continue:
                pass
            self.block(loop.update)
        raise LoopLimit

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
        hit, number, parameters = self.tables.look_up(table, tuple(self._key(k.value) for k in table.keys), self)
        if s.hit is not None:
            self.variables[s.hit.name] = int(hit)
        if s.action_run is not None:
            self.variables[s.action_run.name] = wrap(NOTHING_RUN if number is None else number, s.action_run.type)
        if number is None:
            return
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
        return unsigned(value, expr.type)

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
                name = self.state(states[name])
        except ParserEnd as end:
            return end.number
        except (_Return, _Exit):
            pass
        return 0

    def state(self, state: ir.State) -> str:
        """Run a state of the parser; the name of the next."""
        self.block(state.body)
        if isinstance(state.transition, ir.Goto):
            return state.transition.next_state
        case = self.chosen_case(state.transition)
        return "accept" if case is None else state.transition.cases[case].next_state

    def chosen_case(self, select: ir.Select) -> int | None:
        """Index of the first case that matches."""
        keys = tuple(unsigned(self.value(k), k.type) for k in select.keys)
        return next((i for i, case in enumerate(select.cases) if self._case_matches(case, keys)), None)

    def _case_matches(self, case: ir.SelectCase, keys: tuple[int, ...]) -> bool:
        if case.value_set is not None:
            return self.tables.in_value_set(case.value_set, keys)
        return all(matches(k, s) for k, s in zip(keys, case.keysets, strict=True))


def matches(key: int, keyset: ir.KeySet) -> bool:
    if isinstance(keyset, ir.Between):
        return keyset.low <= key <= keyset.high
    return key & keyset.mask == keyset.value & keyset.mask
