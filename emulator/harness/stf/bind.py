"""Binding of a test's commands to steps on a switch with a certain program: names become ids, digits values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from emulator.harness.stf import syntax as s
from emulator.harness.stf.entries import Entries
from emulator.harness.stf.errors import Complaint, StfError
from emulator.harness.stf.indexed_state import Cells
from emulator.harness.stf.names import Names
from emulator.harness.stf.replication import Replication
from emulator.harness.stf.steps import Pause, Plan, Send, Show, Step
from emulator.v1model.compiled import CompiledProgram


def bind(script: s.Script, program: CompiledProgram) -> Plan:
    """Raises `StfError` with every line that has names or values the program does not have."""
    binder = _Binder(Names(program))
    steps: list[Step] = []
    complaints: list[Complaint] = []
    for command in script.commands:
        try:
            steps += binder.steps(command)
        except StfError as error:
            complaints += error.complaints
    if complaints:
        raise StfError(*complaints)
    packets = [c for c in script.commands if isinstance(c, s.Packet)]
    expects = tuple(c for c in script.commands if isinstance(c, s.Expect))
    return Plan(
        tuple(steps),
        expects,
        frozenset(p.port for p in packets) | frozenset(e.port for e in expects),
        max((len(p.content) for p in packets), default=0),
    )


class _Binder:
    def __init__(self, names: Names) -> None:
        self.entries = Entries(names)
        self.cells = Cells(names, self.entries)
        replication = Replication()
        self._cli: dict[str, Callable[..., Iterable[Step]]] = {
            "mirroring_add": replication.mirror_to_port,
            "mirroring_add_mc": replication.mirror_to_group,
            "mirroring_delete": replication.delete_session,
            "mirroring_get": lambda line, session: [Show(line, replication.show_session(session))],
            "mc_mgrp_create": replication.create_group,
            "mc_node_create": replication.create_node,
            "mc_node_update": replication.update_node,
            "mc_node_associate": replication.associate,
            "counter_read": self.cells.read_counter,
            "counter_write": self.cells.write_counter,
            "register_read": self.cells.read_register,
            "register_write": self.cells.write_register,
            "register_reset": self.cells.reset_register,
            "meter_get_rates": self.cells.show_meter,
            "meter_set_rates": self.cells.set_meter,
            "meter_array_set_rates": self.cells.set_meters,
        }

    def steps(self, command: s.Command) -> Iterable[Step]:
        match command:
            case s.Packet():
                return [Send(command.line, command.port, command.content)]
            case s.Expect():
                return []
            case s.NoPacket() | s.CheckLog() | s.CheckCount():
                return [command]
            case s.Wait():
                return [Pause(command.line, command.duration_ns)]
            case s.CliCommand():
                return self._cli[command.name](command.line, *command.arguments)
            case s.CheckCounter():
                return [self.cells.check_counter(command)]
            case s.CheckRegister():
                return [self.cells.check_register(command)]
            case s.CheckMeter():
                return [self.cells.check_meter(command)]
            case s.CheckDigest():
                return [self.cells.check_digest(command)]
            case s.Remove():
                return self.entries.remove(command)
            case _:
                return [self._entry_step(command)]

    def _entry_step(self, command: Any) -> Step:
        match command:
            case s.Add():
                return self.entries.add(command)
            case s.SetDefault():
                return self.entries.set_default(command)
            case s.AddMember():
                return self.entries.add_member(command)
            case s.AddGroup():
                return self.entries.add_group(command)
            case s.AddValue():
                return self.entries.add_value(command)
        raise AssertionError(command)
