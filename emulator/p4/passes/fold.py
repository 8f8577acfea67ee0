"""Constant expressions to constants; branches on constants to the branch taken.

Leaves nothing that Python could compute at compile time, so that LLVM has less to read. Both arms of ``?:`` are without
side effects, so either may go.
"""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.arithmetic import binary, cast, unary, wrap
from emulator.p4.ir import walk
from emulator.p4.target import Target


def fold_constants(program: ir.Program, target: Target) -> ir.Program:
    def block(b: ir.Block) -> ir.Block:
        return walk.map_statements(b, fold, target.outs, _take_branch)

    return walk.map_blocks(program, block, expr=_fold_key)


def _fold_key(expr: ir.Expr) -> ir.Expr:
    return fold(expr)


def fold(expr: ir.Expr) -> ir.Expr:
    """One node; its operands are folded already."""
    match expr:
        case ir.Unary(op, ir.Constant(value, _), kind):
            return ir.Constant(unary(op, value, kind), kind)
        case ir.Binary(op, ir.Constant(left, operand), ir.Constant(right, _), kind):
            return ir.Constant(binary(op, left, right, operand, kind), kind)
        case ir.Mux(ir.Constant(condition, _), then, otherwise, _):
            return then if condition else otherwise
        case ir.Cast(ir.Constant(value, _), kind):
            return ir.Constant(cast(value, kind), kind)
        case ir.Cast(operand, kind) if operand.type == kind:
            return operand
        case ir.Slice(ir.Constant(value, _), high, low):
            return ir.Constant(value >> low & ((1 << (high - low + 1)) - 1), expr.type)
        case ir.Concat(ir.Constant(left, _), ir.Constant(right, ir.Bits(width)), kind):
            return ir.Constant(wrap(left << width | right & ((1 << width) - 1), kind), kind)
        case ir.Binary(ir.BinaryOp.LOGICAL_AND | ir.BinaryOp.LOGICAL_OR):
            return _fold_logic(expr)
    return expr


def _fold_logic(expr: ir.Binary) -> ir.Expr:
    """``true && x``, ``x || false`` and the like."""
    absorbing = 0 if expr.op is ir.BinaryOp.LOGICAL_AND else 1
    for known, other in ((expr.left, expr.right), (expr.right, expr.left)):
        if isinstance(known, ir.Constant):
            return known if known.value == absorbing else other
    return expr


def _take_branch(s: ir.Statement) -> ir.Block:
    match s:
        case ir.If(ir.Constant(value, _), then, otherwise):
            return then if value else otherwise
        case ir.Switch(ir.Constant(value, _), cases, default):
            return next((c.body for c in cases if value in c.values), default)
        case ir.If(_, (), ()) | ir.Region(_, (), ()):
            return ()
    return (s,)
