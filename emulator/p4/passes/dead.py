"""What nothing reads, and what nothing reaches, goes.

Removes statements after ``Return`` and ``Exit``, assignments to variables that are read nowhere (the architecture's own
are read by it), and variables that are then mentioned nowhere.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.p4 import ir, walk
from emulator.p4.target import Target


def remove_dead(program: ir.Program, target: Target) -> ir.Program:
    while True:
        read = _read_variables(program, target)
        new = walk.map_blocks(program, lambda b, r=read: _block(b, r, target))  # type: ignore[misc]
        if _size(new) == _size(program):
            mentioned = read | _written_variables(new, target)
            return replace(new, variables=tuple(v for v in new.variables if v.name in mentioned))
        program = new


def _block(block: ir.Block, read: set[str], target: Target) -> ir.Block:
    result: list[ir.Statement] = []
    for statement in block:
        new = walk.map_statement(statement, lambda e: e, lambda b: _block(b, read, target), target.outs)
        if isinstance(new, ir.Assign) and isinstance(new.target, ir.Variable) and new.target.name not in read:
            continue
        if isinstance(new, ir.If) and not new.then and not new.otherwise:
            continue
        if isinstance(new, ir.Repeat) and not new.body:
            continue
        result.append(new)
        if isinstance(new, ir.Return | ir.Exit):
            break
    made = tuple(result)
    same = len(made) == len(block) and all(a is b for a, b in zip(made, block, strict=True))
    return block if same else made


def _size(program: ir.Program) -> int:
    return sum(1 for block in walk.root_blocks(program) for _ in walk.statements(block))


def _read_variables(program: ir.Program, target: Target) -> set[str]:
    read = target.read_at_ends(program)
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            for expr, is_target in walk.own_expressions(statement):
                if not is_target or not isinstance(expr, ir.Variable):
                    read.update(e.name for e in walk.subexpressions(expr) if isinstance(e, ir.Variable))
    for _, root in program.blocks:
        if isinstance(root, ir.Parser):
            for state in root.states:
                if isinstance(state.transition, ir.Select):
                    for key in state.transition.keys:
                        read.update(e.name for e in walk.subexpressions(key) if isinstance(e, ir.Variable))
    for table in program.tables:
        for table_key in table.keys:
            read.update(e.name for e in walk.subexpressions(table_key.value) if isinstance(e, ir.Variable))
    return read


def _written_variables(program: ir.Program, target: Target) -> set[str]:
    written: set[str] = set()
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            for expr, _ in walk.own_expressions(statement):
                written.update(e.name for e in walk.subexpressions(expr) if isinstance(e, ir.Variable))
    return written
