"""Keysets of selects and of tables' entries, and the entries' priorities (sections 8.15, 13.6, 14.2.1.4)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4.check import coerce, constants
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail, refuse
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s


def matched_bits(keyset: r.Expr) -> tuple[int, int] | None:
    """(value, mask) of a keyset that is known now; None for others and for ranges."""
    if isinstance(keyset, r.DontCare):
        return 0, 0
    if isinstance(keyset, r.Literal):
        return int(keyset.value), -1
    if isinstance(keyset, r.Mask) and isinstance(keyset.value, r.Literal) and isinstance(keyset.mask, r.Literal):
        ones = (1 << (t.width_bits(keyset.value.type) or 0)) - 1
        mask = int(keyset.mask.value) & ones
        return int(keyset.value.value) & mask, -1 if mask == ones else mask
    return None


def element(cx: Context, node: s.Expr, target: t.Type, what: str, *, must_be_known: bool = True) -> r.Expr:
    """One element of a keyset, for a key of that type; ``what`` holds it."""
    if isinstance(node, s.DontCare):
        return r.DontCare(node.at, target)
    found = cx.value(node)
    if isinstance(found, r.Mask | r.Range):
        return _set_for(cx, node, found, target, what, must_be_known)
    if isinstance(found.type, t.SetType):
        fail(cx, node, f"{what}: a value set is not allowed here")
    return _known(cx, coerce.assign(cx, found, target, node, what), node, what, must_be_known)


def _set_for(
    cx: Context, node: s.Expr, found: r.Mask | r.Range, target: t.Type, what: str, must_be_known: bool
) -> r.Mask | r.Range:
    base = t.unwrapped(target)
    if base is t.UNKNOWN:
        raise Abandoned
    if not isinstance(base, t.BitsType):
        fail(cx, node, f"{what}: a mask or range cannot match a key of type {target}")
    parts = (found.value, found.mask) if isinstance(found, r.Mask) else (found.low, found.high)
    first, second = (_known(cx, coerce.assign(cx, p, base, node, what), node, what, must_be_known) for p in parts)
    if isinstance(found, r.Mask):
        return r.Mask(node.at, t.set_of(base), first, second)
    if isinstance(first, r.Literal) and isinstance(second, r.Literal) and first.value > second.value:
        fail(cx, node, f"{what}: the range {first.value}..{second.value} is empty", Kind.CONSTANT)
    return r.Range(node.at, t.set_of(base), first, second)


def _known(cx: Context, value: r.Expr, node: s.Expr, what: str, must_be_known: bool) -> r.Expr:
    if value.type is t.UNKNOWN:
        raise Abandoned
    if must_be_known and not constants.is_known(value):
        fail(cx, node, f"{what}: the value must be known at compile time", Kind.CONSTANT)
    return value


def check_match_kind(cx: Context, node: s.Expr, key: r.KeyElement, found: r.Expr) -> None:
    """What the target cannot match with a key of its match kind: the language leaves that to targets."""
    kind = key.match_kind
    if isinstance(found, r.Range) and kind != "range":
        refuse(cx, node, f"a range for a key of kind {kind!r}")
    if isinstance(found, r.Mask | r.DontCare) and kind == "exact":
        refuse(cx, node, "a set of values for a key of kind 'exact'")
    if isinstance(found, r.Mask) and kind in ("range", "optional"):
        refuse(cx, node, f"a mask for a key of kind {kind!r}")
    if isinstance(found, r.Mask) and kind == "lpm" and isinstance(found.mask, r.Literal):
        width = t.width_bits(key.value.type) or 32
        free = ~found.mask.value & ((1 << width) - 1)
        if free & (free + 1):
            refuse(cx, node, "a mask that is not a prefix (ones, then zeros) for a key of kind 'lpm'")


# --- priorities --------------------------------------------------------------------------------------------------
#
# Where the specification is silent, as in p4c: frontends/p4/entryPriorities.cpp, backends/bmv2/common/control.h.


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
