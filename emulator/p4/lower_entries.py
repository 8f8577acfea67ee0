"""Keysets as bit patterns, and the priorities of a table's entries (facts: what p4c and bmv2 make of them)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import ir
from emulator.p4 import resolved as r


def all_ones(type_: ir.Type) -> int:
    return (1 << type_.width_bits) - 1 if isinstance(type_, ir.Bits) else 1


def keyset(values: tuple[ir.Expr, ...], shape: r.Expr, type_: ir.Type, match_kind: str = "") -> ir.KeySet | None:
    """The keyset of a checked element, whose numbers are ``values``; None when one of them is known at run time only.

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
        return ir.Between(numbers[0], numbers[1])
    return ir.Between(numbers[0], numbers[0]) if match_kind == "range" else ir.Masked(numbers[0], ones)


def has_priorities(symbol: r.TableSymbol) -> bool:
    return any(k.match_kind not in ("exact", "lpm", "selector") for k in symbol.keys)


def written_priorities(symbol: r.TableSymbol) -> list[int]:
    """Each entry's priority as the program means it: those left out are one ``priority_delta`` from their predecessor,
    and without any the first entry wins. The first has one when any has (the checker saw to that)."""
    entries = symbol.entries
    step = -symbol.priority_delta if symbol.largest_priority_wins else symbol.priority_delta
    if all(entry.priority is None for entry in entries):
        first = 1 + (len(entries) - 1) * symbol.priority_delta if symbol.largest_priority_wins else 1
        return [first + i * step for i in range(len(entries))]
    found: list[int] = []
    for entry in entries:
        found.append(entry.priority if entry.priority is not None else found[-1] + step)
    return found


def ir_priorities(symbol: r.TableSymbol, positions: Sequence[int | None]) -> list[int]:
    """Priorities of which the larger wins. ``positions`` are the entries' @priority annotations: bmv2 counts entries
    from 1, the smaller winning, unless such an annotation says otherwise."""
    if any(position is not None for position in positions):
        order = [i + 1 if position is None else position for i, position in enumerate(positions)]
        return [max(order) + 1 - number for number in order]
    written = written_priorities(symbol)
    if symbol.largest_priority_wins or not written:
        return written
    return [max(written) + min(written) - number for number in written]
