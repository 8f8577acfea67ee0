"""Resources of a table: its direct meter with the places that get its colour, and the keys of its selector."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.v1model.control_view import SELECTOR


def direct_meter_of(table: ir.Table) -> ir.ExternInstance | None:
    return next((e for e in table.attached if e.extern == "direct_meter"), None)


def meters_bytes(meter: ir.ExternInstance) -> bool:
    """Does the (direct) meter count bytes, not packets? Its type is its last constructor argument."""
    return str(meter.arguments[-1]).rpartition(".")[2] == "bytes"


def colour_targets(program: ir.Program) -> dict[str, tuple[ir.Place, ...]]:
    """Where the colour of each direct meter goes, by the meter's name: what its calls of ``read`` name. bmv2 writes
    there at every hit of the meter's table, before the action, whether the action calls ``read`` or not."""
    from emulator.p4.ir import walk

    result: dict[str, dict[ir.Place, None]] = {}
    for action in program.actions:
        for statement in walk.statements(action.body):
            if isinstance(statement, ir.CallExtern) and statement.name == "direct_meter.read":
                assert isinstance(statement.instance, ir.ExternInstance)
                result.setdefault(statement.instance.name, {})[statement.place(0)] = None
    return {name: tuple(places) for name, places in result.items()}


def selector_keys(table: ir.Table) -> tuple[ir.Expr, ...]:
    return tuple(k.value for k in table.keys if k.match_kind == SELECTOR)
