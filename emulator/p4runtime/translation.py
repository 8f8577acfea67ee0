"""Values of types with ``@p4runtime_translation``: the controller's and the data plane's.

P4Runtime, "Translation of User-Defined Types".

Messages are translated as a whole at the edge of the server: behind it values have the width of the data plane. A type
has a *rule*, by its name or URI, from a file in JSON:

    {"types": {"port_id_t": {"values": {"Ethernet0": 1, "Ethernet1": 2}},
               "vrf_id_t": {"values": {"": 0}, "allocate": true}},
     "ports": "port_id_t"}

``values`` are fixed pairs; with ``allocate`` other values get the lowest free number from 1 when they first occur, else
they are INVALID_ARGUMENT. Types without a rule: numbers stay as they are; strings are allocated, but those of ports are
decimal numbers. ``ports`` names the type of replicas' ports and watch ports; default: the type port_id_t or PortId_t,
or the one with a URI that ends in PortId_t.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, encode
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.rpc.p4protos import p4info_pb2

PORT_TYPES = ("portid", "portidt")
"""Names of port types, without underscores, in lower case."""
UNKNOWN_WIDTH_BITS = 32
"""Width of a translated string that occurs in no table, action, register or digest."""

SdnValue = int | str


class TranslationFileError(Exception):
    """The file cannot be used; the text names it and the reason."""


@dataclass(frozen=True, slots=True)
class Rule:
    """See the text of this module."""

    values: Mapping[str, int] = field(default_factory=dict)
    allocates: bool = False


@dataclass(frozen=True, slots=True)
class TranslationRules:
    types: Mapping[str, Rule] = field(default_factory=dict)
    """Rules by name or URI of the type."""
    ports: str | None = None


def read_rules(path: Path | None) -> TranslationRules:
    """None: no rules. Raises TranslationFileError."""
    if path is None:
        return TranslationRules()
    try:
        content = json.loads(path.read_text())
        types = {name: _read_rule(name, each) for name, each in content.get("types", {}).items()}
        return TranslationRules(types, content.get("ports"))
    except OSError as error:
        raise TranslationFileError(f"{path}: {error.strerror}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise TranslationFileError(f"{path}: {error}") from error


def _read_rule(name: str, content: Any) -> Rule:
    if not isinstance(content, dict) or content.keys() - {"values", "allocate"}:
        raise ValueError(f'type {name}: expected {{"values": {{VALUE: NUMBER}}, "allocate": true or false}}')
    values = {str(key): int(value) for key, value in content.get("values", {}).items()}
    if len(set(values.values())) < len(values):
        raise ValueError(f"type {name}: two values have the same number")
    return Rule(values, bool(content.get("allocate", False)))


# --- Types --------------------------------------------------------------------------------------------------------


class TypeTranslation:
    """The pairs of one type: those of its rule, and those allocated so far."""

    def __init__(self, name: str, sdn_width_bits: int, width_bits: int, rule: Rule | None, *, is_port: bool) -> None:
        """``sdn_width_bits``: 0 for strings."""
        self.name, self.sdn_width_bits, self.width_bits = name, sdn_width_bits, width_bits
        self.is_plain = rule is None and (sdn_width_bits > 0 or is_port)
        """Numbers, or decimal text of them, with no table."""
        self._allocates = rule.allocates if rule is not None else not self.is_plain
        fixed = {} if rule is None else {self._key(text): number for text, number in rule.values.items()}
        self._numbers: dict[SdnValue, int] = fixed
        self._values: dict[int, SdnValue] = {number: value for value, number in fixed.items()}
        self._next = 1

    def _key(self, text: str) -> SdnValue:
        return int(text, 0) if self.sdn_width_bits else text

    def take_over(self, older: TypeTranslation) -> None:
        """The pairs that were allocated for an earlier program."""
        for value, number in older._numbers.items():
            if number < 1 << self.width_bits and value not in self._numbers and number not in self._values:
                self._bind(value, number)

    def _bind(self, value: SdnValue, number: int) -> None:
        self._numbers[value], self._values[number] = number, value

    def to_data_plane(self, data: bytes) -> int:
        """Raises RequestError: INVALID_ARGUMENT for a value without a number, RESOURCE_EXHAUSTED if none is left."""
        value = self._sdn_value(data)
        if value in self._numbers:
            return self._numbers[value]
        if self.is_plain:
            return self._plain_number(value)
        if not self._allocates:
            raise invalid(f"{value!r} is not a value of type {self.name} that the switch's translation file has")
        number = self._free_number()
        self._bind(value, number)
        return number

    def _sdn_value(self, data: bytes) -> SdnValue:
        try:
            return decode(data, self.sdn_width_bits) if self.sdn_width_bits else data.decode()
        except (BytestringError, UnicodeDecodeError) as error:
            raise invalid(f"type {self.name}: {error}") from None

    def _plain_number(self, value: SdnValue) -> int:
        if isinstance(value, str) and not (value.isascii() and value.isdecimal() and str(int(value)) == value):
            raise invalid(
                f"{value!r} is not a port number: name the ports of type {self.name} in a file, and give it to the "
                "switch with --translation"
            )
        number = int(value)
        if number >> self.width_bits:
            raise invalid(
                f"{number} does not fit in the {self.width_bits} bits that type {self.name} has in the program"
            )
        return number

    def _free_number(self) -> int:
        while self._next in self._values:
            self._next += 1
        if self._next >> self.width_bits:
            raise RequestError(
                Code.RESOURCE_EXHAUSTED, f"all {self.width_bits}-bit numbers for values of type {self.name} are in use"
            )
        return self._next

    def to_sdn(self, number: int) -> bytes:
        """A number that no controller has named becomes its own decimal text, from then on."""
        if number not in self._values and not self.is_plain:
            text = str(number)
            self._bind(
                number if self.sdn_width_bits else text if text not in self._numbers else f"0x{number:x}", number
            )
        value = self._values.get(number, number)
        return encode(value) if self.sdn_width_bits and isinstance(value, int) else str(value).encode()


def translated_types(p4info: Any) -> dict[str, Any]:
    """The new types of a P4Info that have a translation, by name."""
    types = p4info.type_info.new_types
    return {name: types[name] for name in types if types[name].WhichOneof("representation") == "translated_type"}


def data_plane_p4info(p4info: Any, view: Any) -> Any:
    """The P4Info with the widths of the program in place of the controller's; ``view`` is its `ControlView`."""
    own = p4info_pb2.P4Info()
    own.CopyFrom(p4info)
    types = translated_types(p4info)
    widths = {name: types[name].translated_type.sdn_bitwidth or UNKNOWN_WIDTH_BITS for name in types}
    widths.update((name, width) for name, width in _program_widths(p4info, view) if name in types)
    for described in _with_type_names(own):
        if described.type_name.name in types:
            described.bitwidth = widths[described.type_name.name]
    for name in types:
        own.type_info.new_types[name].original_type.bitstring.bit.bitwidth = widths[name]
    return own


def _with_type_names(p4info: Any) -> Iterator[Any]:
    for table in p4info.tables:
        yield from table.match_fields
    for action in p4info.actions:
        yield from action.params
    for value_set in p4info.value_sets:
        yield from value_set.match
    for header in p4info.controller_packet_metadata:
        yield from header.metadata


def _program_widths(p4info: Any, view: Any) -> Iterator[tuple[str, int]]:
    """(name of a new type, width in the program), wherever the program's widths are known."""
    keys = {(table.id, key.id): key.width_bits for table in view.tables for key in table.keys}
    params = {action.id: action.widths_bits for table in view.tables for action in table.actions}
    registers = {register.id: register.width_bits for register in view.registers}
    for register in p4info.registers:
        yield from _leaves(p4info, register.type_spec, (registers.get(register.preamble.id, 0),))
    samples = {digest.id: digest.widths_bits for digest in view.digests}
    for digest in p4info.digests:
        yield from _leaves(p4info, digest.type_spec, samples.get(digest.preamble.id, ()))
    for table in p4info.tables:
        for each in table.match_fields:
            if (table.preamble.id, each.id) in keys:
                yield each.type_name.name, keys[table.preamble.id, each.id]
    for action in p4info.actions:
        for param, width in zip(action.params, params.get(action.preamble.id, ()), strict=False):
            yield param.type_name.name, width


def _leaves(p4info: Any, spec: Any, widths: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """A type's fields in order, flattened, with these widths."""
    names = [each.new_type.name for each in _flattened(p4info, spec)]
    yield from ((name, width) for name, width in zip(names, widths, strict=False) if width)


def _flattened(p4info: Any, spec: Any) -> Iterator[Any]:
    kind = spec.WhichOneof("type_spec")
    if kind == "struct":
        for member in p4info.type_info.structs[spec.struct.name].members:
            yield from _flattened(p4info, member.type_spec)
    elif kind == "tuple":
        for member in spec.tuple.members:
            yield from _flattened(p4info, member)
    elif kind == "header":
        yield from (spec for _ in p4info.type_info.headers[spec.header.name].members)
    else:
        yield spec


# --- Messages -----------------------------------------------------------------------------------------------------

Convert = Callable[[TypeTranslation, bytes], bytes]


def _inward(type_: TypeTranslation, data: bytes) -> bytes:
    return encode(type_.to_data_plane(data))


def _outward(type_: TypeTranslation, data: bytes) -> bytes:
    return type_.to_sdn(int.from_bytes(data, "big"))


class Translator:
    """Translates the messages of one program. Requests raise RequestError."""

    def __init__(self, p4info: Any, own: Any, rules: TranslationRules, older: Translator | None = None) -> None:
        """``own`` is `data_plane_p4info`; pairs that ``older`` has allocated stay."""
        types = translated_types(p4info)
        ports = next((name for name in types if _is_port(name, types[name].translated_type.uri, rules)), None)
        self.types = {
            name: TypeTranslation(
                name,
                types[name].translated_type.sdn_bitwidth,
                own.type_info.new_types[name].original_type.bitstring.bit.bitwidth,
                rules.types.get(name, rules.types.get(types[name].translated_type.uri or name)),
                is_port=name == ports,
            )
            for name in types
        }
        for name in self.types.keys() & (older.types.keys() if older is not None else ()):
            assert older is not None
            self.types[name].take_over(older.types[name])
        self._ports = self.types[ports] if ports is not None else None
        self._p4info = p4info
        self._fields = {(t.preamble.id, f.id): self._of(f) for t in p4info.tables for f in t.match_fields}
        self._fields |= {(v.preamble.id, f.id): self._of(f) for v in p4info.value_sets for f in v.match}
        self._params = {(a.preamble.id, p.id): self._of(p) for a in p4info.actions for p in a.params}
        self._metadata = {
            (header.preamble.name, each.id): self._of(each)
            for header in p4info.controller_packet_metadata
            for each in header.metadata
        }
        self._specs = {each.preamble.id: each.type_spec for each in (*p4info.registers, *p4info.digests)}

    def _of(self, described: Any) -> TypeTranslation | None:
        return self.types.get(described.type_name.name)

    def request(self, entity: Any) -> Any:
        """A copy of an entity that a controller has sent, as the data plane has it."""
        return self._converted(entity, _inward)

    def answer(self, entity: Any) -> Any:
        """A copy of an entity of the switch, as the controller has it."""
        return self._converted(entity, _outward)

    def packet_out(self, message: Any) -> Any:
        copy = type(message)()
        copy.CopyFrom(message)
        self._convert_metadata(copy, "packet_out", _inward)
        return copy

    def outgoing(self, response: Any) -> Any:
        """A StreamMessageResponse with a packet, a digest or an idle time-out; changed in place."""
        kind = response.WhichOneof("update")
        if kind == "packet":
            self._convert_metadata(response.packet, "packet_in", _outward)
        elif kind == "digest":
            for data in response.digest.data:
                self._convert_data(data, self._specs[response.digest.digest_id], _outward)
        elif kind == "idle_timeout_notification":
            for entry in response.idle_timeout_notification.table_entry:
                self._convert_entry(entry, _outward)
        return response

    def _convert_metadata(self, packet: Any, header: str, convert: Convert) -> None:
        for each in packet.metadata:
            type_ = self._metadata.get((header, each.metadata_id))
            if type_ is not None:
                each.value = convert(type_, each.value)

    # --- Entities ---------------------------------------------------------------------------------------------------

    def _converted(self, entity: Any, convert: Convert) -> Any:
        copy = type(entity)()
        copy.CopyFrom(entity)
        kind = copy.WhichOneof("entity")
        if kind == "table_entry":
            self._convert_entry(copy.table_entry, convert)
        elif kind in ("direct_counter_entry", "direct_meter_entry"):
            self._convert_entry(getattr(copy, kind).table_entry, convert)
        elif kind == "action_profile_member":
            self._convert_call(copy.action_profile_member.action, convert)
        elif kind == "action_profile_group":
            self._convert_watch_ports(copy.action_profile_group.members, convert)
        elif kind == "packet_replication_engine_entry":
            replication = copy.packet_replication_engine_entry
            for name in ("multicast_group_entry", "clone_session_entry"):
                if replication.HasField(name):
                    self._convert_replicas(getattr(replication, name).replicas, convert)
        elif kind == "value_set_entry":
            for member in copy.value_set_entry.members:
                self._convert_match(copy.value_set_entry.value_set_id, member.match, convert)
        elif kind == "register_entry":
            spec = self._specs.get(copy.register_entry.register_id)
            if spec is not None and copy.register_entry.HasField("data"):
                self._convert_data(copy.register_entry.data, spec, convert)
        return copy

    def _convert_entry(self, entry: Any, convert: Convert) -> None:
        self._convert_match(entry.table_id, entry.match, convert)
        kind = entry.action.WhichOneof("type")
        if kind == "action":
            self._convert_call(entry.action.action, convert)
        elif kind == "action_profile_action_set":
            actions = entry.action.action_profile_action_set.action_profile_actions
            self._convert_watch_ports(actions, convert)
            for each in actions:
                self._convert_call(each.action, convert)

    def _convert_call(self, call: Any, convert: Convert) -> None:
        for param in call.params:
            type_ = self._params.get((call.action_id, param.param_id))
            if type_ is not None:
                param.value = convert(type_, param.value)

    def _convert_match(self, owner: int, match: Any, convert: Convert) -> None:
        for each in match:
            type_ = self._fields.get((owner, each.field_id))
            if type_ is not None:
                _convert_field(type_, each, convert)

    def _convert_watch_ports(self, watching: Any, convert: Convert) -> None:
        for each in watching:
            if self._ports is not None and each.WhichOneof("watch_kind") == "watch_port" and each.watch_port:
                each.watch_port = convert(self._ports, each.watch_port)

    def _convert_replicas(self, replicas: Any, convert: Convert) -> None:
        for each in replicas:
            if self._ports is not None and "port" in each.DESCRIPTOR.fields_by_name and each.port:
                each.port = convert(self._ports, each.port)
            if "backup_replicas" in each.DESCRIPTOR.fields_by_name:
                self._convert_replicas(each.backup_replicas, convert)

    def _convert_data(self, data: Any, spec: Any, convert: Convert) -> None:
        kind = spec.WhichOneof("type_spec")
        if kind == "struct":
            members = self._p4info.type_info.structs[spec.struct.name].members
            for value, member in zip(data.struct.members, members, strict=False):
                self._convert_data(value, member.type_spec, convert)
        elif kind == "tuple":
            for value, member in zip(data.tuple.members, spec.tuple.members, strict=False):
                self._convert_data(value, member, convert)
        elif kind == "new_type" and spec.new_type.name in self.types and data.WhichOneof("data") == "bitstring":
            data.bitstring = convert(self.types[spec.new_type.name], data.bitstring)


def _is_port(name: str, uri: str, rules: TranslationRules) -> bool:
    if rules.ports is not None:
        return rules.ports in (name, uri)
    return name.replace("_", "").lower() in PORT_TYPES or uri.endswith("PortId_t")


def _convert_field(type_: TypeTranslation, match: Any, convert: Convert) -> None:
    kind = match.WhichOneof("field_match_type")
    if kind in ("exact", "optional"):
        value = getattr(match, kind)
        value.value = convert(type_, value.value)
    elif kind is not None:
        if not (type_.is_plain and type_.sdn_width_bits):
            raise RequestError(
                Code.UNIMPLEMENTED, f"a {kind} key of type {type_.name}, whose values are translated, is not supported"
            )
        _convert_mask(type_, match, kind, inward=convert is _inward)


def _convert_mask(type_: TypeTranslation, match: Any, kind: str, *, inward: bool) -> None:
    """Numbers that only differ in width: the bits above the program's are 0 in values and 1 in masks and prefixes."""
    above = type_.sdn_width_bits - type_.width_bits
    if kind == "lpm":
        match.lpm.prefix_len += -above if inward else above
        if inward and match.lpm.prefix_len <= 0:
            raise invalid(f"type {type_.name}: the prefix must cover the {above} bits that the program does not have")
    elif kind == "ternary":
        full, own = (1 << type_.sdn_width_bits) - 1, (1 << type_.width_bits) - 1
        mask = int.from_bytes(match.ternary.mask, "big")
        if mask == (full if inward else own):
            match.ternary.mask = encode(own if inward else full)
