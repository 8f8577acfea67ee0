"""``netsum bench tables``: table lookups by kind of key and table size, next to a loop without a table.

One core, frames in memory, no ports. Every frame hits; its key is drawn at random from all entries, and batch follows
batch as in a live loop, without Python between. The limit is a compiled loop of ours that parses, rewrites and writes
the same frames out, without a table. Figures are nanoseconds a frame; the best batch is the machine's, the median is
the machine's and its other users'.

No lookup is flat on a machine with caches: the same loop is measured reading one cache line at random, of as many as a
table has entries, as the baseline of a table's line in the picture.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import aligned_bytes, table_bytes
from emulator.ports.batch import CELL_BYTES
from emulator.switch.control import Exact, FieldMatch, Lpm, Range, Ternary
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.cli.bench.runner import Report, Row
from hostagent.cli.bench.switch_loops import limit_rounds
from hostagent.cli.bench.traffic import BATCH_FRAMES, Frames, Keys, RingSwitch, Timing, inserter, timed

PORTS = 4
FRAME_BYTES = 64
DESTINATION = 30
"""Offset of an IPv4 frame's destination address."""
SIZES = (10, 100, 1_000, 10_000, 100_000)
BATCHES = 4_000
"""A million frames, so ten for each entry of the largest table."""
SEED = 4
LIMIT, TOUCH, ROUTER = "limit", "limit + 1 line", "router.p4"
"""Names of rows; the limit without a table, and reading one cache line at random of as many as there are entries."""
LINE_WORDS = 8
PROGRAM = Path(__file__).parent / "bench_table.p4"
ACTION_PARAMS = (1, 0x0200_0000_0001)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Entries, and for each what makes a frame hit it."""

    entries: list[tuple[tuple[FieldMatch, ...], int]]
    """(match, priority)"""
    keys: Keys


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table to measure."""

    name: str
    keys: str
    """The table's keys in P4."""
    frame: Callable[[], bytes]
    draw: Callable[[int, random.Random], Drawn]
    largest: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """One measurement."""

    table: str
    entries: int
    ns_per_frame: float
    """Time in the best batch."""
    median_ns: float
    million_per_second: float
    ratio_to_limit: float
    insert_us: float
    """Mean time of the processor for an insertion through the control interface; 0 for the limits."""


# --- Frames and entries -------------------------------------------------------------------------------------


def ipv4_frame(protocol: int = 17) -> bytes:
    header = bytes([0x45, 0, 0, FRAME_BYTES - 14, 0, 0, 0, 0, 64, protocol, 0, 0]) + bytes([192, 168, 0, 1, 0, 0, 0, 0])
    return (bytes(12) + b"\x08\x00" + header).ljust(FRAME_BYTES, b"\0")


def ipv6_frame() -> bytes:
    return (bytes(12) + b"\x86\xdd" + bytes([0x60, 0, 0, 0, 0, 0, 17, 64])).ljust(FRAME_BYTES, b"\0")


def batch_of(content: bytes) -> Frames:
    """A batch of frames with the same headers."""
    frames = Frames(BATCH_FRAMES, FRAME_BYTES, PORTS)
    frames.bytes[:] = np.frombuffer(content, np.uint8)
    return frames


def _big(values: Sequence[int], size_bytes: int) -> NDArray[np.uint8]:
    content = b"".join(value.to_bytes(size_bytes, "big") for value in values)
    return np.frombuffer(content, np.uint8).reshape(-1, size_bytes)


def exact_entries(count: int, source: random.Random) -> Drawn:
    values = source.sample(range(1 << 32), count)
    return Drawn([((Exact(1, value),), 0) for value in values], Keys(DESTINATION, _big(values, 4)))


ROUTE_LENGTHS = ((16, 2), (18, 3), (20, 8), (22, 12), (23, 10), (24, 55), (32, 10))
"""(prefix length, weight): about what a backbone router has (CIDR report), and some hosts."""


def _prefixes(
    count: int, source: random.Random, width: int, lengths: Sequence[tuple[int, int]], blocks: Sequence[int] = ()
) -> tuple[list[tuple[int, int]], list[int]]:
    """Distinct prefixes, anywhere or in the blocks, and an address in each that may lie in a longer one too."""
    found: dict[tuple[int, int], None] = {}
    while len(found) < count:
        (length,) = source.choices([n for n, _ in lengths], [w for _, w in lengths])
        value = source.choice(blocks) | source.getrandbits(16) if blocks else source.getrandbits(width)
        found[value >> (width - length) << (width - length), length] = None
    return list(found), [value | source.getrandbits(width - length) if length < width else value
                         for value, length in found]  # fmt: skip


def lpm_entries(count: int, source: random.Random) -> Drawn:
    prefixes, addresses = _prefixes(count, source, 32, ROUTE_LENGTHS)
    return Drawn([((Lpm(1, *prefix),), 0) for prefix in prefixes], Keys(DESTINATION, _big(addresses, 4)))


def crowded_entries(count: int, source: random.Random) -> Drawn:
    """The same lengths, fifty entries in each block of 2 ** 16 addresses, as where the internet is dense."""
    blocks = [source.getrandbits(16) << 16 for _ in range(-(-count // 50))]
    prefixes, addresses = _prefixes(count, source, 32, ROUTE_LENGTHS[1:], blocks)
    return Drawn([((Lpm(1, *prefix),), 0) for prefix in prefixes], Keys(DESTINATION, _big(addresses, 4)))


def lpm6_entries(count: int, source: random.Random) -> Drawn:
    """All below 2000::/3, most of them /48."""
    lengths = ((29, 5), (32, 20), (40, 10), (44, 10), (48, 45), (64, 10))
    found, addresses = _prefixes(count, source, 125, lengths)
    prefixes = [(1 << 125 | value, length + 3) for value, length in found]
    return Drawn([((Lpm(1, *p),), 0) for p in prefixes], Keys(38, _big([1 << 125 | a for a in addresses], 16)))


def ternary_entries(count: int, source: random.Random) -> Drawn:
    """Filters over addresses, protocol and ports (104 bits, from byte 23 on); every entry has its own masks."""
    entries, keys = [], []
    for priority in range(count, 0, -1):
        values = [source.getrandbits(32), source.getrandbits(32), source.getrandbits(8), source.getrandbits(16)]
        masks = [_mask(source, 32), _mask(source, 32), source.choice([0, 0xFF]), source.choice([0, 0xFFFF])]
        low = source.getrandbits(16)
        high = source.choice([low, 0xFFFF, min(0xFFFF, low + 100)])
        match: list[FieldMatch] = [
            Ternary(i, value & mask, mask) for i, (value, mask) in enumerate(zip(values, masks, strict=True), 1) if mask
        ]
        entries.append(((*match, Range(5, low, high)), priority))
        source_, destination, protocol, port = values
        parts = ((protocol, 1), (0, 2), (source_, 4), (destination, 4), (port, 2), (low, 2))
        keys.append(b"".join(value.to_bytes(size, "big") for value, size in parts))
    return Drawn(entries, Keys(23, np.frombuffer(b"".join(keys), np.uint8).reshape(count, -1)))


def _mask(source: random.Random, width: int) -> int:
    """A prefix, or any bits."""
    ones = (1 << width) - 1
    return ones ^ ones >> source.randrange(8, width + 1) if source.random() < 0.8 else source.getrandbits(width)


KINDS = (
    Kind("exact", "hdr.ipv4.destination: exact;", ipv4_frame, exact_entries, 100_000),
    Kind("lpm", "hdr.ipv4.destination: lpm;", ipv4_frame, lpm_entries, 100_000),
    Kind("lpm, crowded", "hdr.ipv4.destination: lpm;", ipv4_frame, crowded_entries, 100_000),
    Kind("lpm, 128 bits", "hdr.ipv6.destination: lpm;", ipv6_frame, lpm6_entries, 100_000),
    Kind(
        "ternary",
        "hdr.ipv4.source: ternary; hdr.ipv4.destination: ternary; hdr.ipv4.protocol: ternary;"
        " hdr.ports.source: ternary; hdr.ports.destination: range;",
        ipv4_frame,
        ternary_entries,
        10_000,
    ),
)


# --- Measuring --------------------------------------------------------------------------------------------------


def table_program(kind: Kind, size: int) -> CompiledProgram:
    return load(PROGRAM, {"KEYS": kind.keys, "SIZE": str(size)})


def measure_table(kind: Kind, count: int, batches: int) -> tuple[Timing, float]:
    """(time a frame, microseconds an insertion)."""
    drawn = kind.draw(count, random.Random(f"{SEED} {kind.name} {count}"))
    rig, frames = RingSwitch(table_program(kind, kind.largest), PORTS, BATCH_FRAMES), batch_of(kind.frame())
    insert = inserter(rig.switch, "looked_up", "forward")
    start = time.thread_time()
    for match, priority in drawn.entries:
        insert(match, ACTION_PARAMS, priority)
    insert_us = (time.thread_time() - start) / count * 1e6
    return rig.measure(frames, drawn.keys, batches), insert_us


def measure_limit(batches: int, lines: int = 1) -> Timing:
    """The compiled loop that only parses and rewrites, and reads one of ``lines`` cache lines for each frame."""
    frames, keys = batch_of(ipv4_frame()), exact_entries(1000, random.Random(SEED)).keys
    out = aligned_bytes(BATCH_FRAMES * CELL_BYTES).reshape(BATCH_FRAMES, CELL_BYTES)
    counters, touched = np.zeros((PORTS, 2), np.uint64), np.zeros(BATCH_FRAMES, np.int64)
    memory = table_bytes(8 * LINE_WORDS * lines).view(np.int64).reshape(lines, LINE_WORDS)
    memory[:] = 0  # pages that nobody has written are all the same one

    def run(times_ns: NDArray[np.int64]) -> None:
        count = limit_rounds(
            frames.bytes, out, counters, FRAME_BYTES, memory, touched, keys.offset, keys.values, times_ns
        )
        if count != BATCH_FRAMES * len(times_ns):
            raise RuntimeError(f"the bare loop forwarded {count} of {BATCH_FRAMES * len(times_ns)} frames")

    return timed(run, batches)


def measure_router(routes: int, batches: int) -> tuple[Timing, float]:
    """The shipped router: checksums, TTL, MAC addresses, counters, and ``routes`` routes."""
    size = max(4096, 1 << routes.bit_length())
    program = load("router.p4", {"ROUTES": str(size)})
    rig, frames = RingSwitch(program, PORTS, BATCH_FRAMES), batch_of(ipv4_frame())
    prefixes, addresses = _prefixes(routes, random.Random(SEED), 32, ROUTE_LENGTHS)
    for port in range(PORTS):
        inserter(rig.switch, "source_macs", "set_source")((Exact(1, port),), (0x0200_0000_0100 + port,))
    insert = inserter(rig.switch, "routes", "set_nhop")
    start = time.thread_time()
    for i, prefix in enumerate(prefixes):
        insert((Lpm(1, *prefix),), (i % PORTS, 0x0200_0000_0000 + i % PORTS))
    insert_us = (time.thread_time() - start) / routes * 1e6
    keys = Keys(DESTINATION, _big(addresses, 4))
    return rig.measure(frames, keys, batches, summed=True), insert_us


def forwarding_rows() -> list[Row]:
    """The limit, the router with 10,000 routes, and a ternary table with 1,000 entries."""
    ternary = next(kind for kind in KINDS if kind.name == "ternary")
    return rows_of(look_up((1_000,), kinds=(ternary,)))


def measure(sizes: Sequence[int] = SIZES, picture: Path | None = None) -> Report:
    """Every kind and size; also drawn as ``picture``."""
    lookups = look_up(sizes)
    if picture is not None:
        plot(lookups, picture)
    details = {"frame_bytes": FRAME_BYTES}
    return Report("tables", "table lookups on one core, in memory, best batch", rows_of(lookups), SEED, details=details)


def rows_of(lookups: Sequence[Lookup]) -> list[Row]:
    """Rows with the loop without a table as the baseline."""
    limit = next(each for each in lookups if each.table == LIMIT).ns_per_frame
    rows = []
    for each in lookups:
        name = f"{each.table}, {each.entries:,} entries" if each.entries else each.table
        note = f"median {each.median_ns:.0f} ns, {each.million_per_second:.1f} M/s"
        note += f", insertion {each.insert_us:.1f} us" if each.insert_us else ""
        rows.append(Row(name, each.ns_per_frame, "ns/frame", "no table", limit, note, asdict(each)))
    return rows


def look_up(sizes: Sequence[int], *, batches: int = BATCHES, kinds: Sequence[Kind] = KINDS) -> list[Lookup]:
    """The limits, the router with 10,000 routes, and every kind and size."""
    limit = measure_limit(batches)
    rows = [_row(LIMIT, 0, limit, limit, 0.0)]
    rows += [_row(TOUCH, size, measure_limit(batches, size), limit, 0.0) for size in sizes]
    rows.append(_row(ROUTER, 10_000, *_with_limit(measure_router(10_000, batches), limit)))
    for kind in kinds:
        for size in sizes:
            if size <= kind.largest:
                rows.append(_row(kind.name, size, *_with_limit(measure_table(kind, size, batches), limit)))
    return rows


def _with_limit(measured: tuple[Timing, float], limit: Timing) -> tuple[Timing, Timing, float]:
    return measured[0], limit, measured[1]


def _row(table: str, entries: int, timing: Timing, limit: Timing, insert_us: float) -> Lookup:
    return Lookup(table, entries, timing.best, timing.median, 1000 / timing.best, timing.best / limit.best, insert_us)


# --- The picture --------------------------------------------------------------------------------------------------


def plot(rows: Sequence[Lookup], path: str | Path) -> None:
    """Write a picture; the path's ending says which kind (png, svg, pdf)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.5))
    FigureCanvasAgg(figure)
    limit = next(row for row in rows if row.table == LIMIT)
    tables = list(dict.fromkeys(row.table for row in rows if row.table not in (LIMIT, TOUCH, ROUTER)))
    panels = figure.subplots(1, 2)
    for axes, title, chosen in zip(
        panels,
        ("Exact and longest prefix", "Ternary and range, 104 bits, a mask for every entry"),
        ([t for t in tables if not t.startswith("ternary")], [t for t in tables if t.startswith("ternary")]),
        strict=True,
    ):
        for table in chosen:
            _draw(axes, [row for row in rows if row.table == table])
        touch = [row for row in rows if row.table == TOUCH]
        label = "limit, and one of as many cache lines read"
        axes.plot(
            [r.entries for r in touch], [r.ns_per_frame for r in touch], color="black", linestyle="--", label=label
        )
        axes.axhline(limit.ns_per_frame, color="black", linestyle=":", label="limit: parses and rewrites, no table")
        axes.set_title(title)
    for row in rows:
        if row.table == ROUTER:
            panels[0].plot(row.entries, row.ns_per_frame, marker="*", markersize=13, linestyle="none", label=ROUTER)
    for axes in panels:
        axes.set_xscale("log")
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
        axes.set_xlabel("entries in the table")
        axes.set_ylabel("ns a frame: best batch, shaded up to the median")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(loc="upper left", fontsize="small")
    figure.tight_layout()
    figure.savefig(str(path))


def _draw(axes: Any, rows: Sequence[Lookup]) -> None:
    """One table's line; the band up to the median is what the machine's other users cost."""
    sizes, best = [row.entries for row in rows], [row.ns_per_frame for row in rows]
    (line,) = axes.plot(sizes, best, marker="o", label=rows[0].table)
    axes.fill_between(sizes, best, [row.median_ns for row in rows], alpha=0.12, color=line.get_color())
