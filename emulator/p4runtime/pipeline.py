"""The forwarding pipeline config of a device: the one that runs and, after VERIFY_AND_SAVE, the one to come.

State is carried from program to program as P4Runtime itself would: read out as entities, written in as updates
(`carry_over`). COMMIT does so from the spare switch that has taken the writes since VERIFY_AND_SAVE, and
RECONCILE_AND_COMMIT from the live one, by way of a spare one, so that a state the new program cannot hold is found
before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from emulator.p4.protos import p4runtime_pb2
from emulator.p4runtime import entities
from emulator.p4runtime.entity_tables import DELETE, INSERT, MODIFY
from emulator.p4runtime.errors import RequestError, invalid
from emulator.p4runtime.package import Package, PackageError, unpack
from emulator.p4runtime.schema import Schema, TableSchema, build_schema, check_agreement
from emulator.p4runtime.view import View, run_change
from emulator.switch.control import Control


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program ready to load."""

    p4info: Any
    program: Any
    """What ``SwitchLike.load`` takes."""


class CompileFailure(Exception):
    """The program's author is at fault; the text holds all diagnostics, for people."""


class SwitchLike(Control, Protocol):
    def load(self, program: Any) -> None:
        """Replace the program; all state starts from zero."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the server stands in front of, as functions so that nothing here knows engines or threads."""

    switch: SwitchLike
    """The live one."""
    access: Callable[[], AbstractContextManager[Any]]
    """Keeps its data plane still."""
    compile: Callable[[Package], Compiled]
    """Raises CompileFailure. May take seconds; called without any lock."""
    spare_switch: Callable[[], SwitchLike]
    """A switch without ports."""


@dataclass(frozen=True, slots=True)
class Config:
    """A verified ForwardingPipelineConfig."""

    compiled: Compiled
    message: Any
    """As it was set, with the switch's own P4Info where none was given."""
    schema: Schema


def make_config(message: Any, compiled: Compiled) -> Config:
    """The config to keep: the message, completed by our P4Info. INVALID_ARGUMENT where the P4Info given disagrees."""
    kept = p4runtime_pb2.ForwardingPipelineConfig()
    kept.CopyFrom(message)
    if message.HasField("p4info") and message.p4info.ByteSize():
        check_agreement(compiled.p4info, message.p4info)
    else:
        kept.p4info.CopyFrom(compiled.p4info)
    # The given P4Info agrees with ours in all that the schema holds, so either builds the same one.
    return Config(compiled, kept, build_schema(compiled.p4info))


class Pipeline:
    """Not thread-safe but for `verify`: the caller serialises the rest."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._committed: Config | None = None
        self._saved: Config | None = None
        self._live_view: View | None = None
        self._saved_view: View | None = None
        self._saved_switch: SwitchLike | None = None

    @property
    def view(self) -> View | None:
        """What Read and Write refer to: the saved program's, if there is one ("SetForwardingPipelineConfig")."""
        return self._saved_view or self._live_view

    @property
    def config(self) -> Any | None:
        """The ForwardingPipelineConfig that `view` is about."""
        current = self._saved or self._committed
        return current.message if current else None

    def verify(self, message: Any) -> Config:
        """Unpack and compile. Raises INVALID_ARGUMENT with what is wrong; changes nothing."""
        try:
            compiled = self._target.compile(unpack(message.p4_device_config))
        except (PackageError, CompileFailure) as error:
            raise invalid(str(error)) from error
        return make_config(message, compiled)

    def save(self, config: Config) -> None:
        switch = self._target.spare_switch()
        switch.load(config.compiled.program)
        self._saved, self._saved_switch = config, switch
        self._saved_view = View(config.schema, switch, nullcontext)

    @property
    def has_saved(self) -> bool:
        return self._saved is not None

    def commit(self, config: Config) -> None:
        """Load a program and clear all state; a saved program is forgotten."""
        self._load_live(config)
        self._forget_saved()

    def commit_saved(self) -> None:
        """Load the saved program, with what was written since it was saved."""
        assert self._saved is not None
        assert self._saved_view is not None
        source = self._saved_view
        self._load_live(self._saved, state=source)
        self._forget_saved()

    def reconcile_and_commit(self, config: Config) -> None:
        """Load a program and keep the state. Raises INVALID_ARGUMENT, with nothing changed, where that cannot be."""
        if self.view is None:
            return self.commit(config)
        spare = self._target.spare_switch()
        spare.load(config.compiled.program)
        trial = View(config.schema, spare, nullcontext)
        with self._target.access():  # nothing may pass between reading the state and writing it back
            try:
                carry_over(_unlocked(self.view), trial)
            except RequestError as error:
                raise invalid(f"the program cannot take over the present state: {error.message}") from error
            self._load_live(config, state=trial, locked=True)
        self._forget_saved()
        return None

    def _load_live(self, config: Config, *, state: View | None = None, locked: bool = False) -> None:
        target = self._target
        view = View(config.schema, target.switch, target.access)
        with nullcontext() if locked else target.access():
            target.switch.load(config.compiled.program)
            if state is not None:
                carry_over(state, _unlocked(view))
        self._committed, self._live_view = config, view

    def _forget_saved(self) -> None:
        self._saved = self._saved_view = self._saved_switch = None


def _unlocked(view: View) -> View:
    """The same view, for a caller who is inside ``access`` already; notes are shared."""
    return View(view.schema, view.control, nullcontext, view.notes)


# --- State as entities ------------------------------------------------------------------------------------------


def carry_over(source: View, target: View) -> None:
    """Write all that can be read from ``source`` into the fresh ``target``. Raises RequestError at the first refusal.

    Entries, default entries and groups must all fit. Counters and registers are carried where the new program has
    them under the same id; cells it does not have are dropped, for they are traffic's state and not the controller's.
    """
    for update in _as_updates(source, target):
        run_change(entities.prepare_write(target, update))


def _as_updates(source: View, target: View) -> Iterator[Any]:
    for table in target.schema.tables.values():
        for entity in _changeable_entries(target, table):  # those the program starts with
            yield _update(DELETE, entity)
    for table in source.schema.tables.values():
        for entity in _changeable_entries(source, table):
            yield _update(INSERT, entity)
        if table.id in source.notes.defaults:
            wanted = p4runtime_pb2.TableEntry(table_id=table.id, is_default_action=True)
            for entity in _read(source, table_entry=wanted):
                yield _update(MODIFY, entity)
    groups = p4runtime_pb2.PacketReplicationEngineEntry()
    groups.multicast_group_entry.SetInParent()
    for entity in _read(source, packet_replication_engine_entry=groups):
        yield _update(INSERT, entity)
    for kind, cell in (("counter", p4runtime_pb2.CounterEntry), ("register", p4runtime_pb2.RegisterEntry)):
        yield from _cells(source, target, kind, cell)


def _changeable_entries(view: View, table: TableSchema) -> list[Any]:
    if table.is_const:
        return []
    wanted = p4runtime_pb2.TableEntry(table_id=table.id)
    wanted.counter_data.SetInParent()
    return [entity for entity in _read(view, table_entry=wanted) if not entity.table_entry.is_const]


def _cells(source: View, target: View, kind: str, cell: Any) -> Iterator[Any]:
    ours, theirs = getattr(source.schema, f"{kind}s"), getattr(target.schema, f"{kind}s")
    for object_id in ours.keys() & theirs.keys():
        if kind == "register" and _element(ours[object_id]) != _element(theirs[object_id]):
            continue
        for entity in _read(source, **{f"{kind}_entry": cell(**{f"{kind}_id": object_id})}):
            if getattr(entity, f"{kind}_entry").index.index < theirs[object_id].size:
                yield _update(MODIFY, entity)


def _element(register: Any) -> tuple[int, bool, bool]:
    return (register.width_bits, register.signed, register.is_bool)


def _read(view: View, **kind: Any) -> Iterator[Any]:
    return entities.read(view, p4runtime_pb2.Entity(**kind))


def _update(update_type: int, entity: Any) -> Any:
    return p4runtime_pb2.Update(type=update_type, entity=entity)
