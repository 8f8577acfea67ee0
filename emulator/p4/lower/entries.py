"""Keysets as bit patterns."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.check import resolved as r


def all_ones(type_: ir.Type) -> int:
    return (1 << type_.width_bits) - 1 if isinstance(type_, ir.Bits) else 1


def keyset(values: tuple[ir.Expr, ...], shape: r.Expr, type_: ir.Type, match_kind: str = "") -> ir.KeySet | None:
    """The keyset of a checked element, whose numbers are ``values``; None where no bit patterns say it: a number that
    is known at run time only, a range of signed numbers across zero.

    Keys of kind ``range`` are matched with ranges even where one value is meant.
    """
    ones = all_ones(type_)
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
