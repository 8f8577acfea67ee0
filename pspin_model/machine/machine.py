"""The machine's Python face: contexts, packets in, records out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pspin_model.machine.arguments import MachineError as MachineError
from pspin_model.machine.arguments import packet_bytes, whole_numbers, words
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.costs import RTL_COSTS, CostTable
from pspin_model.machine.events import LAST_CYCLE
from pspin_model.machine.faults import Fault, read_faults
from pspin_model.machine.layout import (
    G_FAULTS,
    G_HOST_WRITES,
    G_L2_PEAK,
    G_NOW,
    G_RECORDS,
    G_SENT,
    G_SENT_BYTES,
    G_STALLS,
    H_BUSY,
    HOST_WRITES,
    INJECTED,
    KIND_COMPLETION,
    L_TASKS,
    RECORD,
    S_CYCLE,
    SENT,
    T_FEEDBACK,
    X_CODE,
    X_LINE,
    X_LINES,
)
from pspin_model.machine.loop import DONE_FULL, DONE_LATE, advance
from pspin_model.machine.memories import MachineMemory

Integers = NDArray[np.int64]

MOST_MESSAGES = 1 << 62
"""Limit of a message's number, so that home clusters can be computed with it."""


class HandlerCode(ABC):
    """What the machine needs of a handler: `pspin_model.handlers.handler` makes one of a Python function,
    `pspin_model.riscv.handler.c_handler` of one in C."""

    name: str
    code_bytes: int
    """Size of its code on the machine."""

    @abstractmethod
    def code(self) -> int:
        """Address of its machine code on the host: a function of one int64, the core."""

    def forget(self) -> None:  # noqa: B027
        """Drop what was kept for the faults of runs that are over."""

    def lines(self, line_bytes: int) -> int:
        """Lines of the instruction cache that its code takes."""
        return -(-self.code_bytes // line_bytes)


@dataclass(frozen=True, slots=True)
class Context:
    """An execution context: handlers and their memories, which may be filled and read between runs."""

    name: str
    index: int
    header: HandlerCode | None
    payload: HandlerCode | None
    completion: HandlerCode | None
    scratchpads: NDArray[np.uint8]
    """(clusters, bytes)"""
    handler_memory: NDArray[np.uint8]
    host: NDArray[np.uint8]
    locks: int

    def handler_name(self, kind: int) -> str:
        """Name of the handler of a kind of task."""
        handler = (self.header, self.payload, self.completion)[kind]
        return f"{self.name}.{handler.name if handler else ('header', 'payload', 'completion')[kind]}"


@dataclass(frozen=True, slots=True)
class Run:
    """What happened since the run before."""

    packets: dict[str, Integers]
    """Per task that is over, in the order the scheduler gave them: the columns of `layout.RECORD`."""
    sent: dict[str, Integers]
    sent_data: NDArray[np.uint8]
    host_writes: dict[str, Integers]
    faults: list[Fault]
    cycles: int
    """The machine's current cycle."""
    busy_cycles: Integers
    """Per core, since the start."""
    tasks: Integers
    """Per cluster, since the start."""
    stalled_cycles: int
    """Cycles that requests waited for cells, since the start."""
    l2_peak_bytes: int

    def payload(self, index: int) -> NDArray[np.uint8]:
        """Bytes of a sent packet."""
        offset = int(self.sent["offset"][index])
        return self.sent_data[offset : offset + int(self.sent["bytes"][index])]


class Machine:
    """A PsPIN switch's processing part, simulated cycle by cycle. See the package's README."""

    def __init__(self, config: MachineConfig | None = None, costs: CostTable = RTL_COSTS) -> None:
        self.config = config or MachineConfig()
        self.costs = costs
        self.memory = MachineMemory(self.config, costs)
        self.contexts: list[Context] = []
        self._code_line = 0

    @property
    def now(self) -> int:
        """The cycle."""
        return int(self.memory.tables.g[G_NOW])

    def context(
        self,
        name: str,
        *,
        payload: HandlerCode | None,
        header: HandlerCode | None = None,
        completion: HandlerCode | None = None,
        scratchpad_bytes: int = 0,
        handler_memory_bytes: int = 0,
        host_bytes: int = 0,
        locks: int = 0,
    ) -> Context:
        """Set up an execution context; refuses what the machine's memories cannot hold."""
        if payload is None and header is None and completion is None:
            raise MachineError(f"context {name!r} has no handler")
        for handler in (header, payload, completion):
            if handler is not None and not isinstance(handler, HandlerCode):
                raise MachineError(f"context {name!r}: {handler!r} is not a handler; decorate it with @handler")
        index = len(self.contexts)
        row = self.memory.new_context(name, index, scratchpad_bytes, handler_memory_bytes, host_bytes, locks)
        for kind, handler in enumerate((header, payload, completion)):
            if handler is None:
                continue
            row[X_CODE + kind] = handler.code()
            row[X_LINES + kind] = handler.lines(self.config.cache_line_bytes)
            row[X_LINE + kind] = self._code_line
            self._code_line += int(row[X_LINES + kind])
        if self._code_line * self.config.cache_line_bytes > self.config.program_bytes:
            raise MachineError(
                f"context {name!r}: its handlers do not fit into program_bytes = {self.config.program_bytes}"
            )
        scratchpads, handler_memory, host = self.memory.arrays[index]
        made = Context(name, index, header, payload, completion, scratchpads, handler_memory, host, locks)
        self.contexts.append(made)
        return made

    def release(self, context: Context) -> None:
        """Give a context's memories back to the machine, for another; its arrays stay the caller's. What comes for it
        from now on is a fault."""
        self.memory.release(context.index)

    @property
    def free_scratchpad_bytes(self) -> int:
        """Bytes of each L1 that no context has."""
        return self.memory.free_scratchpad_bytes

    def hold_code(self, context: Context, cluster: int, lines: int) -> None:
        """Have a cluster's instruction cache hold the last ``lines`` lines of a context's completion handler."""
        tables, row = self.memory.tables, self.memory.tables.contexts[context.index]
        end = int(row[X_LINE + KIND_COMPLETION] + row[X_LINES + KIND_COMPLETION])
        for line in range(end - lines, end):
            tables.tags[cluster, line % self.config.cache_lines] = line

    def inject(
        self,
        context: Context,
        messages: ArrayLike,
        data: NDArray[np.uint8] | Sequence[bytes],
        at: ArrayLike = 0,
        *,
        last: ArrayLike | None = None,
        tags: ArrayLike = 0,
        sources: ArrayLike = 0,
        cores: tuple[int, int] | ArrayLike | None = None,
        contexts: ArrayLike | None = None,
    ) -> None:
        """Queue packets for the network interface, in order. See the README.

        ``contexts``: the index of each packet's context, where they are of several; ``last`` must then be given.
        """
        count = len(data)
        if not count:
            return
        rows = np.zeros((count, len(INJECTED)), np.int64)
        lengths, flat = packet_bytes(data)
        if int(lengths.max()) > self.config.max_packet_bytes or int(lengths.min()) < 1:
            raise MachineError(
                f"packets must have 1 to max_packet_bytes = {self.config.max_packet_bytes} bytes, "
                f"not {int(lengths.min())} to {int(lengths.max())}"
            )
        names = {name: place for place, name in enumerate(INJECTED)}
        of = context.index if contexts is None else contexts
        rows[:, names["context"]] = whole_numbers("contexts", of, count, 0, len(self.contexts) - 1)
        rows[:, names["message"]] = whole_numbers("messages", messages, count, 0, MOST_MESSAGES)
        rows[:, names["bytes"]] = lengths
        rows[:, names["tag"]] = words("tags", tags, count)
        rows[:, names["source"]] = words("sources", sources, count)
        rows[:, names["at"]] = whole_numbers("at, cycles", at, count, 0, LAST_CYCLE)
        rows[:, names["offset"]] = np.cumsum(lengths) - lengths
        ends = self._last(context, rows[:, names["message"]]) if last is None else last
        rows[:, names["last"]] = whole_numbers("last", ends, count, 0, 1)
        if cores is not None:
            pairs = np.broadcast_to(np.asarray(cores, np.int64), (count, 2))
            if pairs.min() < 0 or (pairs[:, 1] < 1).any() or pairs.sum(axis=1).max() > len(self.memory.tables.cores):
                raise MachineError(f"cores: ranges within 0 .. {len(self.memory.tables.cores) - 1}, not {cores!r}")
            rows[:, names["first_core"]], rows[:, names["cores"]] = pairs[:, 0], pairs[:, 1]
        self.memory.queue(rows, flat)

    @staticmethod
    def _last(context: Context, messages: Integers) -> Integers:
        """Ends of messages, where the caller says nothing: the last packet of each, if a handler cares."""
        ends = np.zeros(len(messages), np.int64)
        if context.header is None and context.completion is None:
            return ends
        _, first_from_end = np.unique(messages[::-1], return_index=True)
        ends[len(messages) - 1 - first_from_end] = 1
        return ends

    def run(self, until: int | None = None) -> Run:
        """Let the machine work until nothing is left to do, or to a cycle; may be called again."""
        memory = self.memory
        memory.begin_run()
        for context in self.contexts:
            for handler in filter(None, (context.header, context.payload, context.completion)):
                handler.forget()
        while True:
            why = advance(memory.address(), -1 if until is None else until)
            if why == DONE_LATE:
                raise MachineError(f"the machine's clock ends at cycle {LAST_CYCLE}")
            if why != DONE_FULL:
                break
            memory.grow()
        state = memory.tables
        g = state.g
        run = Run(
            packets=_columns(_over(state.records[: g[G_RECORDS]], T_FEEDBACK), RECORD),
            sent=_columns(_over(state.sent[: g[G_SENT]], S_CYCLE), SENT),
            sent_data=state.sent_data[: g[G_SENT_BYTES]].copy(),
            host_writes=_columns(state.host_writes[: min(g[G_HOST_WRITES], len(state.host_writes))], HOST_WRITES),
            faults=read_faults(state.faults[: min(g[G_FAULTS], len(state.faults))], self.contexts, memory.place_of),
            cycles=self.now,
            busy_cycles=state.cores[:, H_BUSY].copy(),
            tasks=state.clusters[:, L_TASKS].copy(),
            stalled_cycles=int(g[G_STALLS]),
            l2_peak_bytes=int(g[G_L2_PEAK]),
        )
        memory.end_run()
        return run


def _over(table: Integers, column: int) -> Integers:
    return table[table[:, column] >= 0]


def _columns(table: Integers, names: tuple[str, ...]) -> dict[str, Integers]:
    return {name: table[:, place].copy() for place, name in enumerate(names)}
