"""P4Info from a lowered program, as p4c writes it (p4runtime 1.4's p4info.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4 import ir
from emulator.p4 import p4info_ids as ids
from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.architecture import Architecture
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.key_names import annotation_text
from emulator.p4.lexer import integer_value
from emulator.p4.lower import Lowered
from emulator.p4.lower_blocks import ActionRecord, BlockInstance, ExternRecord, TableRecord
from emulator.p4.p4info_types import TypeInfo
from emulator.p4.protos import p4info_pb2
from emulator.p4.reporting import Reporter
from emulator.p4.source import Tokens

_EXTERN_PREFIXES = {
    "counter": ids.COUNTER, "direct_counter": ids.DIRECT_COUNTER, "meter": ids.METER,
    "direct_meter": ids.DIRECT_METER, "register": ids.REGISTER, "action_profile": ids.ACTION_PROFILE,
    "action_selector": ids.ACTION_PROFILE,
}  # fmt: skip
_NOT_COPIED = frozenset(("name", "id", "brief", "description", "hidden", "pkginfo", "platform_property"))
_UNITS = {"packets": "PACKETS", "bytes": "BYTES", "packets_and_bytes": "BOTH"}


def make_p4info(
    lowered: Lowered, program: r.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
) -> Any:
    """The P4Info message."""
    return _Maker(lowered, program, tokens, diagnostics, architecture).make()


class _Maker(Reporter):
    def __init__(
        self, lowered: Lowered, program: r.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture
    ) -> None:
        super().__init__(tokens, diagnostics)
        self.lowered = lowered
        self.main = program.main
        self.architecture = architecture
        self.info = p4info_pb2.P4Info()
        self.types = TypeInfo(self)
        self.externs = list(self._externs())
        self.tables = [record for record in self._records(TableRecord) if not self._hidden(record.symbol.annotations)]
        self.actions = list(self._actions())
        self.ids = self._assign()
        self.aliases = ids.aliases(name for _, name in self.ids)
        self.attached = self._attached()

    # --- what there is -------------------------------------------------------------------------------------------

    def _instances(self) -> Iterator[BlockInstance]:
        """Controls in the package's order; an inlined one stands where its declaration does (see `_members`)."""
        for _, instance in self.lowered.blocks:
            yield instance

    def _members(self, instance: BlockInstance) -> Iterator[Any]:
        for member in instance.members:
            if isinstance(member, BlockInstance):
                yield from self._members(member)
            else:
                yield member

    def _records(self, kind: type) -> Iterator[Any]:
        for instance in self._instances():
            for member in self._members(instance):
                if isinstance(member, kind) and getattr(member, "table", member) is not None:
                    yield member

    def _externs(self) -> Iterator[ExternRecord]:
        yield from self.lowered.globals
        yield from self._records(ExternRecord)

    def _actions(self) -> Iterator[ActionRecord]:
        """For each control: the top-level actions it uses first, then its own, in declaration order."""
        seen: set[str] = set()
        global_by_symbol = {record.symbol: record for record in self.lowered.global_actions}
        for instance in self._instances():
            used: list[ActionRecord] = []
            own: list[ActionRecord] = []
            for member in self._members(instance):
                if isinstance(member, ActionRecord) and member.action is not None:
                    own.append(member)
                elif isinstance(member, TableRecord) and member.table is not None:
                    found = [global_by_symbol.get(listed.action) for listed in member.symbol.actions]
                    used.extend(record for record in found if record is not None)
            for record in (*used, *own):
                if record.name not in seen and not self._hidden(record.symbol.annotations):
                    seen.add(record.name)
                    yield record

    @staticmethod
    def _hidden(annotations: s.Annotations) -> bool:
        return any(a.name == "hidden" for a in annotations)

    def _assign(self) -> dict[tuple[int, str], int]:
        named: dict[int, list[str]] = {}
        explicit: dict[tuple[int, str], int] = {}
        for prefix, name, written, at in self._named():
            named.setdefault(prefix, []).append(name)
            number = self._explicit_id(written, prefix)
            if number is not None:
                if number in explicit.values():
                    self.report(at, f"@id({number:#x}) is used twice", Kind.DUPLICATE)
                explicit[prefix, name] = number
        return ids.assign_ids(named, explicit)

    def _named(self) -> Iterator[tuple[int, str, s.Annotations, int]]:
        for action in self.actions:
            yield ids.ACTION, action.name, action.symbol.annotations, action.symbol.at
        for table in self.tables:
            yield ids.TABLE, table.name, table.symbol.annotations, table.symbol.at
        for extern in self.externs:
            prefix = _EXTERN_PREFIXES.get(extern.instance.extern)
            if prefix is not None:
                yield prefix, extern.instance.name, extern.symbol.annotations, extern.symbol.at

    def _explicit_id(self, annotations: s.Annotations, prefix: int) -> int | None:
        for annotation in annotations:
            if annotation.name == "id" and annotation.tokens:
                literal = integer_value(annotation.tokens[0])
                if literal is None or len(annotation.tokens) != 1:
                    self.report(annotation, "@id takes one unsigned number")
                    return None
                number = literal[0] if literal[0] >> 24 else prefix << 24 | literal[0]
                if number >> 24 != prefix:
                    self.report(annotation, f"@id({number:#x}): wrong 8-bit prefix, it must be {prefix:#04x}")
                return number
        return None

    def _attached(self) -> dict[str, TableRecord]:
        """Direct resources to the table they belong to."""
        found: dict[str, TableRecord] = {}
        for record in self.tables:
            assert record.table is not None
            for instance in record.table.attached:
                if instance.name in found:
                    at = next(iter(record.symbol.properties.values()))[1]
                    text = f"{instance.name} belongs to table {found[instance.name].name} already"
                    self.report(at, text, Kind.TARGET)
                found.setdefault(instance.name, record)
        return found

    # --- the message ---------------------------------------------------------------------------------------------

    def make(self) -> Any:
        self._package()
        for record in self.tables:
            self._guarded(self._table, record)
        for action in self.actions:
            self._guarded(self._action, action)
        for extern in self.externs:
            if extern.instance.extern not in ("direct_counter", "direct_meter"):
                self._guarded(self._extern, extern)
        by_name = {extern.instance.name: extern for extern in self.externs}
        for name in self.attached:  # in the order of their tables
            self._guarded(self._extern, by_name[name])
        has_parameters = any(p for a in self.info.actions for p in a.params)
        if self.info.tables or has_parameters or self.externs or self._calls_extern():
            self.info.type_info.SetInParent()
        return self.info

    def _guarded(self, make: Any, record: Any) -> None:
        try:
            make(record)
        except Abandoned:
            return

    def _calls_extern(self) -> bool:
        def calls(block: ir.Block) -> bool:
            for statement in block:
                if isinstance(statement, ir.CallExtern):
                    return True
                for name in ("then", "otherwise", "body", "default"):
                    if calls(getattr(statement, name, ())):
                        return True
                if isinstance(statement, ir.Switch) and any(calls(c.body) for c in statement.cases):
                    return True
            return False

        blocks = [b.body for _, b in self.lowered.program.blocks if isinstance(b, ir.Control)]
        return any(calls(b) for b in (*blocks, *(a.body for a in self.lowered.program.actions)))

    def _package(self) -> None:
        self.info.pkg_info.arch = self.architecture.name
        if self.main is None:
            return
        for annotation in self.main.annotations:
            if annotation.name == "pkginfo":
                self._package_info(annotation)
            elif annotation.name not in _NOT_COPIED:
                self.info.pkg_info.annotations.append(annotation_line(annotation))

    def _package_info(self, annotation: s.Annotation) -> None:
        tokens = annotation.tokens or ()
        for i, token in enumerate(tokens):
            if token == "=" and 0 < i < len(tokens) - 1:
                key, value = tokens[i - 1], tokens[i + 1].strip('"')
                if key in ("name", "version", "organization", "url", "contact", "arch"):
                    setattr(self.info.pkg_info, "organization" if key == "organization" else key, value)
                else:
                    self.warn(annotation, f"@pkginfo: the key {key!r} is not known")

    def _preamble(self, preamble: Any, prefix: int, name: str, annotations: s.Annotations) -> None:
        preamble.id = self.ids[prefix, name]
        preamble.name = name
        preamble.alias = self.aliases[name]
        self._annotations(preamble, annotations)

    def _annotations(self, message: Any, annotations: s.Annotations) -> None:
        for annotation in annotations:
            if annotation.name not in _NOT_COPIED:
                message.annotations.append(annotation_line(annotation))
        for key in ("brief", "description"):
            text = annotation_text(annotations, key)
            if text is not None:
                setattr(message.doc, key, text)

    # --- tables and actions --------------------------------------------------------------------------------------

    def _table(self, record: TableRecord) -> None:
        table, symbol = record.table, record.symbol
        assert table is not None
        message = self.info.tables.add()
        self._preamble(message.preamble, ids.TABLE, record.name, symbol.annotations)
        self._match_fields(message, record)
        for listed in table.actions:
            reference = message.action_refs.add()
            reference.id = self.ids.get((ids.ACTION, listed.action), 0)
            reference.scope = listed.scope.value
            for annotation in listed.annotations:
                reference.annotations.append(
                    "@" + annotation.name + ("" if not annotation.body else f"({annotation.body})")
                )
        default = table.default_action
        default_id = self.ids.get((ids.ACTION, default.action), 0)
        if table.default_is_const:
            message.const_default_action_id = default_id
        message.initial_default_action.action_id = default_id
        assert symbol.default is not None
        parameters = self.lowered.program.action(default.action).parameters
        numbers = self._parameter_ids(symbol.default.action)
        for number, argument, parameter in zip(numbers, default.arguments, parameters, strict=True):
            found = message.initial_default_action.arguments.add()
            found.param_id = number
            found.value = padded_bytes(argument, parameter.type)
        message.size = table.size
        for instance in sorted(table.attached, key=lambda i: i.extern):
            message.direct_resource_ids.append(self.ids[_EXTERN_PREFIXES[instance.extern], instance.name])
        message.is_const_table = bool(table.entries_are_const and table.entries)
        message.has_initial_entries = bool(table.entries)

    def _match_fields(self, message: Any, record: TableRecord) -> None:
        assert record.table is not None
        explicit = [self._inner_id(key.annotations) for key in record.symbol.keys]
        numbers = inner_ids(explicit)
        for key, lowered, number in zip(record.symbol.keys, record.table.keys, numbers, strict=True):
            field = message.match_fields.add()
            field.id = number
            field.name = lowered.name
            kind = lowered.match_kind.upper()
            if kind in list(p4info_pb2.MatchField.MatchType.keys()):
                field.match_type = p4info_pb2.MatchField.MatchType.Value(kind)
            else:
                field.other_match_type = lowered.match_kind
            field.bitwidth = self.types.bit_width(key.value.type)
            name = self.types.type_name(key.value.type)
            if name:
                field.type_name.name = name
            self._annotations(field, key.annotations)

    def _inner_id(self, annotations: s.Annotations) -> int | None:
        for annotation in annotations:
            if annotation.name == "id" and annotation.tokens:
                literal = integer_value(annotation.tokens[0])
                if literal is None or literal[0] == 0:
                    self.report(annotation, "@id takes a positive number")
                    return None
                return literal[0]
        return None

    def _parameter_ids(self, action: r.ActionSymbol) -> list[int]:
        return inner_ids([self._inner_id(p.annotations) for p in action.parameters if not p.direction])

    def _action(self, record: ActionRecord) -> None:
        message = self.info.actions.add()
        self._preamble(message.preamble, ids.ACTION, record.name, record.symbol.annotations)
        own = [p for p in record.symbol.parameters if not p.direction]
        numbers = self._parameter_ids(record.symbol)
        for parameter, number in zip(own, numbers, strict=True):
            base = t.unwrapped(parameter.type)
            if not (isinstance(base, t.BitsType | t.EnumType) or base is t.BOOL):
                self.fail(
                    parameter.at, f"the control plane cannot give a parameter of type {parameter.type}", Kind.TARGET
                )
            found = message.params.add()
            found.id = number
            found.name = parameter.name
            found.bitwidth = self.types.bit_width(parameter.type)
            name = self.types.type_name(parameter.type, for_parameter=True)
            if name:
                found.type_name.name = name
            self._annotations(found, parameter.annotations)

    # --- externs -------------------------------------------------------------------------------------------------

    def _extern(self, record: ExternRecord) -> None:
        instance, annotations = record.instance, record.symbol.annotations
        kind = instance.extern
        if kind in ("counter", "direct_counter"):
            message = (self.info.counters if kind == "counter" else self.info.direct_counters).add()
            unit = _UNITS[str(instance.arguments[-1])]
            message.spec.unit = p4info_pb2.CounterSpec.Unit.Value(unit)
            if kind == "counter":
                message.size = int(instance.arguments[0])
            else:
                message.direct_table_id = self.ids[ids.TABLE, self.attached[instance.name].name]
        elif kind == "register":
            message = self.info.registers.add()
            message.size = int(instance.arguments[0])
            type_ = record.symbol.type
            assert isinstance(type_, t.ExternType)
            self.types.describe(message.type_spec, type_.arguments[0])
        else:
            return
        self._preamble(message.preamble, _EXTERN_PREFIXES[kind], instance.name, annotations)


def inner_ids(explicit: list[int | None]) -> list[int]:
    """Ids of match fields and parameters: from 1, counting over explicitly numbered ones and around taken ids."""
    taken = {number for number in explicit if number is not None}
    found: list[int] = []
    counter = 0
    for number in explicit:
        counter += 1
        if number is not None:
            found.append(number)
            continue
        while counter in taken:
            counter += 1
        taken.add(counter)
        found.append(counter)
    return found


def padded_bytes(value: int, type_: ir.Type) -> bytes:
    """Big-endian, whole bytes: the form p4c prints default arguments in."""
    width = type_.width_bits if isinstance(type_, ir.Bits) else 1
    return (value & ((1 << width) - 1)).to_bytes((width + 7) // 8, "big")


def annotation_line(annotation: s.Annotation) -> str:
    """``@name`` or ``@name(body)`` with the body's tokens joined by single spaces."""
    if not annotation.tokens:
        return f"@{annotation.name}"
    return f"@{annotation.name}({' '.join(annotation.tokens)})"
