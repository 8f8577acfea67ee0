"""Priorities of a table's entries (section 14.2.1.4).

Where the specification is silent, as in p4c: frontends/p4/entryPriorities.cpp and backends/bmv2/common/control.h.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4.check import resolved as r


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
