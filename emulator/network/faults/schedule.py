"""When faults begin and end, and what links do to frames meanwhile. No clock: the caller says what time it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from emulator.network.faults.parts import Down, Fault, Impair, Partition, Restart, Script
from emulator.ports.spec import Impairments


@dataclass(frozen=True, slots=True)
class Change:
    """A fault begins or ends."""

    time_ns: int
    fault: Fault
    begins: bool

    def __str__(self) -> str:
        kind = self.fault.kind
        if self.begins:
            return str(kind)
        return f"{kind.node} is started again" if isinstance(kind, Restart) else f"{kind}: over"


class Schedule:
    """The changes of a script in the order of time; at one time ends come before beginnings, else as in the file."""

    def __init__(self, script: Script) -> None:
        changes = [Change(fault.begin_ns, fault, True) for fault in script.faults]
        ends = [(fault, end) for fault in script.faults if (end := fault.end_ns) is not None]
        changes += [Change(end, fault, False) for fault, end in ends]
        at_once = {id(change) for change in changes if not change.begins and change.time_ns == change.fault.begin_ns}
        changes.sort(key=lambda each: (each.time_ns, each.begins or id(each) in at_once))
        self._changes = changes
        self._next = 0

    def next_time_ns(self) -> int | None:
        """When the next change is due; None: there is none."""
        return self._changes[self._next].time_ns if self._next < len(self._changes) else None

    def due(self, now_ns: int) -> list[Change]:
        """The changes until now, each once."""
        first = self._next
        while (time_ns := self.next_time_ns()) is not None and time_ns <= now_ns:
            self._next += 1
        return self._changes[first : self._next]


class LinkFaults:
    """What directed links do to frames, by the faults that have begun and not ended."""

    def __init__(self, seed: int = 0, usual: Callable[[str], Impairments] | None = None) -> None:
        """``usual``: what a link does without a fault; default: nothing."""
        self._usual = usual or (lambda name: Impairments(seed=seed))
        self._active: list[Fault] = []

    def apply(self, change: Change) -> tuple[str, ...]:
        """Take note of a change; names of the links that do something else now."""
        kind = change.fault.kind
        if not isinstance(kind, Impair | Down | Partition):
            return ()
        if change.begins:
            self._active.append(change.fault)
        else:
            self._active = [fault for fault in self._active if fault is not change.fault]
        return kind.links

    def of(self, link: str) -> Impairments:
        """What the link does to frames now."""
        found = self._usual(link)
        is_down = False
        for fault in self._active:
            if isinstance(fault.kind, Impair) and link in fault.kind.links:
                found = replace(found, **dict(fault.kind.fields))  # type: ignore[arg-type]
            is_down |= isinstance(fault.kind, Down | Partition) and link in fault.kind.links
        return replace(found, loss=1.0) if is_down else found
