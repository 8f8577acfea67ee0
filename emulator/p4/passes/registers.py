"""Registers that one packet touches become neighbours in memory.

Expects ``reroll`` done. Leaves ``Program.groups``: each family of instances that a Repeat goes over is a group (one
row of lanes per cell), and so are the other registers of one size that are indexed by the same expression (a record
per cell).
"""

from __future__ import annotations

from dataclasses import replace

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.layout import cell_bytes, width_of
from emulator.p4.target import Target


def group_registers(program: ir.Program, target: Target) -> ir.Program:
    families: list[tuple[int, int]] = []
    indexed: dict[str, ir.Expr] = {}
    positions = {e.name: i for i, e in enumerate(program.externs)}
    for block in walk.root_blocks(program):
        for s in walk.statements(block):
            if not isinstance(s, ir.CallExtern) or s.name not in target.index_argument:
                continue
            if isinstance(s.instance, ir.LaneInstances):
                first = positions[s.instance.instances[0].name]
                families.append((first, first + len(s.instance.instances)))
            elif s.instance is not None:
                index = s.arguments[target.index_argument[s.name]]
                assert not isinstance(index, ir.Text | tuple)
                indexed.setdefault(s.instance.name, index)
    groups = [tuple(e.name for e in program.externs[a:b]) for a, b in _united(families)]
    taken = {name for names in groups for name in names}
    groups += _records(program, {n: i for n, i in indexed.items() if n not in taken})
    return replace(program, groups=tuple(groups))


def _united(families: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges of declarations become one (a Repeat over a part of the lanes is part of the larger one)."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(set(families)):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _records(program: ir.Program, indexed: dict[str, ir.Expr]) -> list[tuple[str, ...]]:
    """Registers of one size under one index expression, wide cells first so that none is padded."""
    records: list[tuple[object, ir.Expr, list[ir.ExternInstance]]] = []
    for instance in program.externs:
        if instance.name not in indexed:
            continue
        size, index = instance.arguments[0], indexed[instance.name]
        for known_size, known_index, members in records:
            if known_size == size and known_index == index:
                members.append(instance)
                break
        else:
            records.append((size, index, [instance]))
    return [
        tuple(e.name for e in sorted(members, key=lambda e: -cell_bytes(width_of(e.type_arguments[0]))))
        for _, _, members in records
        if len(members) > 1
    ]
