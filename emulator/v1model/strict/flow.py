"""Applications of one table: bmv2 knows a table once, with one continuation for each outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.lower.records import TableRecord
from emulator.v1model.strict.base import StrictReporter


@dataclass(frozen=True, slots=True)
class _Site:
    apply: ir.ApplyTable
    follower: Any
    """What runs next: a statement's identity; the application itself where its result is looked at."""
    reaches: frozenset[str]
    """Tables that may be applied later in the same run of the control."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """What a run of the control still has to do at some point."""

    follower: Any
    tables: frozenset[str]


_NOTHING = _Rest(None, frozenset())


def check_flow(reporter: StrictReporter) -> None:
    for name, block in reporter.lowered.program.blocks:
        if not isinstance(block, ir.Control) or name not in ("ig", "eg"):
            continue
        sites: dict[str, list[_Site]] = {}
        _visit(block.body, _NOTHING, _NOTHING, sites)
        ats = {record.name: _place(reporter, record) for record in reporter.tables()}
        for table, found in sites.items():
            at = ats[table]
            if any(table in site.reaches for site in found):
                reporter.refuse(at, f"table {table} is applied twice on one path")
            elif len({site.follower for site in found}) > 1:
                reporter.refuse(at, f"table {table} is applied in several places that go on differently")


def _place(reporter: StrictReporter, record: TableRecord) -> Any:
    """The second application, where the source has two; else the table, in a control that is applied twice."""
    sites = {id(n): n for _, _, n in reporter.code() if isinstance(n, r.TableApply) and n.table is record.symbol}
    return sorted(sites.values(), key=lambda n: n.at)[1] if len(sites) > 1 else record.symbol.at


def _visit(block: ir.Block, after: _Rest, leaving: _Rest, sites: dict[str, list[_Site]]) -> _Rest:
    """Collect the applications in ``block``; ``after`` is what follows it, ``leaving`` what follows a return in it."""
    rest = after
    for statement in reversed(block):
        later = rest.tables
        if isinstance(statement, ir.Return | ir.Exit):
            rest = leaving if isinstance(statement, ir.Return) else _NOTHING
            continue
        if isinstance(statement, ir.ApplyTable):
            looked_at = statement.hit is not None or statement.action_run is not None
            site = _Site(statement, id(statement) if looked_at else rest.follower, later)
            sites.setdefault(statement.table, []).append(site)
            later = later | {statement.table}
        else:
            way_out = rest if isinstance(statement, ir.Region) else leaving
            later = later.union(*(_visit(inner, rest, way_out, sites).tables for inner in _blocks_in(statement)))
        rest = _Rest(id(statement), later)
    return rest


def _blocks_in(statement: ir.Statement) -> list[ir.Block]:
    if isinstance(statement, ir.If):
        return [statement.then, statement.otherwise]
    if isinstance(statement, ir.Switch):
        return [statement.default, *(case.body for case in statement.cases)]
    if isinstance(statement, ir.Loop):
        return [statement.body]
    return [statement.body] if isinstance(statement, ir.Region) else []
