"""What a control plane says to a switch: entries, groups and values by P4Info ids, plain integers throughout.

Pure data, light to import. ``Switch`` implements `Control`; the P4Runtime server is its user. Implementations may rely
on what the caller has checked against P4Info (ids, kinds, widths, masked-off bits zero) and raise `ControlError` for
what depends on the state: duplicates, absences, full tables, constant entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from emulator.v1model.control_view import KeyParts


class Code(IntEnum):
    """The codes of google.rpc.Code that a switch can answer."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
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
    """Mask, not zero; ``value`` has no bit outside it. An absent field matches anything."""


@dataclass(frozen=True, slots=True)
class Range:
    field_id: int
    low: int
    high: int
    """Included; ``low <= high``. An absent field matches anything, and so does the whole range."""


@dataclass(frozen=True, slots=True)
class Optional:
    field_id: int
    value: int
    """An absent field matches anything."""


FieldMatch: TypeAlias = Exact | Lpm | Ternary | Range | Optional


# --- What an entry leads to -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToMember:
    """Action of this member, in tables with an action profile."""

    member_id: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """In tables with an action selector: the action of the member of this group that the selector keys choose."""

    group_id: int


@dataclass(frozen=True, slots=True)
class WeightedAction:
    action_id: int
    params: tuple[int, ...]
    weight: int
    """Weight, 1 or more."""
    watch_port: int | None = None


@dataclass(frozen=True, slots=True)
class OneShot:
    """In tables with an action selector: a group made of these actions, which lives and dies with the entry."""

    actions: tuple[WeightedAction, ...]


Through: TypeAlias = ToMember | ToGroup | OneShot


Replicas: TypeAlias = tuple[tuple[int, int], ...]
"""(egress port, replication id), each pair once in a group."""


@dataclass(frozen=True, slots=True)
class CounterValue:
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Rate:
    """One token bucket, in packets or bytes as the meter's unit is. It is full when it is configured."""

    per_us: float
    """Tokens a microsecond (bmv2's unit); P4Runtime's rates are per second, see `per_second`."""
    burst: int

    @classmethod
    def per_second(cls, rate: int, burst: int) -> Rate:
        return cls(rate / 1e6, burst)


@dataclass(frozen=True, slots=True)
class MeterConfig:
    """Two-rate three-colour; ``peak.per_us >= committed.per_us``. A meter without one says green."""

    committed: Rate
    peak: Rate


MeterCounts: TypeAlias = tuple[CounterValue, CounterValue, CounterValue]
"""What a meter found green, yellow and red."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """``match`` (in ascending field id) and ``priority`` are the key; deletion looks at nothing else."""

    match: tuple[FieldMatch, ...]
    priority: int
    """Larger wins; 0 in tables without priorities."""
    action_id: int
    params: tuple[int, ...]
    """Values in declaration order of the action's parameters."""
    counter: CounterValue | None = None
    """The direct counter; None where the table has none, and on writes that leave the counter alone."""
    is_const: bool = False
    """An entry the program declares constant. A modification must say so too, and then changes all but the action."""
    through: Through | None = None
    """Member or group, exactly in tables with an action profile; ``action_id`` is then 0 and ``params`` empty."""
    meter: MeterConfig | None = None
    """The direct meter; None is unconfigured: writes set what they say, as P4Runtime's do."""
    idle_timeout_ns: int = 0
    """0: never reported idle."""
    last_hit_ns: int = 0
    """When a packet last hit the entry (the ``now_ns`` of its batch), in tables with support_timeout. Writes say from
    when its age counts."""
    meter_counts: MeterCounts | None = None
    """Counts of the direct meter; None where the table has none, and on writes that leave them alone."""


class RowKey(NamedTuple):
    """A match key as rows have it."""

    field_id: int
    match_kind: str
    width_bits: int
    anything: tuple[int, int]
    """What a key that is left out is in a row."""


class Row(NamedTuple):
    """An entry of many at a time: a `TableEntry` without direct resources and last hit."""

    keys: KeyParts
    priority: int
    action_id: int
    params: tuple[int, ...]
    through: Through | None = None
    idle_timeout_ns: int = 0
    is_const: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an action profile: an action that entries and groups refer to by number."""

    member_id: int
    action_id: int
    params: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: int
    weight: int = 1
    """Weight, 1 or more: it counts as that many members."""
    watch_port: int | None = None
    """Left out of the choice while this port is down, see `Control.set_ports_down`."""


@dataclass(frozen=True, slots=True)
class Group:
    group_id: int
    members: tuple[GroupMember, ...]
    """Each member once."""
    max_size: int = 0
    """Largest sum of weights; 0: the profile's ``max_group_size``."""


@dataclass(frozen=True, slots=True)
class CloneSession:
    session_id: int
    """1 .. 32767."""
    replicas: Replicas
    """Replicas in the order in which copies are made."""
    packet_length_bytes: int = 0
    """Clones are cut to this; 0: not at all."""


@dataclass(frozen=True, slots=True)
class ValueSetMember:
    """What a parser value set holds: for each field in order its value, or the low end of its range."""

    values: tuple[int, ...]
    seconds: tuple[int, ...] = ()
    """Mask, or high end of the range, of each field; none: each field has its one value."""


def member_part(match: FieldMatch | None, width_bits: int, is_range: bool) -> tuple[int, int]:
    """One field of a `ValueSetMember`: (value, mask), or (low, high). None matches everything."""
    ones = (1 << width_bits) - 1
    match match:
        case Exact(_, value) | Optional(_, value):
            return value, ones
        case Lpm(_, value, prefix_len):
            return value, ones ^ ones >> prefix_len
        case Ternary(_, value, mask):
            return value, mask
        case Range(_, low, high):
            return low, high
        case None:
            return 0, ones if is_range else 0


class Control(Protocol):
    """The caller holds the switch's ``lock``; each call takes effect between two batches."""

    def insert_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def modify_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def delete_entry(self, table_id: int, entry: TableEntry) -> None: ...
    def entries(self, table_id: int) -> Iterable[TableEntry]: ...
    def entry(self, table_id: int, key: TableEntry) -> TableEntry:
        """The entry with this match and priority."""
        ...

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

    def insert_member(self, profile_id: int, member: Member) -> None: ...
    def modify_member(self, profile_id: int, member: Member) -> None: ...
    def delete_member(self, profile_id: int, member_id: int) -> None: ...
    def members(self, profile_id: int) -> Iterable[Member]: ...
    def insert_group(self, profile_id: int, group: Group) -> None: ...
    def modify_group(self, profile_id: int, group: Group) -> None: ...
    def delete_group(self, profile_id: int, group_id: int) -> None: ...
    def groups(self, profile_id: int) -> Iterable[Group]: ...

    def set_ports_down(self, ports: frozenset[int]) -> None:
        """Those that are down now, for watch ports; at first, and with a new program, none is."""
        ...

    def read_meter(self, meter_id: int, index: int) -> MeterConfig | None: ...
    def write_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None: ...
    def read_meter_counts(self, meter_id: int, index: int) -> MeterCounts: ...
    def write_meter_counts(self, meter_id: int, index: int, counts: MeterCounts) -> None: ...

    def set_clone_session(self, session: CloneSession) -> None:
        """Insert or replace."""
        ...

    def delete_clone_session(self, session_id: int) -> None: ...
    def clone_sessions(self) -> Mapping[int, CloneSession]: ...

    def set_value_set(self, value_set_id: int, members: Sequence[ValueSetMember]) -> None:
        """Replace all members; RESOURCE_EXHAUSTED beyond the set's size."""
        ...

    def value_set(self, value_set_id: int) -> tuple[ValueSetMember, ...]: ...

    def has_digests(self, digest_id: int) -> bool:
        """Whether `take_digests` would find any; may be asked at any time."""
        ...

    def take_digests(self, digest_id: int, limit: int) -> list[tuple[int, ...]]:
        """Remove and return up to ``limit`` samples, oldest first: the fields of the digest's type, flattened, as
        unsigned numbers. Samples that find the queue full are counted as drops of reason "digest queue full"."""
        ...


class RowControl(Control, Protocol):
    """A control that takes and gives the entries of large tables in a form that costs little for each."""

    def row_keys(self, table_id: int) -> tuple[RowKey, ...]:
        """The table's keys in the order of rows: entries of many at a time, checked against P4Info by the caller.
        Empty: it takes none."""
        ...

    def rows(self, table_id: int) -> Iterable[Row]: ...

    def insert_row(self, table_id: int, row: Row, now_ns: int) -> None:
        """``now_ns``: from when its age counts, in tables with support_timeout."""
        ...

    def modify_row(self, table_id: int, row: Row) -> None: ...
    def delete_row(self, table_id: int, row: Row) -> None: ...
