"""How an action selector picks a member: as a call of an extern, so that the architecture says it once per engine."""

from __future__ import annotations

from emulator.p4 import ir

SELECT = "action_selector.select"
SELECTED = ir.Variable("$selected", ir.Bits(32))


def selection(table: ir.Table) -> ir.CallExtern:
    """``select(SELECTED, (selector keys))`` on the table's selector: puts their hash into the variable."""
    selector = next(e for e in table.attached if e.extern == "action_selector")
    keys = tuple(k.value for k in table.keys if k.match_kind == "selector")
    return ir.CallExtern(SELECT, (SELECTED, keys), selector, span=table.span)
