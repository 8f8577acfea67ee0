"""What a P4Info says, in the form the server asks for: by id, immutable, with names for error messages.

Everything that is addressed over P4Runtime is looked up here first, so the messages for wrong ids are in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from emulator.p4.protos import p4info_pb2
from emulator.p4runtime.errors import Code, RequestError, invalid


class MatchKind(Enum):
    EXACT = "exact"
    LPM = "lpm"
    TERNARY = "ternary"
    RANGE = "range"
    OPTIONAL = "optional"
    OTHER = "other"


KINDS_WITH_PRIORITY = frozenset({MatchKind.TERNARY, MatchKind.RANGE, MatchKind.OPTIONAL})


@dataclass(frozen=True, slots=True)
class FieldSchema:
    id: int
    name: str
    width_bits: int
    kind: MatchKind


@dataclass(frozen=True, slots=True)
class ParameterSchema:
    id: int
    name: str
    width_bits: int


@dataclass(frozen=True, slots=True)
class ActionSchema:
    id: int
    name: str
    parameters: tuple[ParameterSchema, ...]
    """In declaration order, which is the order the switch takes values in."""


class Scope(Enum):
    TABLE_AND_DEFAULT = 0
    TABLE_ONLY = 1
    DEFAULT_ONLY = 2


@dataclass(frozen=True, slots=True)
class TableSchema:
    id: int
    name: str
    fields: Mapping[int, FieldSchema]
    """By id, in key order."""
    scopes: Mapping[int, Scope]
    """Allowed actions: id -> where the action may stand."""
    size: int
    is_const: bool
    default_is_const: bool
    direct_counter_id: int
    """0 without a direct counter."""
    implementation_id: int
    """Action profile or selector; 0 for a direct table."""
    has_idle_timeout: bool

    @property
    def needs_priority(self) -> bool:
        return any(field.kind in KINDS_WITH_PRIORITY for field in self.fields.values())


@dataclass(frozen=True, slots=True)
class CounterSchema:
    id: int
    name: str
    size: int
    counts_packets: bool
    counts_bytes: bool


@dataclass(frozen=True, slots=True)
class RegisterSchema:
    id: int
    name: str
    size: int
    width_bits: int
    """0 when the elements are not ``bit``, ``int`` or ``bool``."""
    signed: bool
    is_bool: bool


@dataclass(frozen=True, slots=True)
class Schema:
    tables: Mapping[int, TableSchema]
    actions: Mapping[int, ActionSchema]
    counters: Mapping[int, CounterSchema]
    direct_counters: Mapping[int, CounterSchema]
    registers: Mapping[int, RegisterSchema]

    def table(self, table_id: int) -> TableSchema:
        return _find(self.tables, table_id, "table")

    def action(self, action_id: int) -> ActionSchema:
        return _find(self.actions, action_id, "action")

    def counter(self, counter_id: int) -> CounterSchema:
        return _find(self.counters, counter_id, "counter")

    def register(self, register_id: int) -> RegisterSchema:
        return _find(self.registers, register_id, "register")


_S = TypeVar("_S")


def _find(schemas: Mapping[int, _S], wanted_id: int, kind: str) -> _S:
    if wanted_id == 0:
        raise invalid(f"{kind} id 0 is not valid here")
    if wanted_id not in schemas:
        # Ids of P4 objects come from P4Info, which both sides have: a wrong one is a malformed request. PI answers
        # NOT_FOUND for some kinds and INVALID_ARGUMENT for others; the specification names only the latter.
        raise invalid(f"the program has no {kind} with id 0x{wanted_id:08x}")
    return schemas[wanted_id]


def build_schema(p4info: Any) -> Schema:
    """Index a p4.config.v1.P4Info."""
    return Schema(
        tables={table.preamble.id: _table(table) for table in p4info.tables},
        actions={action.preamble.id: _action(action) for action in p4info.actions},
        counters={c.preamble.id: _counter(c, c.size) for c in p4info.counters},
        direct_counters={c.preamble.id: _counter(c, 0) for c in p4info.direct_counters},
        registers={register.preamble.id: _register(register) for register in p4info.registers},
    )


def _table(table: Any) -> TableSchema:
    counter_ids = [i for i in table.direct_resource_ids if i >> 24 == p4info_pb2.P4Ids.DIRECT_COUNTER]
    return TableSchema(
        id=table.preamble.id,
        name=table.preamble.name,
        fields={f.id: FieldSchema(f.id, f.name, f.bitwidth, _match_kind(f)) for f in table.match_fields},
        scopes={ref.id: Scope(ref.scope) for ref in table.action_refs},
        size=table.size,
        is_const=table.is_const_table,
        default_is_const=table.const_default_action_id != 0,
        direct_counter_id=counter_ids[0] if counter_ids else 0,
        implementation_id=table.implementation_id,
        has_idle_timeout=table.idle_timeout_behavior == p4info_pb2.Table.NOTIFY_CONTROL,
    )


def _match_kind(match_field: Any) -> MatchKind:
    name = p4info_pb2.MatchField.MatchType.Name(match_field.match_type)
    return MatchKind[name] if name in MatchKind.__members__ else MatchKind.OTHER


def _action(action: Any) -> ActionSchema:
    parameters = tuple(ParameterSchema(p.id, p.name, p.bitwidth) for p in action.params)
    return ActionSchema(action.preamble.id, action.preamble.name, parameters)


def _counter(counter: Any, size: int) -> CounterSchema:
    unit = counter.spec.unit
    return CounterSchema(
        counter.preamble.id,
        counter.preamble.name,
        size,
        counts_packets=unit != p4info_pb2.CounterSpec.BYTES,
        counts_bytes=unit != p4info_pb2.CounterSpec.PACKETS,
    )


def _register(register: Any) -> RegisterSchema:
    spec = register.type_spec
    kind = spec.WhichOneof("type_spec")
    width_bits, signed = 0, False
    if kind == "bitstring" and spec.bitstring.WhichOneof("type_spec") in ("bit", "int"):
        signed = spec.bitstring.HasField("int")
        width_bits = spec.bitstring.int.bitwidth if signed else spec.bitstring.bit.bitwidth
    elif kind == "bool":
        width_bits = 1
    return RegisterSchema(
        register.preamble.id, register.preamble.name, register.size, width_bits, signed, is_bool=kind == "bool"
    )


def check_agreement(own: Any, given: Any) -> None:
    """A P4Info sent along with a program must describe that program: raises INVALID_ARGUMENT at the first difference.

    Compared is what messages are encoded by (ids, names, widths, kinds, actions, sizes); annotations, documentation
    and order may differ, as they do between compilers.
    """
    own_schema, given_schema = build_schema(own), build_schema(given)
    for kind in Schema.__slots__:
        ours, theirs = getattr(own_schema, kind), getattr(given_schema, kind)
        for object_id in sorted(ours.keys() | theirs.keys()):
            _check_same(kind.removesuffix("s").replace("_", " "), object_id, ours.get(object_id), theirs.get(object_id))


def _check_same(kind: str, object_id: int, ours: Any, theirs: Any) -> None:
    if ours == theirs:
        return
    if ours is None or theirs is None:
        present = theirs or ours
        where = "the P4Info given, not in the program" if ours is None else "the program, not in the P4Info given"
        raise invalid(f"P4Info and program disagree: {kind} {present.name} (id 0x{object_id:08x}) is in {where}")
    attribute = next(a for a in type(ours).__slots__ if getattr(ours, a) != getattr(theirs, a))
    raise invalid(
        f"P4Info and program disagree: {kind} {ours.name} has {attribute} {getattr(theirs, attribute)} in the P4Info "
        f"given and {getattr(ours, attribute)} in the program"
    )


def check_index(index: int, size: int, name: str) -> None:
    """INVALID_ARGUMENT for a negative index, OUT_OF_RANGE beyond the array (P4Runtime, "CounterEntry")."""
    if index < 0:
        raise invalid(f"{name}: index {index} is negative")
    if index >= size:
        raise RequestError(Code.OUT_OF_RANGE, f"{name}: index {index} is beyond the array, which has {size} elements")
