"""A client's P4Info, looked up by the names of a document's objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.bmv2json.document import Bmv2JsonError
from emulator.p4 import ir
from emulator.rpc.p4protos import p4info_pb2

EXACT = "exact"
SET_KINDS = (EXACT, "lpm", "ternary", "range", "optional")


class ClientP4Info:
    """The P4Info that a client sent with a document, if any."""

    def __init__(self, p4info: Any | None) -> None:
        self.p4info = p4info
        self.tables: Mapping[str, Any] = {}
        self.profiles: Mapping[str, Any] = {}
        self.value_sets: Mapping[str, Any] = {}
        self.actions: Mapping[str, Any] = {}
        self.action_names: Mapping[int, str] = {}
        if p4info is not None:
            self.tables = {table.preamble.name: table for table in p4info.tables}
            self.profiles = {profile.preamble.name: profile for profile in p4info.action_profiles}
            self.value_sets = {value_set.preamble.name: value_set for value_set in p4info.value_sets}
            self.actions = {action.preamble.name: action for action in p4info.actions}
            self.action_names = {action.preamble.id: action.preamble.name for action in p4info.actions}

    @property
    def is_given(self) -> bool:
        return self.p4info is not None

    def key(self, table: str, position: int) -> Any | None:
        """The match field at a position (selector keys do not count)."""
        fields = self.tables[table].match_fields if table in self.tables else ()
        return fields[position] if position < len(fields) else None

    def set_kind(self, value_set: str, position: int) -> str:
        """How a value set's field at a position matches; documents do not have it, and bmv2 matches all exactly."""
        fields = self.value_sets[value_set].match if value_set in self.value_sets else ()
        kind = match_kind(fields[position]) if position < len(fields) else EXACT
        return kind if kind in SET_KINDS else EXACT

    def scopes(self, table: str) -> Mapping[str, int]:
        """Where actions may be used, by their names."""
        refs = self.tables[table].action_refs if table in self.tables else ()
        return {self.action_names.get(ref.id, ""): ref.scope for ref in refs}


def match_kind(field: Any) -> str:
    """As P4 spells it."""
    if field.WhichOneof("match") == "other_match_type":
        return str(field.other_match_type)
    known = p4info_pb2.MatchField.MatchType
    return known.Name(field.match_type).lower() if field.match_type in known.values() else str(field.match_type)


# --- agreement --------------------------------------------------------------------------------------------------------


def check_p4info(program: ir.Program, client: ClientP4Info) -> None:
    """Raises Bmv2JsonError where a document and P4Info are not of the same program.

    The program may have more tables: those that the compiler made are not in P4Info. It may also lack tables and
    actions: those that p4c optimised away, which cannot be written. Keys were compared when the tables were read."""
    tables = {table.name: table for table in program.tables}
    actions = {action.name: action for action in program.actions}
    missing = [name for name in client.tables if name not in tables]
    if missing and len(missing) == len(client.tables) and any(table.keys for table in program.tables):
        raise Bmv2JsonError("P4Info", f"has a table {missing[0]} and no table of the program: it is of another program")
    used = {ir.control_plane_action(reference.action) for table in program.tables for reference in table.actions}
    for name, described in client.tables.items():
        if name in tables:
            listed = [actions[reference.action] for reference in tables[name].actions]
            _check_references(
                name, described, [ir.control_plane_action(action.name) for action in listed], used, client
            )
            for action in listed:
                _check_parameters(action, client)
    _check_objects(program, client)


def _check_references(table: str, described: Any, listed: list[str], used: set[str], client: ClientP4Info) -> None:
    """``listed``: the program's actions of the table; ``used``: those of all tables."""
    hidden = sum(action not in client.actions for action in listed)
    removed: list[str] = []
    for reference in described.action_refs:
        if reference.scope >= len(ir.ActionScope):
            raise Bmv2JsonError("P4Info", f"table {table} has an action of unknown scope {reference.scope}")
        action = client.action_names.get(reference.id)
        if action is None and hidden:  # ``@hidden``: referred to, and not described
            hidden -= 1
            continue
        if action is None:
            raise Bmv2JsonError("P4Info", f"table {table} has an action {reference.id:#x}, which is not described")
        if action not in listed:
            removed.append(action)
    if used.intersection(removed) or (removed and len(removed) == len(described.action_refs)):
        raise Bmv2JsonError("P4Info", f"table {table} has an action {removed[0]}, which it has not in the program")


def _check_parameters(action: ir.Action, client: ClientP4Info) -> None:
    """Parameters of an action in a table. p4c gives one that is also called directly a second form, with others."""
    described = client.actions.get(ir.control_plane_action(action.name))
    if described is None:
        return
    name, widths = described.preamble.name, [ir.width_of(p.type) for p in action.parameters]
    if len(widths) != len(described.params):
        counts = f"{len(described.params)} parameters, {len(widths)} in the program"
        raise Bmv2JsonError("P4Info", f"action {name} has {counts}")
    for parameter, width in zip(described.params, widths, strict=True):
        if parameter.bitwidth not in (0, width) and not parameter.type_name.name:
            where = f"action {name}: parameter {parameter.name}"
            raise Bmv2JsonError("P4Info", f"{where} has {parameter.bitwidth} bits, {width} in the program")


def _check_objects(program: ir.Program, client: ClientP4Info) -> None:
    """Arrays that both have must have equal sizes; those that the program lacks were optimised away."""
    assert client.p4info is not None
    sizes = {(e.extern, e.name): e.arguments[0] for e in program.externs if e.arguments}
    for kind in ("register", "counter", "meter"):
        for described in getattr(client.p4info, f"{kind}s"):
            name = described.preamble.name
            size = sizes.get((kind, name))
            if size is not None and size != described.size:
                raise Bmv2JsonError("P4Info", f"{kind} {name} has size {described.size}, {size} in the program")
