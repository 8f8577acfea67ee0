"""What commands act on: the program's view, the handles given out so far, names and numbers as people write them."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from emulator.p4runtime.entities.registry import prepare_write
from emulator.p4runtime.pipeline.schema import ActionSchema, TableSchema
from emulator.p4runtime.view import STEP, View, run_change
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.rpc.p4runtime_client import DELETE, INSERT, MODIFY
from emulator.switch.control import FieldMatch, TableEntry

__all__ = ["DELETE", "INSERT", "MODIFY"]

PRIORITY_LIMIT = 1 << 24
"""Sum of a priority here, where the smaller wins, and the switch's for the same entry, where the larger does."""

EntryKey = tuple[tuple[FieldMatch, ...], int]


class CommandError(Exception):
    """A command that cannot be carried out; the text is what bmv2's command line prints, or begins as it does."""


class Queues(Protocol):
    """Egress queues of a switch; None stands for all ports, or all priorities of a port."""

    def prepare_queues(self) -> None:
        """Compile what the first change of them needs; the data plane goes on meanwhile."""
        ...

    def set_queue_depth(self, packets: int, port: int | None, priority: int | None) -> None: ...
    def set_queue_rate(self, packets_per_s: int, port: int | None, priority: int | None) -> None: ...


@dataclass(slots=True)
class Handles:
    """Numbers of a table's entries, from 0 in the order of their coming."""

    by_handle: dict[int, EntryKey] = field(default_factory=dict)
    by_key: dict[EntryKey, int] = field(default_factory=dict)
    next: int = 0

    def of(self, key: EntryKey) -> int:
        """Handle of an entry, a new one where it has none."""
        if key not in self.by_key:
            self.by_key[key], self.by_handle[self.next] = self.next, key
            self.next += 1
        return self.by_key[key]

    def forget(self, key: EntryKey) -> None:
        handle = self.by_key.pop(key, None)
        if handle is not None:
            del self.by_handle[handle]


@dataclass(slots=True)
class Node:
    """A node of the multicast engine: copies to ports, with a replication id."""

    rid: int
    ports: tuple[int, ...]
    group: int | None = None


@dataclass(slots=True)
class State:
    """The state of one program; a new program begins with a new one."""

    view: View
    ports: Mapping[int, str]
    """Number -> spec."""
    queues: Queues
    handles: dict[int, Handles] = field(default_factory=dict)
    """Handles by table id."""
    nodes: dict[int, Node] = field(default_factory=dict)
    next_node: int = 0
    sessions: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    """(port, multicast group) of the clone sessions made by commands."""

    def write(self, kind: int, **entity: Any) -> None:
        """One update of P4Runtime, without arbitration. Raises RequestError."""
        update = p4runtime_pb2.Update(type=kind, entity=p4runtime_pb2.Entity(**entity))
        change = prepare_write(self.view, update)
        with self.view.access():
            run_change(change)

    def for_each(self, size: int, write: Callable[[int], None]) -> None:
        """``write`` of every index, some between two batches of packets."""
        for start in range(0, size, STEP):
            with self.view.access():
                for index in range(start, min(start + STEP, size)):
                    write(index)

    # --- Entries ----------------------------------------------------------------------------------------------------

    def handles_of(self, table: TableSchema) -> Handles:
        """Entries that the program declares, or that came before the first command, are numbered first."""
        if table.id not in self.handles:
            self.handles[table.id] = Handles()
            self.entries(table)
        return self.handles[table.id]

    def entries(self, table: TableSchema) -> list[tuple[int, TableEntry]]:
        """(handle, entry) of all, those of other clients included."""
        handles = self.handles.setdefault(table.id, Handles())
        entries = list(self.view.in_steps(self.view.control.entries(table.id)))
        keys = {(entry.match, entry.priority) for entry in entries}
        for key in set(handles.by_key) - keys:
            handles.forget(key)
        return sorted(((handles.of((e.match, e.priority)), e) for e in entries), key=lambda numbered: numbered[0])

    def entry(self, table: TableSchema, text: str) -> TableEntry:
        """The entry of a handle. Raises CommandError."""
        handle = number(text, "handle")
        key = self.handles_of(table).by_handle.get(handle)
        if key is None:  # perhaps another client's
            key = next(((e.match, e.priority) for h, e in self.entries(table) if h == handle), None)
        if key is None:
            raise CommandError(f"Invalid table operation (INVALID_HANDLE): table {table.name} has no entry {handle}")
        with self.view.access():
            return self.view.control.entry(table.id, TableEntry(*key, 0, ()))


# --- Names ----------------------------------------------------------------------------------------------------------


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> int: ...


N = TypeVar("N", bound=Named)


def find(kind: str, text: str, candidates: Iterable[N]) -> N:
    """The one of that name, else the only one with ``.text`` at its end. Raises CommandError."""
    every = list(candidates)
    chosen = [c for c in every if c.name == text] or [c for c in every if c.name.endswith(f".{text}")]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(c.name for c in chosen or every) or "none"
    reason = "it can be any of" if chosen else "there are"
    raise CommandError(f"Error: Invalid {kind} name ({text}): {reason} {names}")


def short_names(candidates: Iterable[Named]) -> list[str]:
    """Names for completion: the names, and their last parts where these are unique."""
    names = [c.name for c in candidates]
    ends = [name.rpartition(".")[2] for name in names]
    return sorted({*names, *(end for end in ends if ends.count(end) == 1)})


def actions_of(state: State, table: TableSchema) -> list[ActionSchema]:
    return [state.view.schema.action(number) for number in table.scopes]


# --- Numbers --------------------------------------------------------------------------------------------------------


def number(text: str, what: str) -> int:
    """Decimal, or with a prefix 0x, 0o, 0b. Raises CommandError."""
    try:
        return int(text, 0)
    except ValueError:
        if text.isdecimal():  # with zeros in front
            return int(text)
        raise CommandError(f"Error: Invalid {what}: {text} is not a number") from None


def value(text: str, width_bits: int, what: str) -> int:
    """A number, an IPv4, IPv6 or MAC address. Raises CommandError where it does not fit."""
    read = _read(text, what)
    if read < 0 and -read <= 1 << max(width_bits - 1, 0):
        read += 1 << width_bits
    if read < 0 or read >> width_bits:
        raise CommandError(f"Error: Invalid {what}: {text} does not fit in {width_bits} bits")
    return read


def _read(text: str, what: str) -> int:
    if text in ("true", "True"):
        return 1
    if text in ("false", "False"):
        return 0
    groups = text.split(":")
    try:
        if len(groups) == 6 and all(1 <= len(group) <= 2 for group in groups):
            return int.from_bytes(bytes(int(group, 16) for group in groups), "big")
        if ":" in text:
            return int(ipaddress.IPv6Address(text))
        if text.count(".") == 3:
            return int(ipaddress.IPv4Address(text))
    except ValueError:
        raise CommandError(f"Error: Invalid {what}: {text} is not an address") from None
    return number(text, what)


def shown(value_: int, width_bits: int, separator: str = "") -> str:
    """Hexadecimal digits of whole bytes."""
    whole = value_.to_bytes(max(1, (width_bits + 7) // 8), "big")
    return whole.hex(separator) if separator else whole.hex()
