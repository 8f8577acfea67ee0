"""Whether a client's P4Info describes the program that came with it."""

from __future__ import annotations

from emulator.bmv2json.client_p4info import Wanted
from emulator.bmv2json.document import Bmv2JsonError
from emulator.p4 import ir


def check_p4info(program: ir.Program, wanted: Wanted) -> None:
    """Raises Bmv2JsonError where P4Info names what the program does not have. The program may have more: the compiler's
    own tables are not in P4Info. Keys were compared when the tables were read."""
    tables = {table.name: table for table in program.tables}
    actions = {action.name: action for action in program.actions}
    for name, described in wanted.tables.items():
        if name not in tables:
            raise Bmv2JsonError("P4Info", f"has a table {name}, which the program has not")
        listed = {ir.control_plane_action(a.action): actions[a.action] for a in tables[name].actions}
        hidden = sum(action not in wanted.action_names.values() for action in listed)
        for reference in described.action_refs:
            if reference.scope >= len(ir.ActionScope):
                raise Bmv2JsonError("P4Info", f"table {name} has an action of unknown scope {reference.scope}")
            action = wanted.action_names.get(reference.id)
            if action is None and hidden:  # ``@hidden``: referred to, and not described
                hidden -= 1
                continue
            if action is None:
                raise Bmv2JsonError("P4Info", f"table {name} has an action {reference.id:#x}, which is not described")
            if action not in listed:
                raise Bmv2JsonError("P4Info", f"table {name} has an action {action}, which it has not in the program")
    _check_actions(program, wanted)
    _check_objects(program, wanted)


def _check_actions(program: ir.Program, wanted: Wanted) -> None:
    assert wanted.p4info is not None
    found = {ir.control_plane_action(action.name): action for action in program.actions}
    for described in wanted.p4info.actions:
        action = found.get(described.preamble.name)
        if action is None:
            continue
        widths = [ir.width_of(p.type) for p in action.parameters]
        given = [p.bitwidth for p in described.params]
        if len(widths) != len(given):
            counts = f"{len(given)} parameters, {len(widths)} in the program"
            raise Bmv2JsonError("P4Info", f"action {described.preamble.name} has {counts}")
        for parameter, width in zip(described.params, widths, strict=True):
            if parameter.bitwidth not in (0, width) and not parameter.type_name.name:
                where = f"action {described.preamble.name}: parameter {parameter.name}"
                raise Bmv2JsonError("P4Info", f"{where} has {parameter.bitwidth} bits, {width} in the program")


def _check_objects(program: ir.Program, wanted: Wanted) -> None:
    """Arrays that both have must be equally long; those that the program has not were optimised away."""
    assert wanted.p4info is not None
    sizes = {(e.extern, e.name): e.arguments[0] for e in program.externs if e.arguments}
    for kind in ("register", "counter", "meter"):
        for described in getattr(wanted.p4info, f"{kind}s"):
            name = described.preamble.name
            size = sizes.get((kind, name))
            if size is not None and size != described.size:
                raise Bmv2JsonError("P4Info", f"{kind} {name} has size {described.size}, {size} in the program")
