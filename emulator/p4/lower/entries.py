"""Table entries, and keysets as bit patterns."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.keysets import has_priorities, ir_priorities
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Kind
from emulator.p4.lower import actions, erasure
from emulator.p4.lower.context import Context
from emulator.p4.syntax.lexer import integer_value

EMPTY_KEY = ir.Bits(1)
"""Stands for the type of a key of type ``bit<0>``: tables have no keys without bits. Its value is 0."""


def table_entries(
    cx: Context, symbol: r.TableSymbol, listed: dict[r.ActionSymbol, r.TableAction]
) -> tuple[ir.TableEntry, ...]:
    priorities = [0] * len(symbol.entries)
    if has_priorities(symbol):
        priorities = ir_priorities(symbol, [_position(cx, entry) for entry in symbol.entries])
    result: list[ir.TableEntry] = []
    seen: set[object] = set()
    for entry, priority in zip(symbol.entries, priorities, strict=True):
        keysets = tuple(
            _entry_keyset(cx, shape, cx.type(key.value.type), key.match_kind)
            for shape, key in zip(entry.keyset, symbol.keys, strict=True)
        )
        if (keysets, priority) in seen:
            warn(cx, entry.at, "an entry with these keys is before this one, which can never match")
            continue
        seen.add((keysets, priority))
        span = cx.span(entry)
        result.append(ir.TableEntry(keysets, actions.choice(cx, entry.choice, listed), priority, entry.is_const, span))
    return tuple(result)


def _entry_keyset(cx: Context, shape: r.Expr, key: t.Type, match_kind: str) -> ir.KeySet:
    if t.is_empty(key):
        zeros = tuple(ir.Constant(0, EMPTY_KEY) for _ in keyset_parts(shape))
        result = keyset(zeros, shape, EMPTY_KEY, match_kind)
    else:
        values = tuple(cx.value(part) for part in keyset_parts(shape))
        result = keyset(values, shape, erasure.scalar(cx, key), match_kind)
    if result is None and isinstance(shape, r.Range):
        fail(cx, shape, "an entry: the target takes no range of signed numbers across zero", Kind.TARGET)
    if result is None:
        fail(cx, shape, "an entry: the value must be known at compile time", Kind.CONSTANT)
    return result


def _position(cx: Context, entry: r.Entry) -> int | None:
    """``@priority(n)``, which bmv2's entries carry in place of their position."""
    for annotation in entry.annotations:
        if annotation.name == "priority":
            literal = integer_value(annotation.tokens[0]) if annotation.tokens else None
            if literal is None or len(annotation.tokens or ()) != 1:
                fail(cx, annotation, "@priority takes one number", Kind.CONSTANT)
            return literal[0]
    return None


def keyset(values: tuple[ir.Expr, ...], shape: r.Expr, type_: ir.Type, match_kind: str = "") -> ir.KeySet | None:
    """The keyset of a checked element with the numbers ``values``; None where bit patterns cannot express it: a number
    that is known at run time only, a range of signed numbers across zero.

    Keys of kind ``range`` are matched with ranges even where one value is meant.
    """
    ones = _all_ones(type_)
    if isinstance(shape, r.DontCare):
        return ir.Between(0, ones) if match_kind == "range" else ir.Masked(0, 0)
    numbers = [value.value & ones for value in values if isinstance(value, ir.Constant)]
    if len(numbers) != len(values):
        return None
    if isinstance(shape, r.Mask):
        return ir.Masked(numbers[0] & numbers[1], numbers[1])
    if isinstance(shape, r.Range):
        return ir.Between(numbers[0], numbers[1]) if numbers[0] <= numbers[1] else None
    return ir.Between(numbers[0], numbers[0]) if match_kind == "range" else ir.Masked(numbers[0], ones)


def _all_ones(type_: ir.Type) -> int:
    return (1 << type_.width_bits) - 1 if isinstance(type_, ir.Bits) else 1


def keyset_parts(shape: r.Expr) -> tuple[r.Expr, ...]:
    """The numbers in a checked keyset."""
    if isinstance(shape, r.DontCare):
        return ()
    if isinstance(shape, r.Mask):
        return shape.value, shape.mask
    return (shape.low, shape.high) if isinstance(shape, r.Range) else (shape,)


def unsigned(value: ir.Expr) -> ir.Expr:
    """Keys are compared as bit patterns."""
    if isinstance(value.type, ir.Bits) and value.type.signed:
        return ir.Cast(value, ir.Bits(value.type.width_bits))
    return value
