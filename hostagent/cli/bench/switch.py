"""``netsum bench switch``: compiled programs on one core, next to loops written by hand for the same work.

Aggregation, compiled and interpreted, frames in memory, no ports: four children contribute to chunk after chunk; every
fourth frame completes one, and its result leaves as four copies. The bare loop (``hand_written``) does the same without
tables, checks of senders, counters or metadata: a bound for what the machine can do. Then a router and a table of
filters (see ``tables``). Figures are nanoseconds per frame in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch
from emulator.switch.control import Exact, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.cli.bench.hand_written import bare_batch
from hostagent.cli.bench.runner import Report, Row
from hostagent.cli.bench.tables import forwarding_rows

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
