"""A worker core's memory and settings: one block with all records, and the address that the compiled functions take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emulator.native.calls import entry_address
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.quantizer.blocks import log2_ceiling
from hostagent.protocol.quantizer.exact import DIGITS_BYTES
from hostagent.protocol.window import LARGEST_SHARE
from hostagent.protocol.wire import LANES_AT, Header, Kind, full_frame_bytes
from hostagent.protocol.worker.dequantize_result import store_lanes
from hostagent.protocol.worker.header import TEMPLATE_STRIDE
from hostagent.protocol.worker.latency import latency_counters
from hostagent.protocol.worker.lists import LISTS
from hostagent.protocol.worker.quantize_contribution import fill_lanes
from hostagent.protocol.worker.records import (
    CHUNK,
    COMPLETION,
    CORE,
    FROZEN,
    OPERATION,
    REASONS,
    STATISTICS,
)
from hostagent.protocol.worker.restart import core_resume
from hostagent.protocol.worker.round_trip import FIRST_RTO_NS
from hostagent.protocol.worker.served_lanes import fill_served, store_served

Array = np.ndarray[Any, Any]

RUN_AHEAD_WINDOWS = 7
"""How far beyond the lowest unfinished chunk a worker may go, in windows (PROTOCOL.md, section 6.2)."""
SMALLEST_RING = 128
"""Chunks; a multiple of 64, the width of a bitmap's word, with room for the word that the lowest chunk begins in."""
MINIMUM_RTO_NS = 1_000_000
"""The granularity of RFC 9002. A busy machine answers later now and then, which costs two frames each time."""
MAXIMUM_WORKERS = 1023
"""Class counts have 10 bits; one aggregator has at most 64 children."""


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """What a core must know about its job, from the lease."""

    job: int
    child: int
    workers: int
    """Ranks of the whole job."""
    epoch: int
    lanes: int
    window: int
    """Slots; a power of two."""
    addresses: Addresses
    """Of contributions: from this host to the aggregator."""
    base: int = 0
    """First chunk of the epoch; 0 for a new job."""
    checksum: bool = True
    """Compute the UDP checksum, and insist on it in answers."""
    short_no_data: bool = True
    """Whether contributions without data may come without lanes."""
    largest_window: int = 0
    """The most that the window may become in later epochs; a power of two, the same on every rank. 0: what it is."""
    shorter_path_slots: int = 0
    """Of the window's slots the first ones, whose results come by a shorter path; 0: all come by one."""
    minimum_rto_ns: int = MINIMUM_RTO_NS
    share: int = 1
    """Of a queue that marks, as a multiple of what a TCP flow gets there."""
    operation_ring: int = 1024
    """Operations that may be submitted and not yet reported; a power of two."""

    def __post_init__(self) -> None:
        for name in ("window", "largest_window", "operation_ring"):
            value = getattr(self, name)
            if value & (value - 1) or (value < 1 and name != "largest_window"):
                raise ValueError(f"{name} is {value}, must be a power of two")
        if self.window > (self.largest_window or self.window):
            raise ValueError(f"window is {self.window}, must be at most largest_window, {self.largest_window}")
        if not 4 <= self.lanes <= 0xFFFF:
            raise ValueError(f"lanes is {self.lanes}, must be 4 to 65535")
        if not 1 <= self.workers <= MAXIMUM_WORKERS:
            raise ValueError(f"workers is {self.workers}, must be 1 to {MAXIMUM_WORKERS}")
        if not 1 <= self.share <= LARGEST_SHARE:
            raise ValueError(f"share is {self.share}, must be 1 to {LARGEST_SHARE}")
        if self.epoch == 0:
            raise ValueError("epoch is 0, must be 1 or more")


def ring_chunks(largest_window: int) -> int:
    """Chunks a core keeps, and frames its pool must have: a window more than it may go ahead."""
    return max((RUN_AHEAD_WINDOWS + 1) * largest_window, SMALLEST_RING)


def frame_stride_bytes(lanes: int) -> int:
    """Distance of frames in a pool that puts no frame's lanes across more cache lines than need be."""
    return (full_frame_bytes(lanes) + 63) // 64 * 64


def zeros(size_bytes: int) -> Array:
    """Memory of its own."""
    return np.zeros(size_bytes, np.uint8)


class CoreMemory:
    """A core and its memory. ``address`` is the argument of the compiled functions.

    ``pool_address`` and ``stride_bytes`` say where the ``ring_chunks`` frames are that the core builds contributions
    in; ``posted_address`` where the transport writes, as one uint64 for each frame, the sequence number of its last
    posting (0 for none). Both belong to the caller and must outlive the core. ``allocate`` gives zeroed memory.
    """

    def __init__(
        self,
        settings: CoreSettings,
        pool_address: int,
        stride_bytes: int,
        posted_address: int,
        allocate: Callable[[int], Array] = zeros,
    ) -> None:
        if stride_bytes < full_frame_bytes(settings.lanes):
            raise ValueError(
                f"frames {stride_bytes} bytes apart cannot hold {full_frame_bytes(settings.lanes)} bytes each"
            )
        settings = replace(settings, largest_window=settings.largest_window or settings.window)
        self.settings = settings
        ring, lanes = ring_chunks(settings.largest_window), settings.lanes
        sizes = {
            "core": CORE.itemsize,
            "chunks": ring * CHUNK.itemsize,
            "operations": settings.operation_ring * OPERATION.itemsize,
            "completions": settings.operation_ring * COMPLETION.itemsize,
            "ready": ring // 8,
            "blocked": ring // 8,
            "lists": 16 * LISTS,
            "template": 2 * TEMPLATE_STRIDE,
            "scratch": 8 * lanes,  # a packed chunk has two numbers for each lane
            "scratch_two": 8 * lanes,
            "digits": DIGITS_BYTES,
            "unused_frames": 4 * ring,
        }
        places, total = {}, 64
        for name, size in sizes.items():
            places[name] = total
            total += (size + 63) // 64 * 64
        self._block = allocate(total)
        start = self._block.ctypes.data // 64 * 64
        self.address = start + places["core"]
        offset = self.address - self._block.ctypes.data
        self.record: Array = self._block[offset : offset + CORE.itemsize].view(CORE)
        for name in list(sizes)[1:]:
            self.record[name] = start + places[name]
        self._fill(settings, ring, pool_address, stride_bytes, posted_address)
        chunks_at = start + places["chunks"] - self._block.ctypes.data
        chunks: Array = self._block[chunks_at : chunks_at + sizes["chunks"]].view(CHUNK)
        chunks["number"] = -1
        unused_at = start + places["unused_frames"] - self._block.ctypes.data
        self._block[unused_at : unused_at + 4 * ring].view(np.int32)[:] = np.arange(ring)[::-1]
        self._write_templates(start + places["template"] - self._block.ctypes.data)
        core_resume(self.address, settings.epoch, settings.base, 0)
        self.record["resumptions"] = 0

    def _fill(
        self, settings: CoreSettings, ring: int, pool_address: int, stride_bytes: int, posted_address: int
    ) -> None:
        values = {
            "address": self.address,
            "fill_function": entry_address(fill_lanes),
            "store_function": entry_address(store_lanes),
            "served_fill_function": entry_address(fill_served),
            "served_store_function": entry_address(store_served),
            "workers_log2": log2_ceiling(settings.workers),
            "ahead": RUN_AHEAD_WINDOWS,
            "pool": pool_address,
            "stride_bytes": stride_bytes,
            "posted": posted_address,
            "ring": ring,
            "unused": ring,
            "state": FROZEN,
            "rto_ns": max(FIRST_RTO_NS, settings.minimum_rto_ns),
        }
        names = ("job", "child", "workers", "lanes", "window", "short_no_data", "checksum", "minimum_rto_ns", "share")
        others = ("largest_window", "operation_ring", "shorter_path_slots")
        values |= {name: int(getattr(settings, name)) for name in (*names, *others)}
        values |= dict.fromkeys(("low", "floor", "top", "numbered_end", "retained"), settings.base)
        for name, value in values.items():
            self.record[name] = value

    def _write_templates(self, offset: int) -> None:
        settings = self.settings
        header = Header(Kind.CONTRIBUTION, settings.job, settings.child, 0, 0, 0)
        for lanes in (np.zeros(settings.lanes, np.uint32), np.empty(0, np.uint32)):
            start = build_frame(Frame(settings.addresses, header, lanes))[:LANES_AT]
            self._block[offset : offset + LANES_AT] = np.frombuffer(start, np.uint8)
            offset += TEMPLATE_STRIDE

    def set_window(self, window: int, shorter_path_slots: int) -> None:
        """The window of the next epoch, while the core is frozen: nobody reads it then. Raises ValueError."""
        self.settings = replace(self.settings, window=window, shorter_path_slots=shorter_path_slots)
        self.record["window"], self.record["shorter_path_slots"] = window, shorter_path_slots

    def statistics(self) -> dict[str, int]:
        """Counters since the core was made, by the names of ``STATISTICS`` and ``rejected_`` REASONS; chunks by latency
        (see ``latency``); ``progress/``: the lowest unfinished chunk, and the end of those sent."""
        names = (*STATISTICS, *(f"rejected_{reason}" for reason in REASONS))
        counters = {name: int(self.record[name][0]) for name in names}
        progress = {f"progress/{name}": int(self.record[name][0]) for name in ("low", "top")}
        return counters | progress | latency_counters(self.record["latencies"][0])
