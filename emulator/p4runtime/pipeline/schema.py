"""A P4Info as the server uses it: indexed by id, immutable, with names for error messages.

Everything that is addressed over P4Runtime is looked up here first, so the messages for wrong ids are in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from emulator.p4runtime.errors import Code, RequestError, invalid


class MatchKind(Enum):
    EXACT = "exact"
    LPM = "lpm"
    TERNARY = "ternary"
    RANGE = "range"
    OPTIONAL = "optional"
    OTHER = "other"


KINDS_WITH_PRIORITY = frozenset({MatchKind.TERNARY, MatchKind.RANGE, MatchKind.OPTIONAL})


@dataclass(frozen=True)
class FieldSchema:
    id: int
    name: str
    width_bits: int
    kind: MatchKind

    @cached_property
    def message_name(self) -> str:
        """What a FieldMatch calls the kind. (Members of an enum are slow to ask, and this is asked for every entry.)"""
        return self.kind.value


@dataclass(frozen=True, slots=True)
class ParameterSchema:
    id: int
    name: str
    width_bits: int


@dataclass(frozen=True)
class ActionSchema:
    id: int
    name: str
    parameters: tuple[ParameterSchema, ...]
    """Parameters in declaration order, which is the order the switch takes values in."""

    @cached_property
    def by_id(self) -> Mapping[int, ParameterSchema]:
        return {parameter.id: parameter for parameter in self.parameters}


class Scope(Enum):
    TABLE_AND_DEFAULT = 0
    TABLE_ONLY = 1
    DEFAULT_ONLY = 2


@dataclass(frozen=True)
class TableSchema:
    id: int
    name: str
    fields: Mapping[int, FieldSchema]
    """Fields by id, in key order."""
    scopes: Mapping[int, Scope]
    """Allowed actions: id -> where the action may be used."""
    size: int
    is_const: bool
    default_is_const: bool
    direct_counter_id: int
    """0 without a direct counter."""
    direct_meter_id: int
    """0 without a direct meter."""
    implementation_id: int
    """Action profile or selector; 0 for a direct table."""
    has_idle_timeout: bool

    @cached_property
    def needs_priority(self) -> bool:
        return any(field.kind in KINDS_WITH_PRIORITY for field in self.fields.values())


@dataclass(frozen=True, slots=True)
class CounterSchema:
    id: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class RegisterSchema:
    id: int
    name: str
    size: int
    type_spec: Any
    """p4.config.v1.P4DataTypeSpec"""


@dataclass(frozen=True, slots=True)
class ProfileSchema:
    """An action profile, or an action selector."""

    id: int
    name: str
    table_ids: tuple[int, ...]
    has_groups: bool
    """It is a selector."""
    size: int
    max_group_size: int
    """0: no limit but the switch's."""
    counts_members: bool
    """Sizes are numbers of members, else sums of weights."""
    max_member_weight: int


@dataclass(frozen=True, slots=True)
class MeterSchema:
    id: int
    name: str
    size: int
    """0 for a direct meter."""
    is_two_rate: bool


@dataclass(frozen=True, slots=True)
class ValueSetSchema:
    id: int
    name: str
    fields: Mapping[int, FieldSchema]
    size: int


@dataclass(frozen=True, slots=True)
class DigestSchema:
    id: int
    name: str
    type_spec: Any
    """p4.config.v1.P4DataTypeSpec"""


@dataclass(frozen=True, slots=True)
class PacketHeaderSchema:
    """What travels with packets to and from the controller."""

    id: int
    name: str
    """``packet_in`` or ``packet_out``."""
    fields: tuple[ParameterSchema, ...]
    """Fields from the first bit of the header to its last."""


@dataclass(frozen=True, slots=True)
class Schema:
    tables: Mapping[int, TableSchema]
    actions: Mapping[int, ActionSchema]
    counters: Mapping[int, CounterSchema]
    direct_counters: Mapping[int, CounterSchema]
    registers: Mapping[int, RegisterSchema]
    profiles: Mapping[int, ProfileSchema]
    meters: Mapping[int, MeterSchema]
    direct_meters: Mapping[int, MeterSchema]
    value_sets: Mapping[int, ValueSetSchema]
    digests: Mapping[int, DigestSchema]
    packet_headers: Mapping[int, PacketHeaderSchema]
    types: Any
    """p4.config.v1.P4TypeInfo"""
    removed: Mapping[int, str] = field(default_factory=dict)
    """Names of the objects in P4Info that the device config lacks, because its compiler found no use for them."""

    def table(self, table_id: int) -> TableSchema:
        return _find(self.tables, table_id, "table", self.removed)

    def action(self, action_id: int) -> ActionSchema:
        return _find(self.actions, action_id, "action", self.removed)

    def counter(self, counter_id: int) -> CounterSchema:
        return _find(self.counters, counter_id, "counter", self.removed)

    def register(self, register_id: int) -> RegisterSchema:
        return _find(self.registers, register_id, "register", self.removed)

    def profile(self, profile_id: int) -> ProfileSchema:
        return _find(self.profiles, profile_id, "action profile", self.removed)

    def meter(self, meter_id: int) -> MeterSchema:
        return _find(self.meters, meter_id, "meter", self.removed)

    def value_set(self, value_set_id: int) -> ValueSetSchema:
        return _find(self.value_sets, value_set_id, "value set", self.removed)

    def digest(self, digest_id: int) -> DigestSchema:
        return _find(self.digests, digest_id, "digest", self.removed)

    def packet_header(self, name: str) -> PacketHeaderSchema | None:
        return next((header for header in self.packet_headers.values() if header.name == name), None)


_S = TypeVar("_S")


def _find(schemas: Mapping[int, _S], object_id: int, kind: str, removed: Mapping[int, str]) -> _S:
    if object_id == 0:
        raise invalid(f"{kind} id 0 is not valid here")
    if object_id in removed:
        where = "is in P4Info, but the compiler removed it from the device config"
        raise RequestError(Code.NOT_FOUND, f"{kind} {removed[object_id]} {where}")
    if object_id not in schemas:
        # Ids of P4 objects come from P4Info, which both sides have: a wrong one is a malformed request. PI answers
        # NOT_FOUND for some kinds and INVALID_ARGUMENT for others; the specification names only the latter.
        raise invalid(f"the program has no {kind} with id 0x{object_id:08x}")
    return schemas[object_id]


def check_index(index: int, size: int, name: str) -> None:
    """INVALID_ARGUMENT for a negative index, OUT_OF_RANGE beyond the array (P4Runtime, "CounterEntry")."""
    if index < 0:
        raise invalid(f"{name}: index {index} is negative")
    if index >= size:
        raise RequestError(Code.OUT_OF_RANGE, f"{name}: index {index} is beyond the array, which has {size} elements")
