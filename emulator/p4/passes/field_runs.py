"""Neighbouring fields in a list that is read as bits become one ``FieldRun``.

A checksum over all lanes of a header is then one range of memory. Only in arguments of the target's ``bit_lists``.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.target import Target


def merge_field_runs(program: ir.Program, target: Target) -> ir.Program:
    def after(s: ir.Statement) -> ir.Block:
        if not isinstance(s, ir.CallExtern) or s.name not in target.bit_lists:
            return (s,)
        arguments = tuple(merged(a) if isinstance(a, tuple) else a for a in s.arguments)
        return (replace(s, arguments=arguments),)

    def block(b: ir.Block) -> ir.Block:
        return walk.map_statements(b, lambda e: e, target.outs, after)

    return walk.map_blocks(program, block)


def merged(items: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    result: list[ir.Expr] = []
    for item in items:
        run = _as_run(item)
        last = result[-1] if result else None
        if (
            run is not None
            and isinstance(last, ir.FieldRun)
            and last.header.name == run.header.name
            and last.offset_bits + last.width_bits == run.offset_bits
        ):
            result[-1] = ir.FieldRun(last.header, last.offset_bits, last.width_bits + run.width_bits)
        else:
            result.append(run or item)
    return tuple(result)


def _as_run(item: ir.Expr) -> ir.FieldRun | None:
    if isinstance(item.type, ir.VarBits):
        return None
    if isinstance(item, ir.FieldRef) and isinstance(item.header, ir.Header):
        return ir.FieldRun(item.header, item.field.offset_bits, item.field.width_bits)
    return None
