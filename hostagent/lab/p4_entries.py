"""A controller's entries in a switch of the same process, by the names of the program's P4Info."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.switch.control import Exact, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.drivers.p4.entries import TableEntry as NamedEntry
from hostagent.controller.drivers.p4.entries import child_entries, group_of, job_entry, replicas_of


class EntryIds:
    """P4Info's names of one program, resolved to ids."""

    def __init__(self, program: CompiledProgram) -> None:
        info = program.p4info
        self._tables = {table.preamble.name: table for table in info.tables}
        self._actions = {action.preamble.name: action for action in info.actions}
        self.counters = {counter.preamble.name: counter.preamble.id for counter in info.counters}
        self._fields = {
            name: {field.name: field.id for field in table.match_fields} for name, table in self._tables.items()
        }
        self._params = {name: [param.name for param in action.params] for name, action in self._actions.items()}

    def resolve(self, entry: NamedEntry) -> tuple[int, TableEntry]:
        """The id of an entry's table, and the entry in ids."""
        fields = self._fields[entry.table]
        match = sorted((Exact(fields[name], value) for name, value in entry.match), key=lambda exact: exact.field_id)
        given: Mapping[str, int] = dict(entry.params)
        params = tuple(given[name] for name in self._params[entry.action])
        action_id = self._actions[entry.action].preamble.id
        return self._tables[entry.table].preamble.id, TableEntry(tuple(match), 0, action_id, params)


def install_job(switch: Switch, ids: EntryIds, config: JobConfig) -> None:
    """Make a job known: children and copies first, the job's own entry last."""
    switch.insert_multicast_group(group_of(config), replicas_of(config))
    for entry in (*child_entries(config), job_entry(config)):
        switch.insert_entry(*ids.resolve(entry))


def remove_job(switch: Switch, ids: EntryIds, config: JobConfig) -> None:
    """Forget a job's entries; its sets stay, void under any later epoch."""
    for entry in (job_entry(config), *child_entries(config)):
        switch.delete_entry(*ids.resolve(entry))
    switch.delete_multicast_group(group_of(config))
