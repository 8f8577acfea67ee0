"""``netsum bench switch``: compiled programs on one core, next to loops written by hand for the same work.

Aggregation, compiled and interpreted, frames in memory, no ports: four children contribute to chunk after chunk; every
fourth frame completes one, and its result leaves as four copies. The bare loop (``hand_written``) does the same without
tables, checks of senders, counters or metadata: a bound for what the machine can do. Then a router and a table of
filters (see ``tables``). Figures are nanoseconds per frame in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import aligned_bytes
from emulator.ports.batch import FrameBatch
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.cli.bench.runner import Report, Row
from hostagent.cli.bench.switch_loops import bare_batch
from hostagent.cli.bench.tables import forwarding_rows
from hostagent.cli.bench.traffic import BATCH_FRAMES, CHUNK_AT, Frames, RingSwitch, contribution, install_job
from hostagent.protocol.wire import LANES_AT

CHILDREN = 4
WINDOW = 64
CHUNKS_PER_BATCH = BATCH_FRAMES // CHILDREN
INTERPRETED_CHUNKS = 4
SEED = 20

UDP_CHECKSUM = slice(40, 42)


class Contributions(Frames):
    """One batch of contributions; ``advance`` moves on to the next chunks."""

    def __init__(self, lanes: int, *, checksum: bool, chunks: int = CHUNKS_PER_BATCH) -> None:
        self.lanes, self.checksum, self.chunks = lanes, checksum, chunks
        self.length = LANES_AT + 4 * lanes
        super().__init__(chunks * CHILDREN, self.length, CHILDREN)
        self.first_chunk = 0
        self.values = np.random.default_rng(SEED).integers(0, 2**32, (self.count, lanes), np.uint32)
        for index, values in enumerate(self.values):
            self.bytes[index] = contribution(index % CHILDREN, index % CHILDREN, values)
        self._number()

    def _number(self) -> None:
        """Write chunk numbers, and checksums over them."""
        chunks = self.first_chunk + np.arange(self.count) // CHILDREN
        self.bytes[:, CHUNK_AT : CHUNK_AT + 4] = chunks.astype(">u4").view(np.uint8).reshape(-1, 4)
        self.bytes[:, UDP_CHECKSUM] = 0
        if self.checksum:
            words = np.ascontiguousarray(self.bytes[:, 26:]).view(">u2").astype(np.uint64)
            total = words.sum(axis=1) + 17 + (self.length - 34)
            for _ in range(3):
                total = (total & 0xFFFF) + (total >> 16)
            sums = (0xFFFF - total).astype(">u2")
            sums[sums == 0] = 0xFFFF
            self.bytes[:, UDP_CHECKSUM] = sums.view(np.uint8).reshape(-1, 2)

    def advance(self) -> None:
        self.first_chunk += self.chunks
        self._number()

    @property
    def words(self) -> NDArray[np.uint32]:
        """All cells as 32-bit words, lanes from word 32 on."""
        return self.cells.view(np.uint32)


class AggregatingSwitch(RingSwitch):
    """The program with one job of four children, and a ring for each."""

    def __init__(self, program: CompiledProgram, *, checksum: bool) -> None:
        super().__init__(program, CHILDREN, 2 * CHUNKS_PER_BATCH)
        install_job(self.switch, range(CHILDREN), WINDOW, checksum=checksum)

    def run(self, batch: FrameBatch) -> int:
        """Nanoseconds for the batch; the rings are emptied before."""
        rings = self.switch.ports.rings[:CHILDREN]
        rings["limit"] = rings["tail"] + self.cells
        start = time.perf_counter_ns()
        self.switch.process(batch, 0)
        return time.perf_counter_ns() - start

    def results(self) -> int:
        """How many result frames have left."""
        return int(self.switch.ports.rings["frames"][:CHILDREN].sum())


def measure_switch(program: CompiledProgram, lanes: int, *, checksum: bool, batches: int) -> float:
    """Best nanoseconds per frame; raises when the switch did not aggregate every frame. The interpreter gets shorter
    batches, for it takes milliseconds per frame."""
    chunks = CHUNKS_PER_BATCH if program.engine == "llvm" else INTERPRETED_CHUNKS
    frames = Contributions(lanes, checksum=checksum, chunks=chunks)
    switch = AggregatingSwitch(program, checksum=checksum)
    best = float("inf")
    for _ in range(batches):
        best = min(best, switch.run(frames.batch) / frames.count)
        frames.advance()
    expected = batches * frames.count
    if switch.results() != expected:
        raise RuntimeError(f"{switch.results()} result frames instead of {expected}: drops {dict(switch.switch.drops)}")
    return best


def measure_bare(lanes: int, batches: int) -> float:
    """Best nanoseconds per frame of the loop written by hand."""
    frames = Contributions(lanes, checksum=False)
    slots = np.zeros((2 * WINDOW, 2), np.uint64)
    sums = np.zeros((2 * WINDOW, lanes), np.uint32)
    words_per_cell = frames.stride // 4
    out = aligned_bytes(CHILDREN * CHUNKS_PER_BATCH * frames.stride).view(np.uint32).reshape(-1, words_per_cell)
    best = float("inf")
    for _ in range(batches + 1):
        start = time.perf_counter_ns()
        results = bare_batch(frames.words, frames.words.view(np.uint8), out, slots, sums, lanes, WINDOW, CHILDREN)
        elapsed = time.perf_counter_ns() - start
        if results != frames.count:
            raise RuntimeError(f"the bare loop gave {results} results instead of {frames.count}")
        best = min(best, elapsed / frames.count)
        frames.advance()
    return best


def measure(lanes: Iterable[int] = (64, 256, 2048)) -> Report:
    """Aggregation; then the router with 10,000 routes and a table of 1,000 filters, next to a loop without tables."""
    rows = [row for count in lanes for row in aggregation_rows(count)]
    details = {"children": CHILDREN}
    title = "compiled P4 programs on one core, in memory, best batch"
    return Report("switch", title, [*rows, *forwarding_rows()], SEED, details=details)


def aggregation_rows(lanes: int, batches: int = 200) -> list[Row]:
    """Compiled and interpreted, without and with UDP checksums; the bare loop computes none."""
    bare = measure_bare(lanes, batches)
    rows = [Row(f"{lanes} lanes, bare loop", bare, "ns/frame", details={"lanes": lanes, "engine": "bare loop"})]
    programs = {
        engine: load("allreduce.p4", {"LANES": str(lanes)}, engine=engine) for engine in ("llvm", "interpreter")
    }
    for checksum in (False, True):
        for engine, program in programs.items():
            rounds = batches if engine == "llvm" else 1
            figure = measure_switch(program, lanes, checksum=checksum, batches=rounds)
            name = f"{lanes} lanes, {'compiled' if engine == 'llvm' else engine}{', checksums' if checksum else ''}"
            details = {"lanes": lanes, "engine": engine, "checksum": checksum}
            rows.append(Row(name, figure, "ns/frame", "bare loop", bare, details=details))
    return rows
