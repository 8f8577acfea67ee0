"""Frames of the benchmarks of switches, switches that are set up for them, and the time of a batch in memory.

A frame is in a cell as ports hand them over. Between two timed batches the frames get new keys, drawn from all of a
table's entries, so the lookups of a large table miss the caches as they would live (`switch_loops.switch_rounds`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, FrameBatch
from emulator.ports.port import make_private_ring
from emulator.switch.control import Exact, FieldMatch, Lpm, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.cli.bench.switch_loops import switch_rounds
from hostagent.protocol.frames import Addresses, Frame, build_frame, ipv4_header
from hostagent.protocol.wire import ETHERNET_BYTES, ETHERTYPE_IPV4, HEADER_AT, OFFSET, Header

FRAMES = 1024
ROUTES = 256
SEED = 20
BATCH_FRAMES = 256
"""A batch as a live loop gathers it from four busy ports."""

JOB, EPOCH = 3, 7
WINDOW = 256
CHILDREN = (1, 2)
"""Ports, and numbers of the children less one."""

SWITCH_HOST = 200
CHUNK_AT = HEADER_AT + OFFSET["chunk"]


# --- Frames -------------------------------------------------------------------------------------------------------


def mac_of(host: int) -> int:
    return 0x0200_0000_0000 | host


def ip_of(host: int) -> int:
    return 0x0A00_0000 | host


def routed_frames(frame_bytes: int) -> NDArray[np.uint8]:
    """UDP datagrams to random hosts of 256 routed networks, shape (FRAMES, frame_bytes)."""
    source = np.random.default_rng(SEED)
    frames = np.zeros((FRAMES, frame_bytes), np.uint8)
    macs = mac_of(SWITCH_HOST).to_bytes(6, "big") + mac_of(1).to_bytes(6, "big")
    for row, host in zip(frames, source.integers(0, ROUTES << 8, FRAMES), strict=True):
        ipv4 = ipv4_header(frame_bytes - ETHERNET_BYTES, ip_of(1), 0x0A80_0000 | int(host))
        head = macs + struct.pack(">H", ETHERTYPE_IPV4) + ipv4
        head += struct.pack(">HHHH", 9, 9, frame_bytes - len(head), 0)
        row[: len(head)] = np.frombuffer(head, np.uint8)
    return frames


def contribution(child: int, host: int, lanes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """A child's frame for chunk 0."""
    addresses = Addresses(mac_of(host), mac_of(SWITCH_HOST), ip_of(host), ip_of(SWITCH_HOST))
    header = Header(kind=0, job=JOB, child=child, epoch=EPOCH, chunk=0, operation=0xABCD)
    return np.frombuffer(build_frame(Frame(addresses, header, lanes)), np.uint8)


def contributions(lanes: int) -> NDArray[np.uint8]:
    """Frames of both children, 64 each, shape (2, 64, bytes); the chunk number is to be filled in."""
    values = np.random.default_rng(SEED).integers(0, 1 << 32, (len(CHILDREN), 64, lanes), np.uint32)
    return np.array(
        [[contribution(child, child + 1, numbers) for numbers in frames] for child, frames in enumerate(values)]
    )


class Frames:
    """A batch of frames in cells, all of the same length."""

    def __init__(self, count: int, length_bytes: int, ports: int) -> None:
        self.count = count
        self.stride = CELL_BYTES if length_bytes + FRAME_HEADROOM_BYTES <= CELL_BYTES else 2 * CELL_BYTES
        self.cells = aligned_bytes(count * self.stride).reshape(count, self.stride)
        self.bytes = self.cells[:, FRAME_HEADROOM_BYTES : FRAME_HEADROOM_BYTES + length_bytes]
        self.batch = FrameBatch(count)
        self.batch.count = count
        self.batch.address[:] = address_of(self.cells) + FRAME_HEADROOM_BYTES + np.arange(count) * self.stride
        self.batch.length_bytes[:] = length_bytes
        self.batch.port[:] = np.arange(count) % ports


# --- Switches -----------------------------------------------------------------------------------------------------


def load_switch(traffic: str, lanes: int) -> Switch:
    """A switch with the router or the aggregator and its entries; ports 1 and 2."""
    switch = Switch()
    if traffic == "router":
        switch.load(load("router.p4"))
        routes = inserter(switch, "routes", "set_nhop")
        for network in range(ROUTES):
            routes((Lpm(1, 0x0A80_0000 | network << 8, 24),), (2, mac_of(2)))
        for port in CHILDREN:
            inserter(switch, "source_macs", "set_source")((Exact(1, port),), (mac_of(SWITCH_HOST),))
    else:
        switch.load(load("allreduce.p4", {"LANES": str(lanes)}))
        install_job(switch, CHILDREN, WINDOW)
    return switch


def inserter(switch: Switch, table: str, action: str) -> Callable[..., None]:
    """A function that inserts an entry (match, parameters, priority); names of table and action by their last part."""
    assert switch.program is not None
    view = next(each for each in switch.program.view.tables if each.name.rpartition(".")[2] == table)
    number = next(each.id for each in view.actions if each.name.rpartition(".")[2] == action)

    def insert(match: tuple[FieldMatch, ...], params: tuple[int, ...], priority: int = 0) -> None:
        switch.insert_entry(view.id, TableEntry(match, priority, number, params))

    return insert


def install_job(switch: Switch, ports: Sequence[int], window: int, *, checksum: bool = False) -> None:
    """Entries of the aggregator's job, a child for each port; a child's host number is its port."""

    def put(table: str, action: str, key: tuple[int, ...], params: tuple[int, ...]) -> None:
        inserter(switch, table, action)(tuple(Exact(index, value) for index, value in enumerate(key, 1)), params)

    own_mac, own_ip = mac_of(SWITCH_HOST), ip_of(SWITCH_HOST)
    job = (EPOCH, 0, window, window.bit_length() - 1, 0, (1 << len(ports)) - 1, 1, 1, 0)
    put("jobs", "set_job", (JOB,), job)
    for child, port in enumerate(ports):
        mac, ip = mac_of(port), ip_of(port)
        put("children", "set_child", (JOB, child, port, mac, ip), (1 << child, 1))
        put("peers", "forward", (JOB, child), (port, own_mac, mac, own_ip, ip))
        put("copies", "address_copy", (port, child + 1), (child, 1 << child, own_mac, mac, own_ip, ip, int(checksum)))
    switch.insert_multicast_group(1, tuple((port, child + 1) for child, port in enumerate(ports)))


@dataclass(frozen=True, slots=True)
class Timing:
    """Nanoseconds a frame over many batches."""

    best: float
    median: float


@dataclass(frozen=True, slots=True)
class Keys:
    """What makes frames hit entries."""

    offset: int
    """Offset of the frame's bytes."""
    values: NDArray[np.uint8]
    """[entries, bytes]"""


class RingSwitch:
    """A program on a switch with a ring in memory for each of ports 0, 1, ..."""

    def __init__(self, program: CompiledProgram, ports: int, cells: int) -> None:
        self.switch = Switch()
        self.ports = ports
        self.cells = 1 << (cells - 1).bit_length()
        self._kept = [make_private_ring(self.switch.ports.rings[port], self.cells) for port in range(ports)]
        self.switch.load(program)

    def measure(self, frames: Frames, keys: Keys, batches: int, *, summed: bool = False) -> Timing:
        """Timing of batches whose frames have any of the keys, and IPv4 checksums if ``summed``. Raises RuntimeError
        when the switch dropped one."""
        program, context = self.switch.program_address, self.switch.context_address
        rings, batch = self.switch.ports.ring_address(0), frames.batch.record_address

        def run(times_ns: NDArray[np.int64]) -> None:
            switch_rounds(
                program, context, batch, rings, self.ports, frames.bytes, keys.offset, keys.values, summed, times_ns
            )

        timing = timed(run, batches)
        if self.switch.drops:
            raise RuntimeError(f"the switch dropped frames: {dict(self.switch.drops)}")
        return timing


def timed(run: Callable[[NDArray[np.int64]], object], batches: int) -> Timing:
    """``run`` fills in the nanoseconds of each batch; half as many batches before warm up and don't count."""
    run(np.zeros(batches // 2, np.int64))
    times_ns = np.zeros(batches, np.int64)
    run(times_ns)
    return Timing(float(times_ns.min()) / BATCH_FRAMES, float(np.median(times_ns)) / BATCH_FRAMES)
