"""Statements that touch the packet itself: the parser's and the deparser's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import WORD_BYTES, width_of
from emulator.p4.llvm import expressions, lookup, varbits
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, copy_bytes, i64, load_field, resize
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.storage import header_bytes
from emulator.p4.table_layout import TABLE_WORDS

MAX_TRANSITIONS = 65_536
"""Transitions after which a parser ends with error.ParserTimeout; no frame has as many bytes to extract."""

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


def _fail(cg: CodeGen, condition: Value, error: Value) -> None:
    """End the parser with that error if the condition holds."""
    failed, going_on = cg.new_block("failed"), cg.new_block("parse")
    cg.b.cbranch(condition, failed, going_on)
    cg.b.position_at_end(failed)
    cg.b.store(error, cg.storage.slot("$error", I32))
    cg.b.branch(cg.parse.end)
    cg.b.position_at_end(going_on)


def _cursor(cg: CodeGen) -> Value:
    return cg.b.load(cg.storage.slot("$cursor", I64), typ=I64)


def _need(cg: CodeGen, size: Value) -> Value:
    """Check that ``size`` more bytes are there; returns the cursor."""
    cursor = _cursor(cg)
    short = cg.b.icmp_unsigned("<", cg.b.sub(cg.parse.length, cursor), size)
    _fail(cg, short, constant(error_number(cg.program, "PacketTooShort"), 32))
    return cursor


def _move(cg: CodeGen, cursor: Value, size: Value) -> None:
    cg.b.store(cg.b.add(cursor, size), cg.storage.slot("$cursor", I64))


def extract(cg: CodeGen, header: ir.Header, variable_bits: ir.Expr | None) -> None:
    if header.type.varbit is not None:
        _extract_variable(cg, header, variable_bits)
        return
    size = i64(header_bytes(header.type))
    cursor = _need(cg, size)
    cg.storage.load_header(cg.b, header, at(cg.b, cg.parse.frame, cursor))
    cg.storage.set_valid(cg.b, header, True)
    _move(cg, cursor, size)


def _extract_variable(cg: CodeGen, header: ir.Header, variable_bits: ir.Expr | None) -> None:
    """The order of the checks is bmv2's: whole bytes, then the packet's end, then the header's size."""
    b, fixed = cg.b, varbits.fixed_bits(header.type)
    width = i64(0) if variable_bits is None else resize(b, expressions.value(cg, variable_bits), 64)
    bits = b.add(i64(fixed), width)
    uneven = b.icmp_unsigned("!=", b.and_(bits, i64(7)), i64(0))
    _fail(cg, uneven, constant(error_number(cg.program, "ParserInvalidArgument"), 32))
    size = b.lshr(bits, i64(3))
    cursor = _need(cg, size)
    too_long = b.icmp_unsigned(">", bits, i64(header.type.length_bits))
    _fail(cg, too_long, constant(error_number(cg.program, "HeaderTooShort"), 32))
    varbits.unpack(cg, header, at(b, cg.parse.frame, cursor), width)
    cg.storage.set_valid(b, header, True)
    _move(cg, cursor, size)


def lookahead(cg: CodeGen, statement: ir.Lookahead) -> None:
    cursor = _need(cg, i64((statement.total_bits + 7) // 8))
    here = at(cg.b, cg.parse.frame, cursor)
    for variable, offset in statement.targets:
        expressions.assign(cg, variable, load_field(cg.b, here, offset, width_of(variable.type)))


def advance(cg: CodeGen, bits: ir.Expr) -> None:
    amount = resize(cg.b, expressions.value(cg, bits), 64)
    uneven = cg.b.icmp_unsigned("!=", cg.b.and_(amount, i64(7)), i64(0))
    _fail(cg, uneven, constant(error_number(cg.program, "ParserInvalidArgument"), 32))
    size = cg.b.lshr(amount, i64(3))
    _move(cg, _need(cg, size), size)


def verify(cg: CodeGen, statement: ir.Verify) -> None:
    wrong = cg.b.xor(expressions.value(cg, statement.condition), constant(1, 1))
    _fail(cg, wrong, resize(cg.b, expressions.value(cg, statement.error), 32))


def emit(cg: CodeGen, header: ir.Header) -> None:
    b = cg.b
    with b.if_then(cg.storage.valid(b, header)):
        size = varbits.wire_bytes(cg, header)
        out = _room_for(cg, size)
        if header.type.varbit is not None:
            varbits.pack(cg, header, out)
        else:
            cg.storage.store_header(b, header, out)
        b.store(at(b, out, size), cg.storage.slot("$out", PTR))


def append(cg: CodeGen, source: Value, size: Value) -> None:
    """Write bytes to the cell, or leave for ``too_long``."""
    out = _room_for(cg, size)
    copy_bytes(cg.b, out, source, size)
    cg.b.store(at(cg.b, out, size), cg.storage.slot("$out", PTR))


def _room_for(cg: CodeGen, size: Value) -> Value:
    """Where the next bytes go, if the cell has room for them."""
    b, state = cg.b, cg.parse
    out = b.load(cg.storage.slot("$out", PTR), typ=PTR)
    room = b.sub(b.ptrtoint(state.limit, I64), b.ptrtoint(out, I64))
    fits = cg.new_block("fits")
    b.cbranch(b.icmp_unsigned("<=", size, room), fits, state.too_long)
    b.position_at_end(fits)
    return out


def emit_parser(cg: CodeGen, parser: ir.Parser, frame: Value, length: Value) -> None:
    """The whole state graph; afterwards ``$cursor`` is where the payload starts and ``$error`` the parser's error."""
    b = cg.b
    end = cg.new_block("parsed")
    cg.parse = Parsing(frame, length, end)
    cg.exit_block = end
    for name, kind in (("$cursor", I64), ("$error", I32), ("$transitions", I32)):
        b.store(constant(0, kind.width), cg.storage.slot(name, kind))
    blocks = {s.name: cg.new_block(f"state.{s.name}") for s in parser.states}
    blocks.update(accept=end, reject=end)
    b.branch(blocks["start"])
    loops = _has_loop(parser)
    targets = blocks if loops else _targets(parser, blocks)
    for state in parser.states:
        b.position_at_end(blocks[state.name])
        cg.storage.owned = set()
        if loops:
            _count_transition(cg)
        cg.block(state.body)
        if not b.block.is_terminated:
            _transition(cg, state.transition, targets)
    b.position_at_end(end)
    cg.storage.owned = set()
    cg.parse = None


def _count_transition(cg: CodeGen) -> None:
    slot = cg.storage.slot("$transitions", I32)
    count = cg.b.add(cg.b.load(slot, typ=I32), constant(1, 32))
    cg.b.store(count, slot)
    over = cg.b.icmp_unsigned(">", count, constant(MAX_TRANSITIONS, 32))
    _fail(cg, over, constant(error_number(cg.program, "ParserTimeout"), 32))


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
        result = any(visit(n) for n in following[name])
        open_.discard(name)
        done.add(name)
        return result

    return visit("start")


def _targets(parser: ir.Parser, blocks: dict[str, Any]) -> dict[str, Any]:
    """Where a transition to a state leads: past states without statements or a choice. The graph has no loops."""
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


def _transition(cg: CodeGen, transition: ir.Select | ir.Goto, targets: dict[str, Any]) -> None:
    b = cg.b
    if isinstance(transition, ir.Goto):
        b.branch(targets[transition.next_state])
        return
    keys = [expressions.value(cg, key) for key in transition.keys]
    for target, cases in _runs(transition.cases, targets):
        matches = _case_matches(cg, cases[0], keys)
        for case in cases[1:]:
            matches = b.or_(matches, _case_matches(cg, case, keys))
        following = cg.new_block("select")
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


def _case_matches(cg: CodeGen, case: ir.SelectCase, keys: list[Value]) -> Value:
    b = cg.b
    if case.value_set is not None:
        layout = cg.value_sets[case.value_set]
        record = at(b, cg.table_area, layout.number * TABLE_WORDS * WORD_BYTES)
        return b.icmp_unsigned("!=", lookup.emit_lookup(b, layout, record, keys), i64(0))
    matches: Value = constant(1, 1)
    for key, keyset in zip(keys, case.keysets, strict=True):
        matches = b.and_(matches, key_matches(cg, key, keyset))
    return matches


def key_matches(cg: CodeGen, key: Value, keyset: ir.KeySet) -> Value:
    b, width = cg.b, key.type.width
    if isinstance(keyset, ir.Between):
        above = b.icmp_unsigned(">=", key, constant(keyset.low, width))
        return b.and_(above, b.icmp_unsigned("<=", key, constant(keyset.high, width)))
    masked = b.and_(key, constant(keyset.mask, width))
    return b.icmp_unsigned("==", masked, constant(keyset.value & keyset.mask, width))
