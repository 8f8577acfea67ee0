"""Where the machine's state lives: arrays made to the configuration's sizes, kept and grown between runs."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pspin_model.machine import layout as at
from pspin_model.machine.config import ConfigError, MachineConfig
from pspin_model.machine.costs import CostTable
from pspin_model.machine.layout import TABLES
from pspin_model.machine.loop import entry
from pspin_model.machine.state import WORDS, describe

STREAMS = 16
"""Streams of beats through an L1 that are remembered: more than a core's handler can overlap with at full rate."""

GUARD = 4096
"""Bytes between a context's memories, so that an address slightly out of bounds is recognized."""
LINE = 64
LOCK_BYTES = 4
"""A lock is a word of its context's home L1."""

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(slots=True)
class _Room:
    """How much of a kind of memory contexts have taken."""

    name: str
    size: int
    taken: int = 0

    def take(self, who: str, size: int) -> None:
        if not isinstance(size, int | np.integer) or size < 0:
            raise ConfigError(f"context {who!r}: {self.name} cannot be {size!r} bytes")
        if self.taken + size > self.size:
            raise ConfigError(
                f"context {who!r} requests {size} bytes of {self.name}; "
                f"{self.size - self.taken} of {self.size} are left"
            )
        self.taken += size

    def give_back(self, size: int) -> None:
        self.taken -= size


class MachineMemory:
    """The tables of a machine, and the block of descriptors by which compiled code finds them."""

    def __init__(self, config: MachineConfig, costs: CostTable) -> None:
        self._config = config
        self.arrays: list[tuple[Bytes, Bytes, Bytes]] = []
        self._names: list[str] = []
        self._scratch = _Room("scratchpads in each L1", config.scratchpad_bytes)
        self._handler = _Room("L2 handler memory", config.l2_handler_bytes)
        self._host = _Room("host memory", 1 << 32)
        self._locks = _Room("L1 for locks (a word each)", config.l1_bytes)
        cores = config.clusters * config.cores
        self._stacks = np.empty(cores * config.stack_bytes + 64, np.uint8)
        self.tables = SimpleNamespace(**_empty_tables(config, costs))
        self._block = np.zeros(len(TABLES) * WORDS, np.int64)
        self._fill(cores)

    def _fill(self, cores: int) -> None:
        s, c = self.tables, self._config
        base = (self._stacks.ctypes.data + 63) & ~63
        h = s.cores
        number = np.arange(cores)
        h[:, at.H_STACK] = base + (number + 1) * c.stack_bytes
        h[:, at.H_ENTRY] = entry.address
        h[:, at.H_CORE] = number
        h[:, at.H_CLUSTER] = number // c.cores
        h[:, at.H_PLACE] = number % c.cores
        h[:, at.H_CORES_PER_CLUSTER], h[:, at.H_CLUSTERS] = c.cores, c.clusters
        h[:, at.H_COSTS] = s.costs.ctypes.data
        h[:, [at.H_FEEDBACK, at.H_LEAVING, at.H_STALE, at.H_NEXT, at.H_ASKED]] = -1
        s.clusters[:, at.L_FREE_BYTES] = c.l1_packet_bytes
        nothing = (
            at.L_DISPATCHING, at.L_GATHER, at.L_CHOSEN, at.L_COMMAND_TAKEN, at.L_COLLECT, at.L_COLLECT_CHOSEN,
            at.L_FEEDBACK_TAKEN, at.L_CODE_AT, at.L_TURNS_SINCE,
        )  # fmt: skip
        s.clusters[:, [*nothing, *range(at.L_BURST, at.L_BURST + 3)]] = -1
        s.free_packets[:] = np.arange(c.packet_rows)[::-1]
        s.slots[:] = np.arange(c.tasks_per_cluster)[::-1]
        s.slot_count[:] = c.tasks_per_cluster
        s.commands[:, [at.D_KIND, at.D_CORE]] = -1
        s.clusters[:, at.L_CODE_TURN] = c.cache_turn
        s.tags[:] = -1
        g = s.g
        g[at.G_FREE_PACKETS] = c.packet_rows
        nothing_yet = (
            at.G_LAST_ARRIVAL, at.G_STALL_HEAD, at.G_INGEST_HEAD, at.G_TICK, at.G_TICKED, at.G_PORT_EVENT,
            at.G_PORT_CHOSEN, at.G_FEEDBACK_AT, at.G_PATH_AT, at.G_PATH_READ, at.G_PATH_NEXT,
        )  # fmt: skip
        for place in nothing_yet:
            g[place] = -1
        for place in (at.G_ISSUE_AT, at.G_ISSUE_CHOSEN, at.G_ENGINE_AT, at.G_ENGINE_CLUSTER, at.G_GRANT_CLUSTER):
            g[place : place + 3] = -1

    def address(self) -> int:
        """Where compiled code finds the tables as they are now."""
        describe(vars(self.tables), self._block)
        return int(self._block.ctypes.data)

    def new_context(self, name: str, index: int, scratch: int, handler: int, host: int, locks: int) -> Any:
        """Memories and row of another context."""
        self._scratch.take(name, scratch)
        self._handler.take(name, handler)
        self._host.take(name, host)
        self._locks.take(name, locks * LOCK_BYTES)
        arrays = _with_guards((self._config.clusters, scratch), handler, host)
        self.arrays.append(arrays)
        self._names.append(name)
        s = self.tables
        row = np.zeros((1, at.X_COLUMNS), np.int64)
        x = row[0]
        x[at.X_SCRATCH], x[at.X_SCRATCH_BYTES] = arrays[0].ctypes.data, scratch
        x[at.X_HANDLER_MEMORY], x[at.X_HANDLER_MEMORY_BYTES] = arrays[1].ctypes.data, handler
        x[at.X_HOST], x[at.X_HOST_BYTES] = arrays[2].ctypes.data, host
        x[at.X_LOCK_BASE], x[at.X_LOCKS] = len(s.locks), locks
        more = np.zeros((locks, at.K_COLUMNS), np.int64)
        more[:, [at.K_HOLDER, at.K_HEAD, at.K_TAIL]] = -1
        s.contexts, s.locks = np.concatenate([s.contexts, row]), np.concatenate([s.locks, more])
        return s.contexts[index]

    @property
    def free_scratchpad_bytes(self) -> int:
        """Free bytes of each L1."""
        return self._scratch.size - self._scratch.taken

    def release(self, index: int) -> None:
        """Take a context's memories from it: what its handlers touch of them from now on is a fault."""
        rooms = (self._scratch, self._handler, self._host)
        columns = (at.X_SCRATCH_BYTES, at.X_HANDLER_MEMORY_BYTES, at.X_HOST_BYTES)
        row = self.tables.contexts[index]
        for room, column in zip(rooms, columns, strict=True):
            room.give_back(int(row[column]))
            row[column] = 0
        self._locks.give_back(int(row[at.X_LOCKS]) * LOCK_BYTES)
        row[at.X_LOCKS] = 0

    def place_of(self, address: int, index: int) -> str:
        """The memory of an address, for the error of a context's handler: the same text in every run."""
        for each in (index, *(other for other in range(len(self.arrays)) if other != index)):
            whose = "the" if each == index else f"context {self._names[each]!r}, its"
            scratchpads, handler, host = self.arrays[each]
            for name, array in (("scratchpads", scratchpads), ("handler memory", handler), ("host memory", host)):
                offset = address - array.ctypes.data
                if not -GUARD // 2 <= offset < array.nbytes + GUARD // 2:
                    continue
                if array.ndim == 2 and 0 <= offset < array.nbytes:
                    return f"{whose} scratchpad in cluster {offset // array.shape[1]} at byte {offset % array.shape[1]}"
                return f"{whose} {name} ({array.nbytes} bytes) at byte {offset}"
        for name, table in (("L1 of a packet in cluster", self.tables.l1), ("L2 packet memory, row", self.tables.l2)):
            offset = address - table.ctypes.data
            if 0 <= offset < table.nbytes:
                size = table.shape[-1]
                return f"{name} {offset // (table.nbytes // len(table))} at byte {offset % size}"
        near_zero = -(1 << 31) < address < 1 << 32  # what a handler computed; no memory of ours is there
        return f"address {address:#x}" if near_zero else "an address far from all of the machine's memories"

    def queue(self, rows: Integers, data: Bytes) -> None:
        """Put packets behind those still to be injected."""
        s = self.tables
        done, end = s.g[at.G_INJECTED], s.g[at.G_INJECTABLE]
        left = s.injected[done:end]
        start = int(left[0, at.I_OFFSET]) if len(left) else len(s.injected_data)
        old = s.injected_data[start:]
        left = left.copy()
        left[:, at.I_OFFSET] -= start
        rows[:, at.I_OFFSET] += len(old)
        s.injected, s.injected_data = np.concatenate([left, rows]), np.concatenate([old, data])
        s.g[at.G_INJECTED], s.g[at.G_INJECTABLE] = 0, len(s.injected)

    def begin_run(self) -> None:
        """Room for the records of what is queued."""
        g = self.tables.g
        waiting = int(g[at.G_INJECTABLE] - g[at.G_INJECTED] + g[at.G_ACTIVE])
        self._reserve(records=int(g[at.G_RECORDS]) + waiting + 64)

    def grow(self) -> None:
        """Double the room for records, when the engine's is full."""
        s = self.tables
        self._reserve(2 * len(s.records), 2 * len(s.sent), 2 * len(s.sent_data))

    def _reserve(self, records: int = 0, sent: int = 0, sent_data: int = 0) -> None:
        s = self.tables
        s.records, s.sent = _longer(s.records, records), _longer(s.sent, sent)
        s.sent_data = _longer(s.sent_data, sent_data)

    def end_run(self) -> None:
        """Forget the records of what is over; what goes on keeps its own at the beginning."""
        s = self.tables
        g = s.g
        open_tasks = s.records[: g[at.G_RECORDS], at.T_FEEDBACK] < 0
        places = np.cumsum(open_tasks) - 1
        s.records[: int(open_tasks.sum())] = s.records[: g[at.G_RECORDS]][open_tasks]
        for table, column in ((s.packets, at.P_RECORD), (s.cores, at.H_RECORD)):
            if len(places):
                table[:, column] = places[np.clip(table[:, column], 0, len(places) - 1)]
        g[at.G_RECORDS] = int(open_tasks.sum())
        open_sent = s.sent[: g[at.G_SENT], at.S_CYCLE] < 0
        places = np.cumsum(open_sent) - 1
        s.sent[: int(open_sent.sum())] = s.sent[: g[at.G_SENT]][open_sent]
        if len(places):
            s.commands[:, at.D_SENT] = places[np.clip(s.commands[:, at.D_SENT], 0, len(places) - 1)]
        g[at.G_SENT] = int(open_sent.sum())
        if not open_sent.any():
            g[at.G_SENT_BYTES] = 0
        g[at.G_HOST_WRITES] = g[at.G_FAULTS] = 0


def _with_guards(scratchpads: tuple[int, int], handler: int, host: int) -> tuple[Bytes, Bytes, Bytes]:
    """A context's memories out of one block, so that what is next to them does not change from run to run; each begins
    at a line of the host's cache."""
    sizes = (scratchpads[0] * scratchpads[1], handler, host)
    ends = np.cumsum([GUARD + (size + LINE - 1) // LINE * LINE for size in sizes])
    block = np.zeros(int(ends[-1]) + GUARD + LINE, np.uint8)
    skipped = -block.ctypes.data % LINE
    starts = [skipped + GUARD, *(skipped + int(end) + GUARD for end in ends[:-1])]
    one, two, three = (block[start : start + size] for start, size in zip(starts, sizes, strict=True))
    return one.reshape(scratchpads), two, three


def _longer(table: Any, rows: int) -> Any:
    if rows <= len(table):
        return table
    more = np.zeros((rows, *table.shape[1:]), table.dtype)
    more[: len(table)] = table
    return more


def _empty_tables(c: MachineConfig, costs: CostTable) -> dict[str, Any]:
    cores = c.clusters * c.cores

    def table(*shape: int) -> Integers:
        return np.zeros(shape, np.int64)

    per_core = c.commands_per_core
    return dict(
        g=table(at.G_COLUMNS),
        conf=c.words(),
        costs=costs.words(),
        heap=table(4 * c.packet_rows + 16 * cores + 8 * c.clusters + 1024),
        cores=table(cores, at.H_COLUMNS),
        clusters=table(c.clusters, at.L_COLUMNS),
        packets=table(c.packet_rows, at.P_COLUMNS),
        free_packets=table(c.packet_rows),
        queues=table(c.message_queues, at.Q_COLUMNS),
        ready=table(c.message_queues + 1),
        contexts=table(0, at.X_COLUMNS),
        locks=table(0, at.K_COLUMNS),
        commands=table(2 * cores * per_core, at.D_COLUMNS),
        copy_fifo=table(c.clusters, c.tasks_per_cluster + c.cores * per_core + 1),
        copy_span=table(c.clusters, 2),
        copy_slots=table(c.clusters, c.copies_in_flight),
        ready_fifo=table(c.clusters, c.tasks_per_cluster + 1),
        ready_span=table(c.clusters, 2),
        command_fifo=table(c.clusters, c.cores * per_core + 1),
        command_span=table(c.clusters, 2),
        unit_fifo=table(c.clusters, c.register_places),
        unit_span=table(c.clusters, 2),
        engine_fifo=table(3, c.commands_in_flight + 1),
        engine_span=table(3, 2),
        feedback_fifo=table(c.clusters, c.register_places),
        feedback_span=table(c.clusters, 2),
        slots=table(c.clusters, c.tasks_per_cluster),
        slot_count=table(c.clusters),
        streams=table(c.clusters, STREAMS, 2),
        landings=table(c.clusters, c.tasks_per_cluster + c.cores * per_core + 1, at.N_COLUMNS),
        turns=table(c.clusters, STREAMS, 2),
        tags=table(c.clusters, c.cache_lines),
        lines=table(c.clusters, c.cache_lines),
        refills=table(c.clusters, c.cache_lines),
        injected=table(0, at.I_COLUMNS),
        injected_data=np.zeros(0, np.uint8),
        l2=np.zeros((c.packet_rows, c.max_packet_bytes), np.uint8),
        l1=np.zeros((c.clusters, c.tasks_per_cluster, c.max_packet_bytes), np.uint8),
        records=table(1024, at.T_COLUMNS),
        sent=table(1024, at.S_COLUMNS),
        sent_data=np.zeros(1 << 20, np.uint8),
        host_writes=table(4096, len(at.HOST_WRITES)),
        faults=table(256, at.F_COLUMNS),
    )
