"""All that a program has to exercise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from emulator.harness.coverage.items import ProgramCoverage, Sort
from emulator.harness.matches import parts_text
from emulator.harness.virtual import Source
from emulator.harness.walk.traced_switch import MISS
from emulator.harness.walk.tracing_machine import switch_key, transition_key
from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.control_view import EntryView, TableView

_EMULATOR = Path(__file__).resolve().parents[2]
INCLUDED = tuple(f"{_EMULATOR / part / 'include'}{os.sep}" for part in ("p4", "v1model"))
"""Where core.p4 and v1model.p4 lie: nobody's to test."""


def title_of(source: Source) -> str:
    """The program's path, with its macros behind."""
    defines = " ".join(f"-D{name}={value}" for name, value in source.defines)
    return f"{source.path} {defines}".strip()


def is_own(span: ir.Span | None) -> bool:
    """Is it the user's source?"""
    return span is not None and not span.file.startswith(INCLUDED)


def everything(source: Source, compiled: CompiledProgram) -> ProgramCoverage:
    """The program's items, none of them exercised yet. ``compiled`` is for the interpreter."""
    assert compiled.program is not None
    program = compiled.program
    spans = [s for s in _spans(program) if is_own(s)]
    used = dict.fromkeys([source.path, *(s.file for s in spans)])
    coverage = ProgramCoverage(title_of(source), tuple(used))
    _parser(program, coverage)
    tables = {t.name: t for t in program.tables}
    ran = {
        s.action_run: tables[s.table]
        for block in walk.root_blocks(program)
        for s in walk.statements(block)
        if isinstance(s, ir.ApplyTable) and s.action_run is not None
    }
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            _statement(statement, coverage, ran)
    for view in compiled.view.tables:
        _table(view, tables[view.name], program, coverage)
    return coverage


def _spans(program: ir.Program) -> Iterator[ir.Span]:
    for block in walk.root_blocks(program):
        yield from (s.span for s in walk.statements(block) if s.span is not None)


def _parser(program: ir.Program, coverage: ProgramCoverage) -> None:
    for _, block in program.blocks:
        if not isinstance(block, ir.Parser):
            continue
        for state in block.states:
            transition = state.transition
            if isinstance(transition, ir.Goto):
                know_transition(coverage, state.name, f"{state.name} -> {transition.next_state}", state.span)
                continue
            cases: list[int | None] = list(range(len(transition.cases)))
            if not any(_takes_all(case) for case in transition.cases):
                cases.append(None)
            for case in cases:
                know_transition(coverage, state.name, transition_key(transition, case), transition.span or state.span)


def know_transition(coverage: ProgramCoverage, state: str, key: str, span: ir.Span | None, count: int = 0) -> None:
    label = key if key.startswith(f"{state} -> ") else f"{state}: {key}"
    know(coverage, Sort.TRANSITION, label, span, count)


def _takes_all(case: ir.SelectCase) -> bool:
    return case.value_set is None and all(isinstance(k, ir.Masked) and k.mask == 0 for k in case.keysets)


def _statement(s: ir.Statement, coverage: ProgramCoverage, ran: Mapping[ir.Variable, ir.Table]) -> None:
    """``ran``: variable -> the table with its action's number in it."""
    know(coverage, Sort.LINE, "", s.span)
    match s:
        case ir.If():
            for outcome in ("true", "false"):
                know(coverage, Sort.BRANCH, branch_label(outcome, s.span), s.span)
        case ir.Switch(value, cases):
            table = ran.get(value) if isinstance(value, ir.Variable) else None
            for case in (*cases, None):
                know(coverage, Sort.BRANCH, branch_label(switch_key(case, table), s.span), s.span)
        case ir.Region(name):
            know(coverage, Sort.ACTION, name, s.span)


def branch_label(outcome: str, span: ir.Span | None) -> str:
    """Two ifs of one line are distinguished by their columns."""
    return f"{outcome} (column {span.column})" if span is not None else outcome


def _table(view: TableView, table: ir.Table, program: ir.Program, coverage: ProgramCoverage) -> None:
    for listed in table.actions:
        action = program.action(listed.action)
        know(coverage, Sort.ACTION, action_label(table.name, ir.control_plane_action(listed.action)), action.span)
    for entry, given in zip(view.entries, table.entries, strict=True):
        know(coverage, Sort.ENTRY, entry_label(table.name, _entry(view, entry)), given.span or table.span)
    if view.profile is None or view.keys:
        know(coverage, Sort.ENTRY, entry_label(table.name, MISS), table.span)


def action_label(table: str, action: str) -> str:
    return f"{table}: {action}"


def entry_label(table: str, key: str) -> str:
    return f"{table}: {key}"


def _entry(view: TableView, entry: EntryView) -> str:
    keys = zip(view.keys, entry.keys, strict=True)
    text = ", ".join(f"{k.name}={parts_text(k, *parts)}" for k, parts in keys)
    return f"{text} priority {entry.priority}" if view.has_priority else text


def know(coverage: ProgramCoverage, sort: Sort, label: str, span: ir.Span | None, count: int = 0) -> None:
    """Add ``count`` to the item at a place; nothing for what the compiler made or what came with it."""
    if is_own(span):
        assert span is not None
        coverage.know(sort, label, span.file, span.line).count += count
