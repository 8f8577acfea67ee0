"""A switch: a program, its state, its control plane. No socket, thread or clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from emulator.ports.batch import MAX_PORTS, FrameBatch, TxPortTable
from emulator.switch.control import (
    CloneSession,
    Code,
    Control,
    ControlError,
    CounterValue,
    Group,
    Member,
    MeterConfig,
    MeterCounts,
    Replicas,
    Row,
    RowKey,
    TableEntry,
    ValueSetMember,
)
from emulator.switch.engines import CompiledEngine, Engine, InterpretedEngine
from emulator.switch.memory import MULTICAST_GROUPS
from emulator.switch.profiles import ActionProfile
from emulator.switch.tables.match_keys import member_keys
from emulator.switch.tables.tables import Table, check_meter
from emulator.v1model.compiled import CompiledProgram, with_egress_queues
from emulator.v1model.control_view import ArrayView, TupleView
from emulator.v1model.egress_queues import QueueSettings, interval_of
from emulator.v1model.layout import CLONE_SESSIONS
from emulator.v1model.queue_layout import MAX_PRIORITIES

__all__ = ["Switch"]

Thing = TypeVar("Thing")


class Switch(Control):
    """Frames in, frames out; see `Control` for what a control plane may do.

    ``lock`` is held by whoever processes a batch or changes state: the live loop around a slice of its work, the
    control plane around a change. The methods here don't take it themselves.
    """

    def __init__(self, *, ports: TxPortTable | None = None, seed: int = 0) -> None:
        """``seed`` is what the program's random numbers start from, at each load."""
        self._seed = seed
        self._queues: QueueSettings | None = None
        self._queued: tuple[CompiledProgram, CompiledProgram] | None = None
        """The program for which queues were prepared last, and what was made of it."""
        self.ports = ports if ports is not None else TxPortTable()
        self.lock = threading.Lock()
        self.program: CompiledProgram | None = None
        self._engine: Engine | None = None
        self._groups: dict[int, Replicas] = {}
        self._tables: dict[int, Table] = {}
        self._counters: dict[int, ArrayView] = {}
        self._registers: dict[int, ArrayView] = {}
        self._meters: dict[int, ArrayView] = {}
        self._profiles: dict[int, ActionProfile] = {}
        self._digests: dict[int, TupleView] = {}
        self._value_sets: dict[int, TupleView] = {}
        self._meter_configs: dict[tuple[int, int], MeterConfig] = {}
        self._sessions: dict[int, CloneSession] = {}
        self._members: dict[int, tuple[ValueSetMember, ...]] = {}
        """Members of value sets, by id."""

    # --- Data plane -------------------------------------------------------------------------------------------------

    def load(self, program: CompiledProgram) -> None:
        """Replace the program; all state starts from zero, also the multicast groups."""
        engine = self._make_engine(program)
        engine.seed(self._seed)
        if self._queues is not None:
            engine.set_queues(self._queues, self._with_queues(program))
        self._engine = engine
        self.program = program
        self._groups = {}
        self._tables = {view.id: self._engine.tables[view.name] for view in program.view.tables}
        self._counters = {view.id: view for view in program.view.counters}
        self._registers = {view.id: view for view in program.view.registers}
        self._meters = {view.id: view for view in program.view.meters}
        self._profiles = {view.id: self._engine.profiles[view.name] for view in program.view.profiles}
        self._digests = {view.id: view for view in program.view.digests}
        self._value_sets = {view.id: view for view in program.view.value_sets}
        self._meter_configs = {}
        self._sessions = {}
        self._members = {}

    def _make_engine(self, program: CompiledProgram) -> Engine:
        make = CompiledEngine if program.engine == "llvm" else InterpretedEngine
        return make(program, self.ports)

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """Run all frames of the batch. Returns when the switch wants to be called at the latest though no frame comes:
        when a packet leaves its egress queue; None: never."""
        next_ns = self._loaded.process(batch, now_ns)
        return None if next_ns < 0 else next_ns

    @property
    def _loaded(self) -> Engine:
        if self._engine is None:
            raise ControlError(Code.NOT_FOUND, "the switch has no program: load one first")
        return self._engine

    @property
    def program_address(self) -> int:
        """Address of the compiled program,
        ``int64 process(void *context, uint64 *address, uint32 *length, uint32 *port, int64 count, int64 now)``; 0
        for an interpreted program, which only `process` runs."""
        return self._engine.program_address if isinstance(self._engine, CompiledEngine) else 0

    @property
    def context_address(self) -> int:
        """First argument of that function."""
        return self._engine.context_address if isinstance(self._engine, CompiledEngine) else 0

    @property
    def drops(self) -> Mapping[str, int]:
        """What became of packets and copies that left by no port, by reason; zeros are left out."""
        return {reason.words: count for reason, count in self._loaded.drops().items() if count}

    @property
    def faults(self) -> Mapping[str, int]:
        """What the program did without effect (an index out of range), by kind; zeros are left out."""
        return {fault.words: count for fault, count in self._loaded.faults().items() if count}

    @property
    def has_messages(self) -> bool:
        """Whether `take_messages` would find any; may be asked at any time."""
        return self._engine is not None and self._engine.has_messages()

    def take_messages(self) -> list[str]:
        """What the program said with log_msg since the last time, oldest first; what found the log full is lost and
        counted as a fault."""
        return self._loaded.take_messages()

    # --- Tables -----------------------------------------------------------------------------------------------------

    def _table(self, table_id: int) -> Table:
        return _found("table", self._tables, table_id)

    def tables(self) -> Iterator[Table]:
        """All, for whoever looks at entries as they lie."""
        yield from self._tables.values()

    def insert_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).insert(entry)

    def modify_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).modify(entry)

    def delete_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).delete(entry)

    def row_keys(self, table_id: int) -> tuple[RowKey, ...]:
        return self._table(table_id).keys.row_keys()

    def rows(self, table_id: int) -> Iterator[Row]:
        return self._table(table_id).rows()

    def insert_row(self, table_id: int, row: Row, now_ns: int) -> None:
        self._table(table_id).insert_row(row, now_ns)

    def modify_row(self, table_id: int, row: Row) -> None:
        self._table(table_id).modify_row(row)

    def delete_row(self, table_id: int, row: Row) -> None:
        self._table(table_id).delete_row(row)

    def entries(self, table_id: int) -> Iterator[TableEntry]:
        return self._table(table_id).listing()

    def entry(self, table_id: int, key: TableEntry) -> TableEntry:
        return self._table(table_id).entry(key)

    def set_default_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).set_default(entry)

    def reset_default_entry(self, table_id: int) -> None:
        self._table(table_id).reset_default()

    def default_entry(self, table_id: int) -> TableEntry:
        return self._table(table_id).default_entry()

    # --- Action profiles ----------------------------------------------------------------------------------------------

    def _profile(self, profile_id: int) -> ActionProfile:
        return _found("action profile", self._profiles, profile_id)

    def insert_member(self, profile_id: int, member: Member) -> None:
        self._profile(profile_id).insert_member(member)

    def modify_member(self, profile_id: int, member: Member) -> None:
        self._profile(profile_id).modify_member(member)

    def delete_member(self, profile_id: int, member_id: int) -> None:
        self._profile(profile_id).delete_member(member_id)

    def members(self, profile_id: int) -> Iterator[Member]:
        return self._profile(profile_id).members()

    def insert_group(self, profile_id: int, group: Group) -> None:
        self._profile(profile_id).insert_group(group)

    def modify_group(self, profile_id: int, group: Group) -> None:
        self._profile(profile_id).modify_group(group)

    def delete_group(self, profile_id: int, group_id: int) -> None:
        self._profile(profile_id).delete_group(group_id)

    def groups(self, profile_id: int) -> Iterator[Group]:
        return self._profile(profile_id).groups()

    def set_ports_down(self, ports: frozenset[int]) -> None:
        for profile in self._profiles.values():
            profile.set_down(ports)

    # --- Multicast --------------------------------------------------------------------------------------------------

    def insert_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._check_group(group_id)
        if group_id in self._groups:
            raise ControlError(Code.ALREADY_EXISTS, f"multicast group {group_id} exists")
        self._put_group(group_id, replicas)

    def modify_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._check_group_exists(group_id)
        self._put_group(group_id, replicas)

    def delete_multicast_group(self, group_id: int) -> None:
        self._check_group_exists(group_id)
        self._loaded.set_multicast(group_id, ())
        del self._groups[group_id]

    def multicast_groups(self) -> Mapping[int, Replicas]:
        return dict(self._groups)

    def _put_group(self, group_id: int, replicas: Replicas) -> None:
        self._loaded.set_multicast(group_id, replicas)
        self._groups[group_id] = replicas

    def _check_group(self, group_id: int) -> None:
        if not 0 < group_id < MULTICAST_GROUPS:
            raise ControlError(
                Code.OUT_OF_RANGE, f"a multicast group id is 1 .. {MULTICAST_GROUPS - 1}, not {group_id}"
            )

    def _check_group_exists(self, group_id: int) -> None:
        if group_id not in self._groups:
            raise ControlError(Code.NOT_FOUND, f"there is no multicast group {group_id}")

    # --- Clone sessions, value sets, digests --------------------------------------------------------------------------

    def set_clone_session(self, session: CloneSession) -> None:
        if not 0 <= session.session_id < CLONE_SESSIONS:
            raise ControlError(
                Code.OUT_OF_RANGE, f"a clone session's number is 0 .. {CLONE_SESSIONS - 1}, not {session.session_id}"
            )
        self._loaded.set_session(session)
        self._sessions[session.session_id] = session

    def delete_clone_session(self, session_id: int) -> None:
        if session_id not in self._sessions:
            raise ControlError(Code.NOT_FOUND, f"there is no clone session {session_id}")
        self._loaded.set_session(CloneSession(session_id, ()))
        del self._sessions[session_id]

    def clone_sessions(self) -> Mapping[int, CloneSession]:
        return dict(self._sessions)

    def set_value_set(self, value_set_id: int, members: Sequence[ValueSetMember]) -> None:
        view = _found("value set", self._value_sets, value_set_id)
        if len(members) > view.size:
            raise ControlError(Code.RESOURCE_EXHAUSTED, f"value set {view.name} holds {view.size} members")
        self._loaded.set_value_set(view.name, tuple(member_keys(view, member) for member in members))
        self._members[value_set_id] = tuple(members)

    def value_set(self, value_set_id: int) -> tuple[ValueSetMember, ...]:
        _found("value set", self._value_sets, value_set_id)
        return self._members.get(value_set_id, ())

    def has_digests(self, digest_id: int) -> bool:
        return self._loaded.has_digests(_found("digest", self._digests, digest_id).name)

    def take_digests(self, digest_id: int, limit: int) -> list[tuple[int, ...]]:
        return self._loaded.take_digests(_found("digest", self._digests, digest_id).name, limit)

    # --- Egress queues ------------------------------------------------------------------------------------------------

    @property
    def has_queues(self) -> bool:
        """Whether packets go through egress queues, of this program and of those to come."""
        return self._queues is not None

    def prepare_queues(self, program: CompiledProgram | None = None) -> None:
        """Compile what queues need for a program, this one if none is given. Takes as long as compilation the first
        time; without this the first setting, or the load, does it. May be called at any time."""
        program = program or self.program
        if program is not None:
            self._with_queues(program)

    def set_priority_queues(self, count: int) -> None:
        """How many queues each port has, for the values 0 .. ``count`` - 1 of standard_metadata.priority; packets of
        larger ones are dropped. For before the first program."""
        if not 1 <= count <= MAX_PRIORITIES:
            raise ControlError(Code.OUT_OF_RANGE, f"a port has 1 to {MAX_PRIORITIES} priority queues, not {count}")
        settings = self._queues or QueueSettings()
        settings.priorities = count
        self._apply_queues(settings)

    def set_queue_depth(self, packets: int, port: int | None = None, priority: int | None = None) -> None:
        """How many packets a queue holds. None: of all ports, or of all priorities of a port."""
        _check_size("depth of a queue", packets)
        settings = self._queues or QueueSettings()
        settings.depth[_queues_of(settings, port, priority)] = packets
        self._apply_queues(settings)

    def set_queue_rate(self, packets_per_s: int, port: int | None = None, priority: int | None = None) -> None:
        """How many packets may leave a queue in a second, evenly spaced; 0: no limit. None: of all ports, or of all
        priorities of a port, each of which has the rate."""
        _check_size("rate of a queue", packets_per_s)
        settings = self._queues or QueueSettings()
        settings.interval_ns[_queues_of(settings, port, priority)] = interval_of(packets_per_s)
        self._apply_queues(settings)

    def _apply_queues(self, settings: QueueSettings) -> None:
        """Settings stay when a program is replaced (bmv2)."""
        if self._engine is not None:
            assert self.program is not None
            self._engine.set_queues(settings, self._with_queues(self.program))
        self._queues = settings

    def _with_queues(self, program: CompiledProgram) -> CompiledProgram:
        prepared = self._queued
        if prepared is None or prepared[0] is not program:
            prepared = self._queued = program, with_egress_queues(program)
        return prepared[1]

    # --- Counters, meters and registers -------------------------------------------------------------------------------

    def _array(self, kind: str, arrays: dict[int, ArrayView], array_id: int, index: int) -> ArrayView:
        view = _found(kind, arrays, array_id)
        if not 0 <= index < view.size:
            raise ControlError(Code.OUT_OF_RANGE, f"{kind} {view.name} has indices 0 .. {view.size - 1}, not {index}")
        return view

    def read_counter(self, counter_id: int, index: int) -> CounterValue:
        return self._loaded.read_counter(self._array("counter", self._counters, counter_id, index).name, index)

    def write_counter(self, counter_id: int, index: int, value: CounterValue) -> None:
        name = self._array("counter", self._counters, counter_id, index).name
        self._loaded.write_counter(name, index, value)

    def read_meter(self, meter_id: int, index: int) -> MeterConfig | None:
        self._array("meter", self._meters, meter_id, index)
        return self._meter_configs.get((meter_id, index))

    def write_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None:
        view = self._array("meter", self._meters, meter_id, index)
        if config is not None:
            check_meter(config, f"meter {view.name}")
        self._loaded.set_meter(view.name, index, config)
        if config is None:
            self._meter_configs.pop((meter_id, index), None)
        else:
            self._meter_configs[meter_id, index] = config

    def read_meter_counts(self, meter_id: int, index: int) -> MeterCounts:
        return self._loaded.read_meter_counts(self._array("meter", self._meters, meter_id, index).name, index)

    def write_meter_counts(self, meter_id: int, index: int, counts: MeterCounts) -> None:
        self._loaded.write_meter_counts(self._array("meter", self._meters, meter_id, index).name, index, counts)

    def read_register(self, register_id: int, index: int) -> int:
        return self._loaded.read_register(self._array("register", self._registers, register_id, index).name, index)

    def write_register(self, register_id: int, index: int, value: int) -> None:
        view = self._array("register", self._registers, register_id, index)
        if not 0 <= value < 1 << view.width_bits:
            raise ControlError(Code.INVALID_ARGUMENT, f"register {view.name} has {view.width_bits} bits: not {value}")
        self._loaded.write_register(view.name, index, value)


def _queues_of(settings: QueueSettings, port: int | None, priority: int | None) -> tuple[int | slice, int | slice]:
    """Indices into the settings. Raises ControlError."""
    if port is not None and not 0 <= port < MAX_PORTS:
        raise ControlError(Code.OUT_OF_RANGE, f"a port's number is 0 .. {MAX_PORTS - 1}, not {port}")
    if priority is not None and not 0 <= priority < settings.priorities:
        number = "one queue" if settings.priorities == 1 else f"queues 0 .. {settings.priorities - 1}"
        raise ControlError(
            Code.OUT_OF_RANGE, f"each port has {number}, and none for priority {priority} (--priority-queues)"
        )
    every = slice(None)
    return (every if port is None else port), (every if priority is None else priority)


def _check_size(what: str, value: int) -> None:
    if not 0 <= value < 1 << 63:
        raise ControlError(Code.OUT_OF_RANGE, f"the {what} is 0 or more, not {value}")


def _found(kind: str, things: Mapping[int, Thing], number: int) -> Thing:
    if number not in things:
        raise ControlError(Code.NOT_FOUND, f"the program has no {kind} with id {number:#x}")
    return things[number]
