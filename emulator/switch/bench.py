"""How fast the aggregation program runs: compiled, interpreted, and a bare loop written by hand for the same work.

One core, frames in memory, no ports: four children contribute to chunk after chunk, every fourth frame completes one
and its result leaves as four copies. The bare loop (``emulator.switch.bench_bare``) does the same by hand, without
tables, checks of senders, counters or metadata; it is what the machine could do at best. Figures are nanoseconds per
frame in.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch
from emulator.switch.bench_bare import bare_batch
from emulator.switch.control import Exact, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, load

CHILDREN = 4
WINDOW = 64
EPOCH, JOB = 7, 3
LANES_AT = 66
"""Ethernet 14, IPv4 20, UDP 8, protocol header 24."""
CHUNKS_PER_BATCH = 64
"""A batch of 256 frames, as a live loop gathers from four busy ports."""
INTERPRETED_CHUNKS = 4
SEED = 20

CHUNK_DTYPE = np.dtype(">u4")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    lanes: int
    checksum: bool
    engine: str
    ns_per_frame: float
    ratio_to_bare: float
    """How many times the bare loop's time; the bare loop computes no checksum."""


class Frames:
    """One batch of contributions, in cells as a port would hand them over; ``advance`` moves on to the next chunks."""

    def __init__(self, lanes: int, *, checksum: bool, chunks: int = CHUNKS_PER_BATCH) -> None:
        self.lanes, self.checksum, self.chunks = lanes, checksum, chunks
        self.count = chunks * CHILDREN
        self.length = LANES_AT + 4 * lanes
        self.stride = CELL_BYTES if self.length + FRAME_HEADROOM_BYTES <= CELL_BYTES else 2 * CELL_BYTES
        self._cells = aligned_bytes(self.count * self.stride).reshape(self.count, self.stride)
        self.bytes = self._cells[:, FRAME_HEADROOM_BYTES : FRAME_HEADROOM_BYTES + self.length]
        self.first_chunk = 0
        values = np.random.default_rng(SEED).integers(0, 2**32, (self.count, lanes), np.uint32)
        self.bytes[:, LANES_AT:] = values.astype(">u4").view(np.uint8)
        for index in range(self.count):
            header = _headers(index % CHILDREN, lanes, self.length)
            self.bytes[index, :LANES_AT] = np.frombuffer(header, np.uint8)
        self.values = values
        self._number()

    def _number(self) -> None:
        """Write chunk numbers, and checksums over them."""
        chunks = self.first_chunk + np.arange(self.count) // CHILDREN
        self.bytes[:, 58:62] = chunks.astype(CHUNK_DTYPE).view(np.uint8).reshape(-1, 4)
        self.bytes[:, 40:42] = 0
        if self.checksum:
            words = np.ascontiguousarray(self.bytes[:, 26:]).view(">u2").astype(np.uint64)
            total = words.sum(axis=1) + 17 + (self.length - 34)
            for _ in range(3):
                total = (total & 0xFFFF) + (total >> 16)
            sums = (0xFFFF - total).astype(">u2")
            sums[sums == 0] = 0xFFFF
            self.bytes[:, 40:42] = sums.view(np.uint8).reshape(-1, 2)

    def advance(self) -> None:
        self.first_chunk += self.chunks
        self._number()

    def batch(self) -> FrameBatch:
        batch = FrameBatch(self.count)
        batch.count = self.count
        batch.address[:] = address_of(self._cells) + FRAME_HEADROOM_BYTES + np.arange(self.count) * self.stride
        batch.length_bytes[:] = self.length
        batch.port[:] = np.arange(self.count) % CHILDREN
        return batch

    @property
    def words(self) -> NDArray[np.uint32]:
        """All cells as 32-bit words, lanes from word 32 on."""
        return self._cells.view(np.uint32)


def _headers(child: int, lanes: int, length: int) -> bytes:
    ethernet = _mac(200) + _mac(child) + b"\x08\x00"
    ip = bytearray(b"\x45\0" + (length - 14).to_bytes(2, "big") + bytes(4) + b"\x40\x11\0\0" + _ip(child) + _ip(200))
    total = sum(int.from_bytes(ip[i : i + 2], "big") for i in range(0, 20, 2))
    ip[10:12] = (0xFFFF - (total % 0xFFFF)).to_bytes(2, "big")
    udp = (48864).to_bytes(2, "big") * 2 + (length - 34).to_bytes(2, "big") + b"\0\0"
    fields = ((1, 1), (0, 1), (JOB, 2), (child, 2), (0, 1), (0, 1), (lanes, 2), (0, 2), (EPOCH, 4), (0, 4), (0xABCD, 4))
    return ethernet + bytes(ip) + udp + b"".join(value.to_bytes(size, "big") for value, size in fields)


def _mac(host: int) -> bytes:
    return bytes([2, 0, 0, 0, 0, host])


def _ip(host: int) -> bytes:
    return bytes([10, 0, 0, host])


class AggregatingSwitch:
    """The program with one job of four children, and a ring for each."""

    def __init__(self, program: CompiledProgram, *, checksum: bool) -> None:
        self.switch = Switch()
        self._kept: list[Any] = []
        cells = 1
        while cells < 2 * CHUNKS_PER_BATCH:
            cells *= 2
        self.cells = cells
        for port in range(CHILDREN):
            self._ring(port, cells)
        self.switch.load(program)
        self._install(program, checksum=checksum)

    def _ring(self, port: int, cells: int) -> None:
        ring = self.switch.ports.rings[port]
        frames, lengths = aligned_bytes(cells * CELL_BYTES), np.zeros(cells, np.uint32)
        self._kept += [frames, lengths]
        ring["cells"], ring["lengths"] = address_of(frames) + FRAME_HEADROOM_BYTES, address_of(lengths)
        ring["stride_bytes"], ring["mask"], ring["limit"] = CELL_BYTES, cells - 1, cells

    def _install(self, program: CompiledProgram, *, checksum: bool) -> None:
        tables = {t.name: t for t in program.view.tables}
        wanted = int(checksum)

        def insert(name: str, action: str, match: tuple[int, ...], params: tuple[int, ...]) -> None:
            table = tables[name]
            number = next(a.id for a in table.actions if a.name == action)
            exact = tuple(Exact(k.id, v) for k, v in zip(table.keys, match, strict=True))
            self.switch.insert_entry(table.id, TableEntry(exact, 0, number, params))

        log2 = WINDOW.bit_length() - 1
        full = (1 << CHILDREN) - 1
        insert("AllreduceIngress.jobs", "AllreduceIngress.set_job", (JOB,), (EPOCH, 0, WINDOW, log2, 0, full, 1, 1, 0))
        for child in range(CHILDREN):
            mac, ip = (int.from_bytes(f(child), "big") for f in (_mac, _ip))
            own_mac, own_ip = (int.from_bytes(f(200), "big") for f in (_mac, _ip))
            insert(
                "AllreduceIngress.children", "AllreduceIngress.set_child", (JOB, child, child, mac, ip), (1 << child, 1)
            )
            insert(
                "AllreduceEgress.copies",
                "AllreduceEgress.address_copy",
                (child, child + 1),
                (child, own_mac, mac, own_ip, ip, wanted),
            )
        self.switch.insert_multicast_group(1, tuple((child, child + 1) for child in range(CHILDREN)))

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
    frames = Frames(lanes, checksum=checksum, chunks=chunks)
    switch = AggregatingSwitch(program, checksum=checksum)
    best, batch = float("inf"), frames.batch()
    for _ in range(batches):
        best = min(best, switch.run(batch) / frames.count)
        frames.advance()
    wanted = batches * frames.count
    if switch.results() != wanted:
        raise RuntimeError(f"{switch.results()} result frames instead of {wanted}: drops {dict(switch.switch.drops)}")
    return best


def measure_bare(lanes: int, batches: int) -> float:
    """Best nanoseconds per frame of the loop written by hand."""
    frames = Frames(lanes, checksum=False)
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


def run_bench_switch(
    lanes: Iterable[int] = (64, 256, 2048),
    *,
    batches: int = 200,
    json_path: str | Path | None = None,
    quiet: bool = False,
) -> list[Row]:
    """Measure, print a table (unless ``quiet``) and write JSON where asked."""
    rows: list[Row] = []
    for count in lanes:
        bare = measure_bare(count, batches)
        rows.append(Row(count, False, "bare loop", bare, 1.0))
        compiled = load("allreduce.p4", {"LANES": str(count)})
        interpreted = load("allreduce.p4", {"LANES": str(count)}, engine="interpreter")
        for checksum in (False, True):
            for name, program, rounds in (("compiled", compiled, batches), ("interpreter", interpreted, 1)):
                figure = measure_switch(program, count, checksum=checksum, batches=rounds)
                rows.append(Row(count, checksum, name, figure, figure / bare))
    if not quiet:
        print(render(rows))
    if json_path is not None:
        Path(json_path).write_text(json.dumps(report(rows), indent=2) + "\n")
    return rows


def report(rows: list[Row]) -> dict[str, Any]:
    """What the JSON file holds: the figures and what they were measured on."""
    return {
        "benchmark": "switch",
        "unit": "nanoseconds per frame in, one core, best batch",
        "children": CHILDREN,
        "seed": SEED,
        "machine": platform.processor() or platform.machine(),
        "rows": [asdict(row) for row in rows],
    }


def render(rows: list[Row]) -> str:
    lines = [f"{'lanes':>6} {'checksum':>9} {'engine':>12} {'ns/frame':>12} {'x bare loop':>12}"]
    for row in rows:
        checksum = "yes" if row.checksum else "no"
        lines.append(
            f"{row.lanes:>6} {checksum:>9} {row.engine:>12} {row.ns_per_frame:>12,.0f} {row.ratio_to_bare:>12,.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    run_bench_switch()
