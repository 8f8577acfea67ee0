"""Everything of a switch that outlives a packet, to compare with another switch's or with itself later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from emulator.harness.stf.names import Names
from emulator.switch.control import TableEntry
from emulator.switch.core import Switch

MOST_CELLS = 4096
"""Most compared cells of one register or counter; of larger ones as many, evenly spread."""
MOST_SAMPLES = 1 << 20


@dataclass(frozen=True, slots=True)
class State:
    """What packets change."""

    registers: dict[str, list[int]]
    counters: dict[str, list[Any]]
    entries: dict[str, list[Any]]
    """Entries with their direct counters and times."""
    digests: dict[str, list[tuple[int, ...]]]
    """Taken: they are not there a second time."""
    messages: list[str]
    """Taken as well."""
    counts: dict[str, int]

    def differences(self, other: State) -> list[str]:
        """Differences in words, at most one for each kind of thing and name."""
        found = []
        for kind in ("registers", "counters", "entries", "digests"):
            mine, theirs = getattr(self, kind), getattr(other, kind)
            found += [_first(f"{kind} of {name}", mine[name], theirs[name]) for name in mine]
        found.append(_first("messages", self.messages, other.messages))
        if self.counts != other.counts:
            found.append(f"counts: {self.counts} and {other.counts}")
        return [words for words in found if words]


def _first(what: str, mine: list[Any], theirs: list[Any]) -> str:
    for index, (a, b) in enumerate(zip(mine, theirs, strict=False)):
        if a != b:
            return f"{what}, number {index}: {a} and {b}"
    return "" if len(mine) == len(theirs) else f"{what}: {len(mine)} and {len(theirs)}"


def indices(size: int) -> range:
    """All of a small array, some of a large one."""
    return range(0, size, -(-size // MOST_CELLS) or 1)


def state_of(switch: Switch) -> State:
    """Reads, and takes what can only be taken."""
    assert switch.program is not None
    view, names = switch.program.view, Names(switch.program)
    return State(
        {r.name: [switch.read_register(r.id, i) for i in indices(r.size)] for r in view.registers},
        {c.name: [switch.read_counter(c.id, i) for i in indices(c.size)] for c in view.counters},
        {t.name: list(switch.entries(t.id)) for t in view.tables},
        {d.name: switch.take_digests(d.id, MOST_SAMPLES) for d in names.digests},
        switch.take_messages(),
        {**switch.drops, **switch.faults},
    )


def control_state(switch: Switch) -> dict[str, object]:
    """What only the control plane changes: packets must leave it alone."""
    assert switch.program is not None
    view = switch.program.view

    def bare(entry: TableEntry) -> TableEntry:
        return replace(entry, counter=None, meter_counts=None, last_hit_ns=0)

    return {
        "entries": {t.name: [bare(e) for e in switch.entries(t.id)] for t in view.tables},
        "default entries": {t.name: bare(switch.default_entry(t.id)) for t in view.tables},
        "multicast groups": switch.multicast_groups(),
        "clone sessions": switch.clone_sessions(),
    }


def transplant(source: Switch, target: Switch) -> None:
    """Registers as one switch has them into another; both run the same program."""
    assert source.program is not None
    for register in source.program.view.registers:
        for index in range(register.size):
            target.write_register(register.id, index, source.read_register(register.id, index))
