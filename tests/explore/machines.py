"""The machines of an exploration, as functions: state and event in, state and frames out.

A state is the bytes of everything that the machine's future depends on. It is restored by copying those bytes back into
the live machine: the compiled worker core with its frames and the caller's output, or the compiled P4 program's
registers and the tables of the epoch that is installed. The step itself is the product's machine code.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from emulator.native.jit import njit
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.wire import HEADER_AT, LANES_AT, OFFSET, Kind
from hostagent.protocol.worker import FROZEN, NEVER_NS, REASONS, STATISTICS, TRANSMIT, CoreSettings, core_at
from hostagent.protocol.worker.lists import chunk_of
from hostagent.protocol.worker.records import CHUNK, CORE, NO_LIST, OPERATION
from hostagent.protocol.worker.transmit import clear_ready, emit, set_ready
from tests.explore.scenario import JOB, PORTS, SWITCH_IP, SWITCH_MAC, Scenario, worker_ip, worker_mac
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.worker_core import WorkerCore, operation_of

DELIVER, ALARM, REPEAT, FREEZE, RESUME, RESTART, INSTALL = range(7)
"""Events of one machine. Their arguments: frame; none; chunk (from the base on); none; epoch and base; none; the
same."""
ARGUMENT_BITS = 20
BASE_BITS = 8
"""Of an epoch's argument: its base, as a distance from the scenario's."""

NOW_NS = 10**12
"""Every event of a worker happens at this time of its clock, but for an alarm, which happens when it is due. Afterwards
what the core remembers of times is moved to just before it, see `WorkerMachine.settle`."""


@dataclass(frozen=True, slots=True)
class WorkerView:
    """What the explorer must know of a worker's state."""

    is_done: bool
    has_alarm: bool
    lowest: int
    """Lowest chunk without a result, from the base on."""
    in_flight: int
    """Bitmap of chunks, from the base on."""
    problem: str = ""


NOTHING_TO_SEE = WorkerView(False, False, 0, 0)
"""Of a switch."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a machine is after an event, and the frames that it has sent, each with the port that it leaves by."""

    state: bytes
    frames: list[tuple[int, bytes]]
    view: WorkerView = NOTHING_TO_SEE


class Machine(Protocol):
    """One worker, or one switch."""

    def first(self) -> Step:
        """The beginning."""
        ...

    def act(self, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        """One event in the state that the machine is in. ``frame``: the port that it arrives at, and its bytes."""
        ...

    def step(self, state: bytes, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        """One event in another state."""
        ...

    def restore(self, state: bytes) -> None:
        """Be in another state."""
        ...

    def portable(self) -> bytes:
        """The present state without addresses: the same for every machine with this past."""
        ...


@njit
def repeat_chunk(address: int, number: int, out: int, now_ns: int) -> int:
    """Send a chunk in flight again, whatever the clock says, as the core itself does when it is due."""
    core = core_at(address)
    if chunk_of(core, number).list == NO_LIST:
        return 0
    emit(core, out, 0, number & (core.ring - 1), now_ns)
    return 1


@njit
def advance_early(address: int, number: int) -> None:
    """A fault: a result opens the window for the chunk of the next result, too."""
    core = core_at(address)
    early = number + 2 * core.window
    if chunk_of(core, early).number != early:
        set_ready(core, early)
    if chunk_of(core, number + core.window).list != NO_LIST:
        clear_ready(core, number + core.window)  # it has gone already


class WorkerMachine:
    """One compiled worker core that has submitted all operations."""

    def __init__(self, scenario: Scenario, rank: int) -> None:
        self.scenario, self.rank = scenario, rank
        self.inputs = [inputs_of(scenario, each) for each in range(scenario.workers)]
        self.wanted = wanted_of(scenario, self.inputs)
        addresses = Addresses(worker_mac(rank), SWITCH_MAC, worker_ip(rank), SWITCH_IP)
        settings = CoreSettings(
            JOB, rank, scenario.workers, 1, scenario.lanes, scenario.window, addresses, scenario.base, operation_ring=8
        )
        self.core = WorkerCore(settings, capacity=256)
        self.address = self.core.memory.address
        self.output = np.zeros(scenario.chunks * scenario.lanes, np.int32)
        first = 0
        for number, chunks in enumerate(scenario.operations):
            kind = OperationKind.MAX if number % 2 else OperationKind.SUM
            count = chunks * scenario.lanes
            source = Span(self.inputs[rank].ctypes.data + 4 * first, 0, count)
            output = Span(self.output.ctypes.data + 4 * first, 0, count)
            self.core.submit(operation_of(kind, DType.INT32, count, source, output))
            first += count
        block, record = self.core.memory._block, self.core.record
        ring, start = int(record["ring"][0]), int(record["chunks"][0]) - block.ctypes.data
        self.chunks = block[start : start + ring * CHUNK.itemsize].view(CHUNK)
        self.parts = [block, self.core._pool, self.core.posted.view(np.uint8), self.output.view(np.uint8)]
        self.sizes = [len(part) for part in self.parts]
        self.at_first = record.copy()
        self.fault = WORKER_FAULTS.get(scenario.worker)

    # --- States -----------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        return zlib.compress(b"".join(part.tobytes() for part in self.parts), 1)

    def restore(self, state: bytes) -> None:
        data, at = np.frombuffer(zlib.decompress(state), np.uint8), 0
        for part in self.parts:
            part[:] = data[at : at + len(part)]
            at += len(part)

    def portable(self) -> bytes:
        block = self.parts[0].copy()
        start = self.address - self.parts[0].ctypes.data
        core = block[start : start + CORE.itemsize].view(CORE)
        operations = int(core["operations"][0]) - self.parts[0].ctypes.data
        ring = int(core["operation_ring"][0])
        records = block[operations : operations + ring * OPERATION.itemsize].view(OPERATION)
        for name in ADDRESSES:
            core[name] = 0
        for name in ("input_address", "output_address", "scratch_address"):
            records[name] = 0
        return b"".join(
            part.tobytes()
            for part in (core.view(np.uint8), records.view(np.uint8), self.chunks.view(np.uint8), *self.parts[1:])
        )

    def settle(self) -> None:
        """Replace what the core remembers of time by its order, and forget what has no effect on what it does.

        Durations are not explored: estimates of round trips are those of a path on which every round trip takes 1 ns,
        and of remembered times only the order counts, which is kept exactly.
        """
        record, first = self.core.record[0], self.at_first[0]
        for name in FORGOTTEN:
            record[name] = first[name]
        record["smoothed_rtt_ns"] = record["least_rtt_ns"] = record["path_rtt_ns"] = 1
        record["rto_ns"] = record["minimum_rto_ns"]
        record["backoff"] = min(int(record["backoff"]), 1)
        for name in ("answered_rtt_ns", "repeated_rtt_ns"):
            record[name] = min(int(record[name]), 1)
        record["waiting_chunk"], record["waiting_children"] = -1, 0
        chunks = self.chunks
        idle = chunks["list"] == NO_LIST
        for name in (*TIMES, "tries", "previous", "next", "is_lost"):
            chunks[name][idle] = 0
        chunks["tries"] = np.minimum(chunks["tries"], 3)
        if record["answered_ns"] == 0:
            record["answered_number"] = 0
        places = np.flatnonzero(~idle)
        times = {int(record[name]) for name in CLOCKS}
        times |= {int(chunks[name][place]) for name in TIMES for place in places}
        order = sorted(times - {0})
        moved = {0: 0} | {old: NOW_NS - len(order) + place for place, old in enumerate(order)}
        for name in CLOCKS:
            record[name] = moved[int(record[name])]
        for place in places:
            for name in TIMES:
                chunks[name][place] = moved[int(chunks[name][place])]

    def view(self) -> WorkerView:
        """Of the state that the core is in."""
        scenario, in_flight = self.scenario, 0
        for offset in range(scenario.chunks):
            number = scenario.base + offset
            chunk = self.chunks[number % len(self.chunks)]
            if chunk["number"] == number and chunk["list"] != NO_LIST:
                in_flight |= 1 << offset
        return WorkerView(
            self.core.lowest_unfinished == scenario.base + scenario.chunks,
            self.core.next_timer() < NEVER_NS,
            self.core.lowest_unfinished - scenario.base,
            in_flight,
            self._problem(),
        )

    def _problem(self) -> str:
        """Is every result that is stored the right one?"""
        if self.core.failure:
            return f"worker {self.rank} failed with code {self.core.failure}"
        for offset in range(self.scenario.chunks):
            number = self.scenario.base + offset
            chunk = self.chunks[number % len(self.chunks)]
            lanes = slice(offset * self.scenario.lanes, (offset + 1) * self.scenario.lanes)
            is_stored = chunk["number"] == number and chunk["stored"] != 0
            wanted = self.wanted[lanes] if is_stored else 0
            if (self.output[lanes] != wanted).any():
                return (
                    f"worker {self.rank} has a wrong result of chunk {offset}: lane 0 is {self.output[lanes][0]}, "
                    f"should be {self.wanted[lanes][0]}"
                )
        return ""

    # --- Events -----------------------------------------------------------------------------------------------------

    def first(self) -> Step:
        return self._after(self.transmit(NOW_NS))

    def _after(self, frames: list[tuple[int, bytes]]) -> Step:
        self.settle()
        return Step(self.save(), frames, self.view())

    def step(self, state: bytes, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        self.restore(state)
        return self.act(kind, argument, frame)

    def act(self, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        now_ns, sent = NOW_NS, []
        if kind == DELIVER:
            self.core.receive(frame[1], now_ns)
            if self.fault is not None:
                self.fault(self, frame[1])
        elif kind == ALARM:
            now_ns = max(now_ns, self.core.next_timer())
        elif kind == REPEAT:
            sent = self.repeat(argument)
        elif kind == FREEZE:
            self.core.freeze()
        elif kind == RESUME:
            epoch, base = argument >> BASE_BITS, argument & ((1 << BASE_BITS) - 1)
            self.core.resume(epoch, self.scenario.base + base, now_ns)
        return self._after(sent + self.transmit(now_ns))

    def repeat(self, offset: int) -> list[tuple[int, bytes]]:
        out = np.zeros(1, TRANSMIT)
        count = repeat_chunk(self.address, self.scenario.base + offset, out.ctypes.data, NOW_NS)
        return [(0, self.core._frame(int(each["frame"]), int(each["length"]))) for each in out[:count]]

    def transmit(self, now_ns: int) -> list[tuple[int, bytes]]:
        frames = [(0, frame) for frame in self.core.transmit(now_ns)]
        self.core.completions()
        return frames


def _advance_early(worker: WorkerMachine, frame: bytes) -> None:
    header = header_of(frame)
    if header.kind == Kind.RESULT and worker.core.record["state"][0] != FROZEN:
        advance_early(worker.address, worker.scenario.base + header.chunk)


WORKER_FAULTS: dict[str, Callable[[WorkerMachine, bytes], None]] = {"advances early": _advance_early}
"""Faults for the tests of the explorer: what happens after a frame has been received."""

ADDRESSES = (
    *("address", "fill_function", "store_function", "served_fill_function", "served_store_function", "pool", "posted"),
    *(
        "chunks",
        "operations",
        "completions",
        "ready",
        "blocked",
        "lists",
        "template",
        "scratch",
        "scratch_two",
        "digits",
        "unused_frames",
    ),
)
ESTIMATES = (
    *("rtt_deviation_ns", "worst_deviation_ns", "rtt_variance_ns", "variance_round_ns", "late_share"),
    *("congestion_window", "slow_start", "limited", "best_rate", "rounds", "round_began_ns", "round_least_ns"),
    *("round_samples", "round_results", "round_losses", "lost_round", "starved_rounds", "held_until_round"),
    *("burst", "burst_began_ns", "burst_results"),
    *("hold_rounds", "trial_round", "tried_window", "tried_rtt_ns", "marked_round", "reduced_ns"),
)
FORGOTTEN = (*ESTIMATES, *STATISTICS, *(f"rejected_{reason}" for reason in REASONS))
"""As at the beginning. Without marks a congestion window is never below 4, and no more chunks are in flight here."""
CLOCKS = ("answered_ns", "result_ns", "repeated_ns", "timer_began_ns")
"""Times that a core remembers beside its chunks'. ``round_began_ns`` and ``variance_round_ns`` belong to estimates."""

TIMES = ("first_sent_ns", "sent_ns", "reported_ns")
"""Those of each chunk in flight."""


class SwitchMachine:
    """One compiled P4 switch: its registers, and the tables that the controller writes for an epoch."""

    def __init__(self, scenario: Scenario, switch: int, program: CompiledProgram) -> None:
        self.scenario, self.switch, self.program = scenario, switch, program
        self.aggregator, self.installed = P4Aggregator(program, PORTS), 0
        """The switch, and the argument of the last INSTALL; 0: it has no tables."""
        self.others: dict[int, P4Aggregator] = {}
        """Switches with other tables, for states to be restored into."""

    def registers(self) -> list[np.ndarray[Any, Any]]:
        memory: Any = self.aggregator.switch._loaded
        words = sorted({register.word for register in memory.memory.layout.registers})
        return [memory.memory._arrays[word] for word in words]

    def portable(self) -> bytes:
        return self.save()

    def save(self) -> bytes:
        registers = b"".join(array.tobytes() for array in self.registers())
        return zlib.compress(struct.pack("<q", self.installed) + registers, 1)

    def restore(self, state: bytes) -> None:
        data = zlib.decompress(state)
        self._use(struct.unpack("<q", data[:8])[0])
        registers, at = np.frombuffer(data, np.uint8, offset=8), 0
        for array in self.registers():
            array[:] = registers[at : at + len(array)]
            at += len(array)

    def _use(self, installed: int) -> None:
        """A switch with these tables: they are written once."""
        if installed == self.installed:
            return
        self.others[self.installed] = self.aggregator
        if installed in self.others:
            self.aggregator = self.others.pop(installed)
        else:
            self.aggregator = P4Aggregator(self.program, PORTS)
            if installed:
                self._install(installed)
        self.installed = installed

    def _install(self, argument: int) -> None:
        epoch, base = argument >> BASE_BITS, argument & ((1 << BASE_BITS) - 1)
        self.aggregator.install(self.scenario.entries(self.switch, epoch, self.scenario.base + base))

    def first(self) -> Step:
        return self.act(INSTALL, 1 << BASE_BITS, (0, b""))

    def step(self, state: bytes, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        self.restore(state)
        if kind in (RESTART, INSTALL):
            # The same by exchanging tables: those of this state's epoch stay as they are, for other states with them.
            registers = [array.copy() for array in self.registers()]
            self._use(argument if kind == INSTALL else 0)
            for array, old in zip(self.registers(), registers, strict=True):
                array[:] = old if kind == INSTALL else 0
            return Step(self.save(), [])
        return self.act(kind, argument, frame)

    def act(self, kind: int, argument: int, frame: tuple[int, bytes]) -> Step:
        frames = []
        if kind == RESTART:
            self.aggregator.restart()
            self.installed = 0
        elif kind == INSTALL:
            self._install(argument)
            self.installed = argument
        else:
            frames = self.aggregator.receive(*frame)
        return Step(self.save(), frames)


def make_machines(scenario: Scenario) -> list[WorkerMachine | SwitchMachine]:
    """Workers, then switches."""
    program = load(scenario.program, {"LANES": str(scenario.lanes), "SLOTS": str(scenario.window)})
    workers: list[WorkerMachine | SwitchMachine] = [WorkerMachine(scenario, rank) for rank in range(scenario.workers)]
    return workers + [SwitchMachine(scenario, index, program) for index in range(len(scenario.switches))]


def inputs_of(scenario: Scenario, rank: int) -> np.ndarray[Any, Any]:
    """Of all operations of a rank; such that no other sum of contributions looks like the right one."""
    rng = np.random.default_rng((17, rank))
    return rng.integers(-(2**31), 2**31, scenario.chunks * scenario.lanes).astype(np.int32)


def wanted_of(scenario: Scenario, inputs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    all_inputs = np.array(inputs)
    wanted = all_inputs.sum(0, dtype=np.int32)
    first = 0
    for number, chunks in enumerate(scenario.operations):
        lanes = slice(first * scenario.lanes, (first + chunks) * scenario.lanes)
        if number % 2:
            wanted[lanes] = all_inputs[:, lanes].max(0)
        first += chunks
    return wanted


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """What a trace says of a frame."""

    kind: int
    child: int
    epoch: int
    chunk: int
    bitmap: int


def header_of(frame: bytes) -> FrameHeader:
    def field(name: str, size: int) -> int:
        at = HEADER_AT + OFFSET[name]
        return int.from_bytes(frame[at : at + size], "big")

    bitmap = int.from_bytes(frame[LANES_AT : LANES_AT + 8], "big")
    return FrameHeader(field("kind", 1), field("child", 2), field("epoch", 4), field("chunk", 4), bitmap)
