"""What each of the six blocks may do."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.v1model.strict.base import StrictReporter, is_known, walk

_IN_PARSER = frozenset((
    "packet_in.extract", "packet_in.advance", "packet_in.lookahead", "verify", "log_msg", "static_assert",
))  # fmt: skip
_IN_DEPARSER = frozenset(("assert", "assume", "log_msg", "packet_out.emit", "static_assert"))
_CHECKSUMS = {
    "vr": frozenset(("verify_checksum", "verify_checksum_with_payload")),
    "ck": frozenset(("update_checksum", "update_checksum_with_payload")),
}
_COMPUTED = (r.Unary, r.Binary, r.Mux, r.Cast, r.SliceOf)
MAX_RANGE_MASKS = 100
"""A range in a select is written as masks; p4c gives up above this many."""


def check_blocks(reporter: StrictReporter) -> None:
    for name, _, node in reporter.code():
        if name == "p" and isinstance(node, r.ExternCall) and node.name not in _IN_PARSER:
            reporter.refuse(node, f"{node.name}() cannot be called in a parser")
    for _, instance in reporter.instances("p"):
        _check_reads_of_next(reporter, [(state.body, state.keys) for state in instance.symbol.states])
        for state in instance.symbol.states:
            for case in state.cases:
                for label in case[0]:
                    _check_label(reporter, label)
    for block, allowed in _CHECKSUMS.items():
        for _, instance in reporter.instances(block):
            for statement in instance.symbol.body or []:
                _check_checksum(reporter, statement, allowed)
    for _, instance in reporter.instances("dep"):
        for statement in instance.symbol.body or []:
            call = statement.call if isinstance(statement, r.CallStatement) else None
            inlined = isinstance(call, r.BlockApply | r.FunctionCall | r.ActionCall)
            is_emit = isinstance(call, r.ExternCall) and call.name in _IN_DEPARSER
            if not (inlined or is_emit or isinstance(statement, r.Return | r.Exit)):
                reporter.refuse(statement, "a deparser emits, and does nothing else")


# --- Parsers ------------------------------------------------------------------------------------------------------


def _check_reads_of_next(reporter: StrictReporter, code: Any) -> None:
    """``next`` is an element that no packet has filled yet: extract() and assignments write it, nothing reads it."""
    nodes = list(walk(code))
    written: set[int] = set()
    for node in nodes:
        if isinstance(node, r.Assign):
            written |= _elements(node.target)
        elif isinstance(node, r.BuiltinCall):
            written |= _elements(node.base)
        elif isinstance(node, r.ExternCall | r.BlockApply | r.FunctionCall):
            for bound in node.arguments:
                if bound.parameter.direction in ("out", "inout"):
                    written |= _elements(bound.value)
    for node in nodes:
        if isinstance(node, r.StackProperty) and node.name == "next" and id(node) not in written:
            reporter.refuse(node, "'next' is not initialized when it is read")


def _elements(place: Any) -> set[int]:
    """Identities of what a place is part of."""
    found = {id(place)}
    while isinstance(place, r.FieldOf | r.ElementOf | r.SliceOf | r.StackProperty):
        place = place.base
        found.add(id(place))
    return found


def _check_label(reporter: StrictReporter, label: Any) -> None:
    if isinstance(label, r.Range) and isinstance(label.low, r.Literal) and isinstance(label.high, r.Literal):
        base = t.unwrapped(label.low.type)
        width = base.width if isinstance(base, t.BitsType) else 32
        count = masks_of_range(label.low.value, label.high.value, width)
        if count > MAX_RANGE_MASKS:
            reporter.refuse(label, f"this range takes {count} masks, more than {MAX_RANGE_MASKS}")
        return
    parts = (label.value, label.mask) if isinstance(label, r.Mask) else (label,)
    for part in parts:
        is_set = isinstance(part, r.Ref) and isinstance(part.symbol, r.ValueSetSymbol)
        if not (is_known(part) or isinstance(part, r.DontCare | r.Aggregate | r.Range) or is_set):
            reporter.refuse(part, "a select's label must be a constant")


def masks_of_range(low: int, high: int, width: int) -> int:
    """How many masked values cover ``low .. high``: the largest aligned stretches, one after the other."""
    count = 0
    while low <= high:
        step = low & -low or 1 << width
        while low + step - 1 > high:
            step >>= 1
        low += step
        count += 1
    return count


# --- Checksums ----------------------------------------------------------------------------------------------------


def _check_checksum(reporter: StrictReporter, statement: Any, allowed: frozenset[str]) -> None:
    call = statement.call if isinstance(statement, r.CallStatement) else None
    if isinstance(call, r.BlockApply):
        return
    if not isinstance(call, r.ExternCall) or call.name not in allowed | {"static_assert"}:
        reporter.refuse(statement, f"only {' and '.join(sorted(allowed))} can be called in this block")
        return
    for bound in call.arguments:
        if bound.parameter.name == "data" and bound.value is not None:
            computed = next((node for node in walk(bound.value) if isinstance(node, _COMPUTED)), None)
            if computed is not None:
                reporter.refuse(computed, "a checksum's data are fields and constants; computations are not supported")
