"""The entries and groups of a switch, and the smallest set of updates that brings them to the expected state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.rpc import code_pb2

from emulator.rpc.p4protos import p4runtime_pb2 as p4
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.drivers.p4.client import P4Client, SwitchRefused
from hostagent.controller.drivers.p4.entries import TableEntry, child_entries, group_of, job_entry, replicas_of
from hostagent.controller.drivers.p4.names import TABLES, P4Names, group_from, group_message

INSERT, MODIFY, DELETE = p4.Update.INSERT, p4.Update.MODIFY, p4.Update.DELETE

Replicas = tuple[tuple[int, int], ...]


class SwitchTables:
    """A mirror of one switch's entries, read at the start and kept by what is written through it."""

    def __init__(self, client: P4Client, names: P4Names):
        self._client = client
        self._names = names
        self._entries: dict[Any, TableEntry] = {}
        self._groups: dict[int, Replicas] = {}
        self._read()

    def has_all(self, jobs: Iterable[JobConfig]) -> bool:
        """Whether the switch has all of these jobs under their epochs; reads its table."""
        expected = [self._as_read(job_entry(job)) for job in jobs]
        if not expected:
            return True
        entries = self._read_table("AllreduceIngress.jobs")
        return all(entries.get(entry.key) == entry for entry in expected)

    def install(self, job: JobConfig) -> None:
        """Makes the switch know a job; its entry in `jobs` comes last, so that no frame meets a job installed in
        part. Raises SwitchRefused."""
        self._write_group(group_of(job), replicas_of(job))
        self._write_entries(child_entries(job))
        self._write_entries((job_entry(job),))

    def keep_only(self, jobs: Iterable[JobConfig]) -> None:
        """Deletes entries and groups that belong to none of these jobs, and writes those that are missing."""
        kept = list(jobs)
        expected = {entry.key for job in kept for entry in (job_entry(job), *child_entries(job))}
        stale = [entry for key, entry in self._entries.items() if key not in expected]
        stale.sort(key=lambda entry: TABLES.index(entry.table))  # jobs first: the reverse order of installing
        self._delete([(DELETE, self._names.to_message(entry)) for entry in stale])
        for entry in stale:
            del self._entries[entry.key]
        groups = self._groups.keys() - {group_of(job) for job in kept}
        self._delete([(DELETE, group_message(group, self._groups[group])) for group in sorted(groups)])
        for group in groups:
            del self._groups[group]
        for job in kept:
            self.install(job)

    def _delete(self, updates: list[tuple[Any, Any]]) -> None:
        """What is gone already need not be deleted."""
        try:
            self._client.write(updates)
        except SwitchRefused:
            self._read()

    def _write_group(self, group: int, replicas: Replicas) -> None:
        had = self._groups.get(group)
        if had is None or set(had) != set(replicas):
            try:
                self._client.write([(INSERT if had is None else MODIFY, group_message(group, replicas))])
            except SwitchRefused as error:
                if had is not None or code_pb2.ALREADY_EXISTS not in error.codes:
                    raise
                self._client.write([(MODIFY, group_message(group, replicas))])
            self._groups[group] = replicas

    def _write_entries(self, entries: tuple[TableEntry, ...]) -> None:
        updates, written = [], {}
        for unordered in entries:
            entry = self._as_read(unordered)
            had = self._entries.get(entry.key)
            if had != entry:
                updates.append((INSERT if had is None else MODIFY, self._names.to_message(entry)))
                written[entry.key] = entry
        try:
            self._client.write(updates)
        except SwitchRefused:
            self._read()  # some of the updates may have been carried out
            raise
        self._entries.update(written)

    def _as_read(self, entry: TableEntry) -> TableEntry:
        """The entry with keys and parameters in P4Info's order, as reading gives it."""
        ordered = self._names.from_message(self._names.to_message(entry))
        assert ordered is not None, "our own tables are known"
        return ordered

    def _read(self) -> None:
        self._entries = {key: entry for table in TABLES for key, entry in self._read_table(table).items()}
        wildcard = p4.Entity()
        wildcard.packet_replication_engine_entry.multicast_group_entry.multicast_group_id = 0
        try:
            groups = [e for e in self._client.read([wildcard]) if e.HasField("packet_replication_engine_entry")]
        except SwitchRefused:  # no wildcard there: _write_group finds out which ones exist
            groups = []
        self._groups = dict(group_from(entity) for entity in groups)

    def _read_table(self, table: str) -> dict[Any, TableEntry]:
        entity = p4.Entity(table_entry=p4.TableEntry(table_id=self._names.table_id(table)))
        read = (self._names.from_message(answer) for answer in self._client.read([entity]))
        return {entry.key: entry for entry in read if entry is not None}
