"""The commands of a test as data. Names and numbers are as written: what they mean depends on the program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

# --- Packets ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packet:
    line: int
    port: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Expect:
    line: int
    port: int
    nibbles: str
    """Lower-case hex digits and ``*`` for any."""
    whole: bool
    """Nothing may follow the nibbles (a ``$`` at the end); else they are a prefix."""


@dataclass(frozen=True, slots=True)
class NoPacket:
    """Nothing may leave by the port (any port: None) but what the test expects there."""

    line: int
    port: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    line: int
    duration_ns: int


# --- Tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """One key of an entry, or field of a value set: ``value``, ``value/length``, ``value&&&mask`` or ``value..high``;
    digits as written."""

    line: int
    key: str
    value: str
    length: str | None = None
    mask: str | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    action: str
    arguments: tuple[tuple[str, str], ...]
    """(parameter, number as written); all parameters are empty where the test names none: then they are in order."""


@dataclass(frozen=True, slots=True)
class MemberOf:
    """The action is a member, or a group, of the table's action profile; ``handle`` as the test named it."""

    handle: str
    is_group: bool


@dataclass(frozen=True, slots=True)
class Add:
    line: int
    table: str
    priority: int | None
    matches: tuple[Match, ...]
    action: Call | MemberOf
    handle: str | None
    """Name for the entry, for ``remove`` and direct counters."""


@dataclass(frozen=True, slots=True)
class SetDefault:
    line: int
    table: str
    action: Call


@dataclass(frozen=True, slots=True)
class Remove:
    line: int
    handle: str | None
    """None: all entries that the test has added."""


@dataclass(frozen=True, slots=True)
class AddMember:
    line: int
    profile: str
    action: Call
    handle: str


@dataclass(frozen=True, slots=True)
class AddGroup:
    line: int
    profile: str
    members: tuple[tuple[str, int], ...]
    """(member's handle, weight)."""
    handle: str


@dataclass(frozen=True, slots=True)
class AddValue:
    """A member of a parser value set."""

    line: int
    value_set: str
    fields: tuple[Match, ...]
    """Values by the field's name; an empty name where the set is of plain values."""


# --- Looking at state ---------------------------------------------------------------------------------------------


class Unit(Enum):
    PACKETS = "packets"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class CheckCounter:
    line: int
    counter: str
    index: str
    """A number, or the handle of an entry with a direct counter."""
    unit: Unit
    operator: str
    value: int


@dataclass(frozen=True, slots=True)
class CheckRegister:
    line: int
    register: str
    index: int
    operator: str
    value: int


Rate: TypeAlias = tuple[str, int]
"""(units per microsecond as written, burst in units)."""


@dataclass(frozen=True, slots=True)
class CheckMeter:
    """The committed and the peak rate of a cell, as configured; None: it has none."""

    line: int
    meter: str
    index: str
    rates: tuple[Rate, Rate] | None


@dataclass(frozen=True, slots=True)
class CheckDigest:
    """The oldest sample not looked at yet has these values, all fields in a row; None: there is none left."""

    line: int
    digest: str
    values: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class CheckLog:
    """The oldest log_msg not looked at yet; None: there is none left."""

    line: int
    message: str | None


@dataclass(frozen=True, slots=True)
class CheckCount:
    """How often the switch dropped something for that reason, or did something without effect; in its own words."""

    line: int
    words: str
    operator: str
    value: int


# --- bmv2's command line --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CliCommand:
    """A line that p4c's driver hands to bmv2's command line."""

    line: int
    name: str
    arguments: tuple[int | str | Rate, ...]


Command: TypeAlias = (
    Packet
    | Expect
    | NoPacket
    | Wait
    | Add
    | SetDefault
    | Remove
    | AddMember
    | AddGroup
    | AddValue
    | CheckCounter
    | CheckRegister
    | CheckMeter
    | CheckDigest
    | CheckLog
    | CheckCount
    | CliCommand
)


@dataclass(frozen=True, slots=True)
class Script:
    """All commands of a test file, in its order."""

    commands: tuple[Command, ...]
