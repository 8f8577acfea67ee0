"""P4Info of a document without one: names are the document's, ids follow p4c's rules.

The document has no annotations, so headers to and from a controller are known by their names only, and which tables
the compiler made for itself is a guess (`pipelines.SYNTHESISED`); with the compiler's own P4Info nothing is.
"""

from __future__ import annotations

from typing import Any

from emulator.bmv2json.objects import Objects
from emulator.p4 import ir
from emulator.p4.p4info import ids
from emulator.rpc.p4protos import p4info_pb2

CONTROLLER_HEADERS = ("packet_in", "packet_out")
SELECTOR = "selector"


class _Writer:
    def __init__(self, program: ir.Program, objects: Objects) -> None:
        self.program = program
        self.objects = objects
        self.info = p4info_pb2.P4Info()
        self.info.pkg_info.arch = "v1model"
        self.actions = {a.name: a for a in program.actions}
        self.used = self._used_actions()
        self.names = self._names()
        self.ids = ids.assign_ids(self.names, {})
        self.aliases = ids.aliases(name for prefix in self.names for name in self.names[prefix])

    def _used_actions(self) -> dict[str, ir.Action]:
        """Actions that tables may run, by control-plane name."""
        result: dict[str, ir.Action] = {}
        for table in self.program.tables:
            for reference in table.actions:
                result.setdefault(ir.control_plane_action(reference.action), self.actions[reference.action])
        return result

    def _names(self) -> dict[int, list[str]]:
        externs: dict[str, list[str]] = {}
        for extern in self.program.externs:
            externs.setdefault(extern.extern, []).append(extern.name)
        headers = {h.name.rpartition(".")[2] for h in self.program.headers}
        return {
            ids.TABLE: [table.name for table in self.program.tables],
            ids.ACTION: list(self.used),
            ids.VALUE_SET: [value_set.name for value_set in self.program.value_sets],
            ids.CONTROLLER_HEADER: [name for name in CONTROLLER_HEADERS if name in headers],
            ids.ACTION_PROFILE: [*externs.get("action_profile", []), *externs.get("action_selector", [])],
            ids.COUNTER: externs.get("counter", []),
            ids.DIRECT_COUNTER: externs.get("direct_counter", []),
            ids.METER: externs.get("meter", []),
            ids.DIRECT_METER: externs.get("direct_meter", []),
            ids.REGISTER: externs.get("register", []),
            ids.DIGEST: list(dict.fromkeys(learned.name for learned in self.objects.learn_lists.values())),
        }

    def preamble(self, message: Any, prefix: int, name: str) -> Any:
        message.preamble.id = self.ids[prefix, name]
        message.preamble.name = name
        message.preamble.alias = self.aliases[name]
        return message

    def write(self) -> Any:
        for table in self.program.tables:
            self._table(table)
        for name, action in self.used.items():
            message = self.preamble(self.info.actions.add(), ids.ACTION, name)
            for i, parameter in enumerate(action.parameters):
                short = parameter.name.removeprefix(f"{action.name}.")
                message.params.add(id=i + 1, name=short, bitwidth=ir.width_of(parameter.type))
        for extern in self.program.externs:
            self._extern(extern)
        for value_set in self.program.value_sets:
            message = self.preamble(self.info.value_sets.add(), ids.VALUE_SET, value_set.name)
            message.size = value_set.size
            for i, field in enumerate(value_set.fields):
                message.match.add(id=i + 1, name=field.name, bitwidth=ir.width_of(field.type), match_type="EXACT")
        for name in self.names[ids.CONTROLLER_HEADER]:
            self._controller_header(name)
        self._digests()
        self.info.type_info.SetInParent()
        return self.info

    def _table(self, table: ir.Table) -> None:
        message = self.preamble(self.info.tables.add(), ids.TABLE, table.name)
        for i, key in enumerate(k for k in table.keys if k.match_kind != SELECTOR):
            width = ir.width_of(key.value.type)
            message.match_fields.add(id=i + 1, name=key.name, bitwidth=width, match_type=key.match_kind.upper())
        for reference in table.actions:
            name = ir.control_plane_action(reference.action)
            message.action_refs.add(id=self.ids[ids.ACTION, name], scope=reference.scope.value)
        default = self.ids[ids.ACTION, ir.control_plane_action(table.default_action.action)]
        if table.default_is_const:
            message.const_default_action_id = default
        message.size = table.size
        message.is_const_table = table.entries_are_const
        message.has_initial_entries = bool(table.entries)
        if table.support_timeout:
            message.idle_timeout_behavior = p4info_pb2.Table.NOTIFY_CONTROL
        for extern in table.attached:
            if extern.extern in ("action_profile", "action_selector"):
                message.implementation_id = self.ids[ids.ACTION_PROFILE, extern.name]
            else:
                prefix = ids.DIRECT_COUNTER if extern.extern == "direct_counter" else ids.DIRECT_METER
                message.direct_resource_ids.append(self.ids[prefix, extern.name])

    def _extern(self, extern: ir.ExternInstance) -> None:
        info, name = self.info, extern.name
        if extern.extern == "register":
            message = self.preamble(info.registers.add(), ids.REGISTER, name)
            message.type_spec.bitstring.bit.bitwidth = ir.width_of(extern.type_arguments[0])
            message.size = extern.arguments[0]
        elif extern.extern in ("counter", "direct_counter"):
            is_direct = extern.extern == "direct_counter"
            counters = info.direct_counters if is_direct else info.counters
            message = self.preamble(counters.add(), ids.DIRECT_COUNTER if is_direct else ids.COUNTER, name)
            message.spec.unit = p4info_pb2.CounterSpec.BOTH
            self._place(message, extern)
        elif extern.extern in ("meter", "direct_meter"):
            is_direct = extern.extern == "direct_meter"
            meters = info.direct_meters if is_direct else info.meters
            message = self.preamble(meters.add(), ids.DIRECT_METER if is_direct else ids.METER, name)
            message.spec.unit = p4info_pb2.MeterSpec.Unit.Value(str(extern.arguments[-1]).upper())
            self._place(message, extern)
        else:
            self._profile(extern)

    def _place(self, message: Any, extern: ir.ExternInstance) -> None:
        """An indirect one's size, a direct one's table."""
        if not extern.extern.startswith("direct_"):
            message.size = extern.arguments[0]
            return
        for table in self.program.tables:
            if extern in table.attached:
                message.direct_table_id = self.ids[ids.TABLE, table.name]

    def _profile(self, extern: ir.ExternInstance) -> None:
        message = self.preamble(self.info.action_profiles.add(), ids.ACTION_PROFILE, extern.name)
        message.with_selector = extern.extern == "action_selector"
        message.size = extern.arguments[1 if message.with_selector else 0]
        tables = sorted((t for t in self.program.tables if extern in t.attached), key=lambda t: t.name)
        message.table_ids.extend(self.ids[ids.TABLE, table.name] for table in tables)

    def _controller_header(self, name: str) -> None:
        header = next(h for h in self.program.headers if h.name.rpartition(".")[2] == name)
        message = self.preamble(self.info.controller_packet_metadata.add(), ids.CONTROLLER_HEADER, name)
        for i, field in enumerate(header.type.fields):
            message.metadata.add(id=i + 1, name=field.name, bitwidth=ir.width_of(field.type))

    def _digests(self) -> None:
        for learned in {learned.name: learned for learned in self.objects.learn_lists.values()}.values():
            message = self.preamble(self.info.digests.add(), ids.DIGEST, learned.name)
            for field in learned.fields:
                member = message.type_spec.tuple.members.add()
                member.bitstring.bit.bitwidth = ir.width_of(field.type)


def make_p4info(program: ir.Program, objects: Objects) -> Any:
    """The ``p4.config.v1.P4Info`` of a program."""
    return _Writer(program, objects).write()
