"""Variables of variable width to header fields.

Before: ``Variable`` of type ``VarBits``. After: only header fields have that type; each variable has become the one
field of a separate header, which is valid from the parser's start (lists leave fields of invalid headers out), and
its length on the wire is none of the packet's, for nothing emits it.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.target import Target


def lower_varbits(program: ir.Program, target: Target) -> ir.Program:
    holders = {v.name: holder_of(v) for v in program.variables if isinstance(v.type, ir.VarBits)}
    if not holders:
        return program

    def expr(e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Variable) and e.name in holders:
            header = holders[e.name]
            return ir.FieldRef(header, header.type.fields[0])
        return e

    def after(s: ir.Statement) -> ir.Block:
        if isinstance(s, ir.Assign) and isinstance(s.target.type, ir.VarBits):
            place = expr(s.target)
            assert isinstance(place, ir.FieldRef)
            return (replace(s, target=place),)
        return (s,)

    new = walk.map_blocks(program, lambda b: walk.map_statements(b, expr, target.outs, after), expr=expr)
    return replace(
        new,
        headers=(*program.headers, *holders.values()),
        variables=tuple(v for v in program.variables if v.name not in holders),
        blocks=tuple((name, _start_valid(root, holders)) for name, root in new.blocks),
    )


def holder_of(variable: ir.Variable) -> ir.Header:
    kind = ir.HeaderType(str(variable.type), (ir.HeaderField("bits", 0, variable.type),))
    return ir.Header(variable.name, kind)


def _start_valid(root: ir.Parser | ir.Control, holders: dict[str, ir.Header]) -> ir.Parser | ir.Control:
    if isinstance(root, ir.Control):
        return root
    first = tuple(ir.SetValidity(h, True) for h in holders.values())
    states = (replace(s, body=(*first, *s.body)) if s.name == "start" else s for s in root.states)
    return replace(root, states=tuple(states))
