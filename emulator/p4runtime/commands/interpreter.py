"""The table of commands, and how a line is carried out or completed."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from emulator.p4runtime.commands import arrays, profiles, replication, tables
from emulator.p4runtime.commands.state import CommandError, Queues, State, actions_of, find, number, short_names
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.view import View
from emulator.switch.control import ControlError

Run = Callable[[State, list[str]], list[str]]

TABLE_ERRORS = {
    Code.ALREADY_EXISTS: "DUPLICATE_ENTRY",
    Code.RESOURCE_EXHAUSTED: "TABLE_FULL",
    Code.NOT_FOUND: "INVALID_HANDLE",
    Code.PERMISSION_DENIED: "IMMUTABLE_TABLE_ENTRIES",
}
"""The names that bmv2 has for these refusals of table operations."""


class Command(NamedTuple):
    """``arguments`` is for the help; the first of them are names that can be completed, by kind."""

    run: Run
    arguments: str
    help: str
    least: int
    most: int | None = None
    """Number of words; None: any."""
    completes: tuple[str, ...] = ()


class Machine(NamedTuple):
    """The switch around a program."""

    program: Callable[[], AbstractContextManager[View]]
    """Holds the control plane still. Raises RequestError where there is no program."""
    reset: Callable[[], None]
    """Loads the program again, with all state at its beginning."""
    ports: Callable[[], Mapping[int, str]]
    queues: Queues


# --- Commands on the switch itself ------------------------------------------------------------------------------------


def show_ports(state: State, _: list[str]) -> list[str]:
    lines = [f"{'port #':^12}{'interface':^30}", "=" * 42]
    return [*lines, *(f"{port:^12}{spec:^30}" for port, spec in sorted(state.ports.items()))]


def _queue_place(words: list[str]) -> tuple[int | None, int | None]:
    places = [number(word, what) for word, what in zip(words, ("port", "priority"), strict=False)]
    return (places[0] if places else None, places[1] if len(places) > 1 else None)


def set_queue_depth(state: State, words: list[str]) -> list[str]:
    depth, place = number(words[0], "depth"), _queue_place(words[1:])
    state.queues.prepare_queues()
    with state.view.access():
        state.queues.set_queue_depth(depth, *place)
    return []


def set_queue_rate(state: State, words: list[str]) -> list[str]:
    rate, place = number(words[0], "rate"), _queue_place(words[1:])
    state.queues.prepare_queues()
    with state.view.access():
        state.queues.set_queue_rate(rate, *place)
    return []


def get_time_elapsed(state: State, _: list[str]) -> list[str]:
    return [str(state.view.now_ns() // 1000)]


def get_time_since_epoch(state: State, _: list[str]) -> list[str]:
    return [str(time.time_ns() // 1000)]


def switch_info(state: State, _: list[str]) -> list[str]:
    schema = state.view.schema
    counts = {"ports": state.ports, "tables": schema.tables, "actions": schema.actions, "registers": schema.registers}
    return [f"{name:25}: {len(things)}" for name, things in counts.items()]


def _refused(text: str) -> Run:
    def run(state: State, words: list[str]) -> list[str]:
        raise CommandError(f"Error: {text}")

    return run


NO_SWAP = "The program cannot be swapped here: a P4Runtime client replaces it by SetForwardingPipelineConfig"
NO_PORTS = "Ports cannot be changed while the switch runs: name them at its start, with -i PORT@INTERFACE"
NO_CRC = "The polynomials of hash algorithms are compiled into the program and cannot be set"
KEYS = "<match fields> => "

COMMANDS: dict[str, Command] = {
    "table_add": Command(tables.table_add, f"<table> <action> {KEYS}<action parameters> [priority]",
                         "Add an entry to a table; the smaller priority wins", 2, None, ("table", "action")),
    "table_modify": Command(tables.table_modify, "<table> <action> <entry handle> [action parameters]",
                            "Change the action of an entry", 3, None, ("table", "action")),
    "table_delete": Command(tables.table_delete, "<table> <entry handle>", "Delete an entry", 2, 2, ("table",)),
    "table_set_default": Command(tables.table_set_default, "<table> <action> [action parameters]",
                                 "Set the default action of a table", 2, None, ("table", "action")),
    "table_reset_default": Command(tables.table_reset_default, "<table>",
                                   "Set a table's default action to the program's", 1, 1, ("table",)),
    "table_clear": Command(tables.table_clear, "<table>", "Delete all entries of a table", 1, 1, ("table",)),
    "table_set_timeout": Command(tables.table_set_timeout, "<table> <entry handle> <time-out (ms)>",
                                 "Set the idle time-out of an entry", 3, 3, ("table",)),
    "table_dump": Command(tables.table_dump, "<table>", "Show all entries of a table", 1, 1, ("table",)),
    "table_dump_entry": Command(tables.table_dump_entry, "<table> <entry handle>", "Show an entry", 2, 2, ("table",)),
    "table_dump_entry_from_key": Command(tables.table_dump_entry_from_key, "<table> <match fields> [priority]",
                                         "Show the entry with a key", 1, None, ("table",)),
    "table_dump_group": Command(profiles.table_dump_group, "<table>",
                                "Show members and groups of a table's action profile", 1, 1, ("table",)),
    "table_info": Command(tables.table_info, "<table>", "Show keys and actions of a table", 1, 1, ("table",)),
    "table_num_entries": Command(tables.table_num_entries, "<table>", "Number of entries of a table", 1, 1, ("table",)),
    "table_show_actions": Command(tables.table_show_actions, "<table>", "Show the actions of a table", 1, 1,
                                  ("table",)),
    "show_tables": Command(tables.show_tables, "", "Show all tables", 0, 0),
    "show_actions": Command(tables.show_actions, "", "Show all actions", 0, 0),
    "table_indirect_add": Command(tables.table_indirect_add, f"<table> {KEYS}<member handle> [priority]",
                                  "Add an entry that leads to a member", 1, None, ("table",)),
    "table_indirect_add_with_group": Command(tables.table_indirect_add_with_group,
                                             f"<table> {KEYS}<group handle> [priority]",
                                             "Add an entry that leads to a group", 1, None, ("table",)),
    "table_indirect_modify": Command(tables.table_indirect_modify, "<table> <entry handle> <member handle>",
                                     "Change the member that an entry leads to", 3, 3, ("table",)),
    "table_indirect_modify_with_group": Command(tables.table_indirect_modify_with_group,
                                                "<table> <entry handle> <group handle>",
                                                "Change the group that an entry leads to", 3, 3, ("table",)),
    "table_indirect_delete": Command(tables.table_delete, "<table> <entry handle>", "Delete an entry", 2, 2,
                                     ("table",)),
    "table_indirect_set_default": Command(tables.table_indirect_set_default, "<table> <member handle>",
                                          "Set the default member of a table", 2, 2, ("table",)),
    "table_indirect_set_default_with_group": Command(tables.table_indirect_set_default_with_group,
                                                     "<table> <group handle>", "Set the default group of a table", 2, 2,
                                                     ("table",)),
    "table_indirect_reset_default": Command(tables.table_reset_default, "<table>",
                                            "Set a table's default action to the program's", 1, 1, ("table",)),
    "act_prof_create_member": Command(profiles.act_prof_create_member, "<action profile> <action> [action parameters]",
                                      "Create a member", 2, None, ("profile", "action")),
    "act_prof_modify_member": Command(profiles.act_prof_modify_member,
                                      "<action profile> <action> <member handle> [action parameters]",
                                      "Change a member", 3, None, ("profile", "action")),
    "act_prof_delete_member": Command(profiles.act_prof_delete_member, "<action profile> <member handle>",
                                      "Delete a member", 2, 2, ("profile",)),
    "act_prof_create_group": Command(profiles.act_prof_create_group, "<action profile>", "Create a group", 1, 1,
                                     ("profile",)),
    "act_prof_delete_group": Command(profiles.act_prof_delete_group, "<action profile> <group handle>",
                                     "Delete a group", 2, 2, ("profile",)),
    "act_prof_add_member_to_group": Command(profiles.act_prof_add_member_to_group,
                                            "<action profile> <member handle> <group handle>",
                                            "Add a member to a group", 3, 3, ("profile",)),
    "act_prof_remove_member_from_group": Command(profiles.act_prof_remove_member_from_group,
                                                 "<action profile> <member handle> <group handle>",
                                                 "Remove a member from a group", 3, 3, ("profile",)),
    "act_prof_dump": Command(profiles.act_prof_dump, "<action profile>", "Show members and groups", 1, 1, ("profile",)),
    "act_prof_dump_member": Command(profiles.act_prof_dump_member, "<action profile> <member handle>",
                                    "Show a member", 2, 2, ("profile",)),
    "act_prof_dump_group": Command(profiles.act_prof_dump_group, "<action profile> <group handle>", "Show a group",
                                   2, 2, ("profile",)),
    "show_act_profs": Command(profiles.show_act_profs, "", "Show all action profiles", 0, 0),
    "show_pvs": Command(profiles.show_pvs, "", "Show all parse value sets", 0, 0),
    "pvs_add": Command(profiles.pvs_add, "<value set> <value>", "Add a value to a parse value set", 2, None, ("pvs",)),
    "pvs_remove": Command(profiles.pvs_remove, "<value set> <value>", "Remove a value from a parse value set", 2, None,
                          ("pvs",)),
    "pvs_get": Command(profiles.pvs_get, "<value set>", "Show the values of a parse value set", 1, 1, ("pvs",)),
    "pvs_clear": Command(profiles.pvs_clear, "<value set>", "Remove all values of a parse value set", 1, 1, ("pvs",)),
    "register_read": Command(arrays.register_read, "<register> [index]", "Read a cell, or all", 1, 2, ("register",)),
    "register_write": Command(arrays.register_write, "<register> <index> <value>", "Write a cell", 3, 3, ("register",)),
    "register_reset": Command(arrays.register_reset, "<register>", "Set all cells to 0", 1, 1, ("register",)),
    "counter_read": Command(arrays.counter_read, "<counter> <index, or entry handle>", "Read a counter", 2, 2,
                            ("counter",)),
    "counter_write": Command(arrays.counter_write, "<counter> <index, or entry handle> <packets> <bytes>",
                             "Write a counter", 4, 4, ("counter",)),
    "counter_reset": Command(arrays.counter_reset, "<counter>", "Set all cells to 0", 1, 1, ("counter",)),
    "meter_array_set_rates": Command(arrays.meter_array_set_rates, "<meter> <rate>:<burst> <rate>:<burst>",
                                     "Set the rates of all cells, per microsecond", 3, 3, ("meter",)),
    "meter_set_rates": Command(arrays.meter_set_rates,
                               "<meter> <index, or entry handle> <rate>:<burst> <rate>:<burst>",
                               "Set the rates of a cell, per microsecond", 4, 4, ("meter",)),
    "meter_get_rates": Command(arrays.meter_get_rates, "<meter> <index, or entry handle>", "Show the rates of a cell",
                               2, 2, ("meter",)),
    "mc_mgrp_create": Command(replication.mc_mgrp_create, "<group id>", "Create a multicast group", 1, 1),
    "mc_mgrp_destroy": Command(replication.mc_mgrp_destroy, "<group id>", "Delete a multicast group", 1, 1),
    "mc_node_create": Command(replication.mc_node_create, "<rid> <ports>", "Create a node: copies to ports", 1),
    "mc_node_update": Command(replication.mc_node_update, "<node handle> <ports>", "Change the ports of a node", 1),
    "mc_node_associate": Command(replication.mc_node_associate, "<group id> <node handle>", "Add a node to a group",
                                 2, 2),
    "mc_node_dissociate": Command(replication.mc_node_dissociate, "<group id> <node handle>",
                                  "Remove a node from its group", 2, 2),
    "mc_node_destroy": Command(replication.mc_node_destroy, "<node handle>", "Delete a node", 1, 1),
    "mc_set_lag_membership": Command(_refused("Link aggregation groups are not supported: name ports"),
                                     "<lag index> <ports>", "Not supported", 0),
    "mc_dump": Command(replication.mc_dump, "", "Show all multicast groups and nodes", 0, 0),
    "mirroring_add": Command(replication.mirroring_add, "<mirror id> <port>", "Set a clone session to a port", 2, 2),
    "mirroring_add_mc": Command(replication.mirroring_add_mc, "<mirror id> <group id>",
                                "Set a clone session to a multicast group", 2, 2),
    "mirroring_delete": Command(replication.mirroring_delete, "<mirror id>", "Delete a clone session", 1, 1),
    "mirroring_get": Command(replication.mirroring_get, "<mirror id>", "Show a clone session", 1, 1),
    "set_queue_depth": Command(set_queue_depth, "<packets> [<port> [<priority>]]", "Depth of egress queues", 1, 3),
    "set_queue_rate": Command(set_queue_rate, "<packets per second> [<port> [<priority>]]", "Rate of egress queues",
                              1, 3),
    "show_ports": Command(show_ports, "", "Show the ports", 0, 0),
    "port_add": Command(_refused(NO_PORTS), "<interface> <port>", "Not supported", 0),
    "port_remove": Command(_refused(NO_PORTS), "<port>", "Not supported", 0),
    "switch_info": Command(switch_info, "", "Show the sizes of switch and program", 0, 0),
    "get_time_elapsed": Command(get_time_elapsed, "", "Time of the switch in microseconds", 0, 0),
    "get_time_since_epoch": Command(get_time_since_epoch, "", "Time since 1970 in microseconds", 0, 0),
    "load_new_config_file": Command(_refused(NO_SWAP), "<file>", "Not supported", 0),
    "swap_configs": Command(_refused(NO_SWAP), "", "Not supported", 0),
    "set_crc16_parameters": Command(_refused(NO_CRC), "<name> <parameters>", "Not supported", 0),
    "set_crc32_parameters": Command(_refused(NO_CRC), "<name> <parameters>", "Not supported", 0),
    "serialize_state": Command(_refused("The state is read over P4Runtime"), "<file>", "Not supported", 0),
    "write_config_to_file": Command(_refused("The config is read over P4Runtime"), "<file>", "Not supported", 0),
}  # fmt: skip
RESET = "reset_state"
HELP = "help"


class Interpreter:
    """One for a switch; lines are carried out one after the other, by whatever thread."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._state: State | None = None

    def run(self, line: str) -> str:
        """What to print; errors likewise."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            return f"Error: {error}"
        if not words:
            return ""
        name, arguments = words[0], words[1:]
        if name == HELP:
            return _help(arguments)
        if name == RESET:
            self._machine.reset()
            return ""
        command = COMMANDS.get(name)
        if command is None:
            return f"*** Unknown syntax: {line}"
        if len(arguments) < command.least or (command.most is not None and len(arguments) > command.most):
            return f"Error: Wrong number of arguments\n{_usage(name, command)}"
        try:
            with self._machine.program() as view:
                return "\n".join(command.run(self._state_of(view), arguments))
        except CommandError as error:
            return str(error)
        except (RequestError, ControlError) as error:
            return _refusal(name, error)

    def complete(self, line: str) -> list[str]:
        """What the last word of ``line`` may become; it is empty behind a blank."""
        words = line.split()
        if not words or line[-1:].isspace():
            words.append("")
        typed = words[-1]
        if len(words) == 1 or words[0] == HELP:
            choices = sorted([*COMMANDS, HELP, RESET])
        else:
            try:
                with self._machine.program() as view:
                    choices = self._choices(self._state_of(view), words)
            except (CommandError, RequestError):
                choices = []
        return [choice for choice in choices if choice.startswith(typed)]

    def _choices(self, state: State, words: list[str]) -> list[str]:
        command, place = COMMANDS.get(words[0]), len(words) - 2
        if command is None or place >= len(command.completes):
            return []
        schema = state.view.schema
        match command.completes[place]:
            case "table":
                return short_names(schema.tables.values())
            case "profile":
                return short_names(schema.profiles.values())
            case "register":
                return short_names(schema.registers.values())
            case "counter":
                return short_names([*schema.counters.values(), *schema.direct_counters.values()])
            case "meter":
                return short_names([*schema.meters.values(), *schema.direct_meters.values()])
            case "pvs":
                return short_names(schema.value_sets.values())
        if command.completes[0] == "profile":
            profile = profiles.profile_named(state, words[1])
            return short_names(a for t in profile.table_ids for a in actions_of(state, schema.tables[t]))
        return short_names(actions_of(state, find("table", words[1], schema.tables.values())))

    def _state_of(self, view: View) -> State:
        ports = self._machine.ports()
        if self._state is None or self._state.view is not view:
            self._state = State(view, ports, self._machine.queues)
        return self._state


def _usage(name: str, command: Command) -> str:
    return f"Usage: {name} {command.arguments}".rstrip()


def _help(words: list[str]) -> str:
    if not words:
        names = sorted([*COMMANDS, HELP, RESET])
        rows = [" ".join(f"{name:38}" for name in names[at : at + 2]).rstrip() for at in range(0, len(names), 2)]
        return "\n".join(["Commands (help COMMAND for one of them):", *rows])
    if words[0] == RESET:
        return "Load the program again: entries, groups, counters and registers as at the start\nUsage: reset_state"
    command = COMMANDS.get(words[0])
    return f"*** No help on {words[0]}" if command is None else f"{command.help}\n{_usage(words[0], command)}"


def _refusal(name: str, error: RequestError | ControlError) -> str:
    code = Code(int(error.code))
    if name.startswith(("table_", "act_prof_")):
        return f"Invalid table operation ({TABLE_ERRORS.get(code, code.name)}): {error.message}"
    kind = name.partition("_")[0]
    return f"Invalid {kind} operation ({code.name}): {error.message}"
