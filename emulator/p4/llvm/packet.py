"""Statements that touch the packet itself: the parser's and the deparser's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import WORD_BYTES, width_of
from emulator.p4.llvm import expressions, lookup, varbits
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, copy_bytes, i64, load_field, resize
from emulator.p4.llvm.context import Emitter
from emulator.p4.llvm.storage import header_bytes
from emulator.p4.table_layout import TABLE_WORDS

MAX_TRANSITIONS = 65_536
"""A parser that goes round more often ends with error.ParserTimeout; no frame has as many bytes to extract."""

MOST_TOGETHER = 64
"""Cases of a select that one branch takes: LLVM ends the process over 1,000 branches in a row to the same block."""


@dataclass(frozen=True, slots=True)
class Parsing:
    """The frame being parsed. Slots: ``$cursor`` (bytes taken), ``$error`` (number), ``$transitions``."""

    frame: Value
    length: Value
    end: Any
    """LLVM block after the parser, reached by accept, reject and errors alike."""


@dataclass(frozen=True, slots=True)
class Deparsing:
    """The cell being written. Slot ``$out``: where the next byte goes."""

    limit: Value
    """Address of the first byte after the cell."""
    too_long: Any
    """LLVM block for frames that don't fit."""


def error_number(program: ir.Program, name: str) -> int:
    """Number of a core.p4 error; 0 in programs that were made without them."""
    return program.errors.index(name) if name in program.errors else 0


def _fail(e: Emitter, condition: Value, error: Value) -> None:
    """End the parser with that error if the condition holds."""
    failed, going_on = e.new_block("failed"), e.new_block("parse")
    e.b.cbranch(condition, failed, going_on)
    e.b.position_at_end(failed)
    e.b.store(error, e.storage.slot("$error", I32))
    e.b.branch(e.parse.end)
    e.b.position_at_end(going_on)


def _cursor(e: Emitter) -> Value:
    return e.b.load(e.storage.slot("$cursor", I64), typ=I64)


def _need(e: Emitter, size: Value) -> Value:
    """Check that ``size`` more bytes are there; returns the cursor."""
    cursor = _cursor(e)
    short = e.b.icmp_unsigned("<", e.b.sub(e.parse.length, cursor), size)
    _fail(e, short, constant(error_number(e.program, "PacketTooShort"), 32))
    return cursor


def _move(e: Emitter, cursor: Value, size: Value) -> None:
    e.b.store(e.b.add(cursor, size), e.storage.slot("$cursor", I64))


def extract(e: Emitter, header: ir.Header, variable_bits: ir.Expr | None) -> None:
    if header.type.varbit is not None:
        _extract_variable(e, header, variable_bits)
        return
    size = i64(header_bytes(header.type))
    cursor = _need(e, size)
    e.storage.load_header(e.b, header, at(e.b, e.parse.frame, cursor))
    e.storage.set_valid(e.b, header, True)
    _move(e, cursor, size)


def _extract_variable(e: Emitter, header: ir.Header, variable_bits: ir.Expr | None) -> None:
    """The order of the checks is bmv2's: whole bytes, then the packet's end, then the header's size."""
    b, fixed = e.b, varbits.fixed_bits(header.type)
    width = i64(0) if variable_bits is None else resize(b, expressions.value(e, variable_bits), 64)
    bits = b.add(i64(fixed), width)
    uneven = b.icmp_unsigned("!=", b.and_(bits, i64(7)), i64(0))
    _fail(e, uneven, constant(error_number(e.program, "ParserInvalidArgument"), 32))
    size = b.lshr(bits, i64(3))
    cursor = _need(e, size)
    too_long = b.icmp_unsigned(">", bits, i64(header.type.length_bits))
    _fail(e, too_long, constant(error_number(e.program, "HeaderTooShort"), 32))
    varbits.unpack(e, header, at(b, e.parse.frame, cursor), width)
    e.storage.set_valid(b, header, True)
    _move(e, cursor, size)


def lookahead(e: Emitter, statement: ir.Lookahead) -> None:
    cursor = _need(e, i64((statement.total_bits + 7) // 8))
    here = at(e.b, e.parse.frame, cursor)
    for variable, offset in statement.targets:
        expressions.assign(e, variable, load_field(e.b, here, offset, width_of(variable.type)))


def advance(e: Emitter, bits: ir.Expr) -> None:
    amount = resize(e.b, expressions.value(e, bits), 64)
    uneven = e.b.icmp_unsigned("!=", e.b.and_(amount, i64(7)), i64(0))
    _fail(e, uneven, constant(error_number(e.program, "ParserInvalidArgument"), 32))
    size = e.b.lshr(amount, i64(3))
    _move(e, _need(e, size), size)


def verify(e: Emitter, statement: ir.Verify) -> None:
    wrong = e.b.xor(expressions.value(e, statement.condition), constant(1, 1))
    _fail(e, wrong, resize(e.b, expressions.value(e, statement.error), 32))


def emit(e: Emitter, header: ir.Header) -> None:
    b = e.b
    with b.if_then(e.storage.valid(b, header)):
        size = varbits.wire_bytes(e, header)
        out = _room_for(e, size)
        if header.type.varbit is not None:
            varbits.pack(e, header, out)
        else:
            e.storage.store_header(b, header, out)
        b.store(at(b, out, size), e.storage.slot("$out", PTR))


def append(e: Emitter, source: Value, size: Value) -> None:
    """Write bytes to the cell, or leave for ``too_long``."""
    out = _room_for(e, size)
    copy_bytes(e.b, out, source, size)
    e.b.store(at(e.b, out, size), e.storage.slot("$out", PTR))


def _room_for(e: Emitter, size: Value) -> Value:
    """Where the next bytes go, if the cell has room for them."""
    b, state = e.b, e.parse
    out = b.load(e.storage.slot("$out", PTR), typ=PTR)
    room = b.sub(b.ptrtoint(state.limit, I64), b.ptrtoint(out, I64))
    fits = e.new_block("fits")
    b.cbranch(b.icmp_unsigned("<=", size, room), fits, state.too_long)
    b.position_at_end(fits)
    return out


def emit_parser(e: Emitter, parser: ir.Parser, frame: Value, length: Value) -> None:
    """The whole state graph; afterwards ``$cursor`` is where the payload starts and ``$error`` what went wrong."""
    b = e.b
    end = e.new_block("parsed")
    e.parse = Parsing(frame, length, end)
    e.exit_block = end
    for name, kind in (("$cursor", I64), ("$error", I32), ("$transitions", I32)):
        b.store(constant(0, kind.width), e.storage.slot(name, kind))
    blocks = {s.name: e.new_block(f"state.{s.name}") for s in parser.states}
    blocks.update(accept=end, reject=end)
    b.branch(blocks["start"])
    loops = _has_loop(parser)
    targets = blocks if loops else _targets(parser, blocks)
    for state in parser.states:
        b.position_at_end(blocks[state.name])
        e.storage.owned = set()
        if loops:
            _count_transition(e)
        e.block(state.body)
        if not b.block.is_terminated:
            _transition(e, state.transition, targets)
    b.position_at_end(end)
    e.storage.owned = set()
    e.parse = None


def _count_transition(e: Emitter) -> None:
    slot = e.storage.slot("$transitions", I32)
    count = e.b.add(e.b.load(slot, typ=I32), constant(1, 32))
    e.b.store(count, slot)
    over = e.b.icmp_unsigned(">", count, constant(MAX_TRANSITIONS, 32))
    _fail(e, over, constant(error_number(e.program, "ParserTimeout"), 32))


def successors(state: ir.State) -> set[str]:
    if isinstance(state.transition, ir.Goto):
        return {state.transition.next_state}
    return {case.next_state for case in state.transition.cases}


def _has_loop(parser: ir.Parser) -> bool:
    following = {s.name: successors(s) for s in parser.states}
    open_, done = set(), set()

    def visit(name: str) -> bool:
        if name in open_:
            return True
        if name in done or name not in following:
            return False
        open_.add(name)
        found = any(visit(n) for n in following[name])
        open_.discard(name)
        done.add(name)
        return found

    return visit("start")


def _targets(parser: ir.Parser, blocks: dict[str, Any]) -> dict[str, Any]:
    """Where a transition to a state leads: past states that only go on. The graph has no loops."""
    following = {
        s.name: s.transition.next_state for s in parser.states if isinstance(s.transition, ir.Goto) and not s.body
    }
    targets = {}
    for name in blocks:
        last = name
        while last in following:
            last = following[last]
        targets[name] = blocks[last]
    return targets


def _transition(e: Emitter, transition: ir.Select | ir.Goto, targets: dict[str, Any]) -> None:
    b = e.b
    if isinstance(transition, ir.Goto):
        b.branch(targets[transition.next_state])
        return
    keys = [expressions.value(e, key) for key in transition.keys]
    for target, cases in _runs(transition.cases, targets):
        matches = _case_matches(e, cases[0], keys)
        for case in cases[1:]:
            matches = b.or_(matches, _case_matches(e, case, keys))
        following = e.new_block("select")
        b.cbranch(matches, target, following)
        b.position_at_end(following)
    b.branch(targets["accept"])


def _runs(cases: tuple[ir.SelectCase, ...], targets: dict[str, Any]) -> list[tuple[Any, list[ir.SelectCase]]]:
    """Neighbouring cases that lead to the same block, which one branch takes together."""
    runs: list[tuple[Any, list[ir.SelectCase]]] = []
    for case in cases:
        target = targets[case.next_state]
        is_alone = case.value_set is not None or not runs or len(runs[-1][1]) == MOST_TOGETHER
        if is_alone or runs[-1][0] is not target or runs[-1][1][0].value_set is not None:
            runs.append((target, []))
        runs[-1][1].append(case)
    return runs


def _case_matches(e: Emitter, case: ir.SelectCase, keys: list[Value]) -> Value:
    b = e.b
    if case.value_set is not None:
        layout = e.value_sets[case.value_set]
        record = at(b, e.table_area, layout.number * TABLE_WORDS * WORD_BYTES)
        return b.icmp_unsigned("!=", lookup.emit_lookup(b, layout, record, keys), i64(0))
    matches: Value = constant(1, 1)
    for key, keyset in zip(keys, case.keysets, strict=True):
        matches = b.and_(matches, key_matches(e, key, keyset))
    return matches


def key_matches(e: Emitter, key: Value, keyset: ir.KeySet) -> Value:
    b, width = e.b, key.type.width
    if isinstance(keyset, ir.Between):
        above = b.icmp_unsigned(">=", key, constant(keyset.low, width))
        return b.and_(above, b.icmp_unsigned("<=", key, constant(keyset.high, width)))
    masked = b.and_(key, constant(keyset.mask, width))
    return b.icmp_unsigned("==", masked, constant(keyset.value & keyset.mask, width))
