"""What a control plane says to a switch: entries, groups and values by P4Info ids, plain integers throughout.

Pure data, light to import. ``Switch`` implements `Control`; the P4Runtime server is its user. Implementations may rely
on what the caller has checked against P4Info (ids, kinds, widths, masked-off bits zero) and raise `ControlError` for
what only the state tells: duplicates, absences, full tables, constant entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeAlias


class Code(IntEnum):
    """The codes of google.rpc.Code that a switch can answer."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12


class ControlError(Exception):
    """A change or a query the switch refuses; nothing has changed."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Exact:
    field_id: int
    value: int


@dataclass(frozen=True, slots=True)
class Lpm:
    field_id: int
    value: int
    prefix_len: int
    """1 .. the key's width; the rest of ``value`` is zero. An absent field is prefix length 0."""


@dataclass(frozen=True, slots=True)
class Ternary:
    field_id: int
    value: int
    mask: int
    """Not zero; ``value`` has no bit outside it. An absent field matches anything."""


FieldMatch: TypeAlias = Exact | Lpm | Ternary


@dataclass(frozen=True, slots=True)
class CounterValue:
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TableEntry:
    """``match`` (in ascending field id) and ``priority`` are the key; deletion looks at nothing else."""

    match: tuple[FieldMatch, ...]
    priority: int
    """Larger wins; 0 in tables without priorities."""
    action_id: int
    params: tuple[int, ...]
    """In declaration order of the action's parameters."""
    counter: CounterValue | None = None
    """The direct counter; None where the table has none, and on writes that leave the counter alone."""
    is_const: bool = False
    """An entry the program declares constant."""


Replicas: TypeAlias = tuple[tuple[int, int], ...]
"""(egress port, replication id), each pair once in a group."""


class Control(Protocol):
    """The caller holds the switch's ``lock``; each call takes effect between two batches."""

    def insert_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def modify_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def delete_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def entries(self, table_id: int) -> Iterable[TableEntry]: ...

    def set_default_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def reset_default_entry(self, table_id: int) -> None: ...
    def default_entry(self, table_id: int) -> TableEntry: ...

    def insert_multicast_group(self, group_id: int, replicas: Replicas) -> None: ...
    def modify_multicast_group(self, group_id: int, replicas: Replicas) -> None: ...
    def delete_multicast_group(self, group_id: int) -> None: ...
    def multicast_groups(self) -> Mapping[int, Replicas]: ...

    def read_counter(self, counter_id: int, index: int) -> CounterValue: ...
    def write_counter(self, counter_id: int, index: int, value: CounterValue) -> None: ...
    def read_register(self, register_id: int, index: int) -> int: ...
    def write_register(self, register_id: int, index: int, value: int) -> None: ...
