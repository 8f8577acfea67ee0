"""A message core's memory and settings: one block of records, and the address that the compiled functions take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hostagent.protocol.frames import Addresses, Frame, build_frame, ones_complement_sum
from hostagent.protocol.messages.frames import GRANTS, IPV4_CHECKSUM_AT, IPV4_LENGTH_AT, LEAST_PAYLOAD_BYTES
from hostagent.protocol.messages.losses import FIRST_WINDOW
from hostagent.protocol.messages.records import (
    ALL_FREE,
    BEGUN,
    COMPLETION,
    CORE,
    EARLY_MESSAGES,
    ENVELOPE,
    LOSS,
    MATCHED,
    MOST_ENVELOPES,
    MOST_GRANTED,
    MOST_PACKETS,
    MOST_TRANSFERS,
    NONE,
    PACKET,
    REASONS,
    RETAINED_MESSAGES,
    RUNNING,
    SEEN_PACKETS,
    STATISTICS,
    STREAM,
    TRANSFER,
    eager_messages,
    early_fragments,
)
from hostagent.protocol.wire import HEADER_AT, LANES_AT, Header, Kind
from hostagent.protocol.worker.header import IPV4_AT
from hostagent.protocol.worker.round_trip import FIRST_RTO_NS

Array = np.ndarray[Any, Any]

FRAMES = 128
"""Frames in the pool: as many as a shared-memory cable holds."""
MINIMUM_RTO_NS = 4_000_000
"""As for chunks: a little more than one scheduler slice."""


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """What a message core must know about its job, from the lease."""

    job: int
    child: int
    workers: int
    """Ranks of the whole job."""
    epoch: int
    payload_bytes: int
    """Longest payload of a frame."""
    addresses: Addresses
    """Addresses of frames from this host to the aggregator."""
    checksum: bool = True
    """Compute the UDP checksum, and insist on it: the same on all ranks."""
    grant_budget: int = 64
    """Granted frames that all other ranks together may have in flight to this one."""
    minimum_rto_ns: int = MINIMUM_RTO_NS

    def __post_init__(self) -> None:
        if self.payload_bytes < LEAST_PAYLOAD_BYTES:
            raise ValueError(f"payload_bytes is {self.payload_bytes}, must be {LEAST_PAYLOAD_BYTES} or more")
        if not 0 <= self.child < self.workers:
            raise ValueError(f"child is {self.child}, must be below workers, {self.workers}")
        if self.epoch == 0:
            raise ValueError("epoch is 0, must be 1 or more")


class MessageMemory:
    """A core and its memory. ``address`` is the argument of the compiled functions.

    ``pool_address`` and ``stride_bytes`` are address and stride of the ``FRAMES`` frames that the core builds. At
    ``posted_address`` the transport writes, as one uint64 for each frame, the sequence number of its last posting (0:
    none). Both belong to the caller and must outlive the core.
    """

    def __init__(self, settings: MessageSettings, pool_address: int, stride_bytes: int, posted_address: int) -> None:
        self.settings = settings
        workers, eager, early = settings.workers, eager_messages(settings.workers), early_fragments(settings.workers)
        sizes = {
            "core": CORE.itemsize,
            "template": LANES_AT,
            "streams": workers * STREAM.itemsize,
            "transfers": MOST_TRANSFERS * TRANSFER.itemsize,
            "completions": MOST_TRANSFERS * COMPLETION.itemsize,
            "envelopes": workers * MOST_ENVELOPES * ENVELOPE.itemsize,
            "eager": workers * eager * settings.payload_bytes,
            "early": workers * EARLY_MESSAGES * early * settings.payload_bytes,
            "packets": workers * MOST_PACKETS * PACKET.itemsize,
            "losses": workers * MOST_PACKETS * LOSS.itemsize,
            "arrivals": workers * GRANTS * MOST_GRANTED // 8,
            "seen": workers * SEEN_PACKETS // 8,
            "retained": RETAINED_MESSAGES * settings.payload_bytes,
        }
        places, total = {}, 64
        for name, size in sizes.items():
            places[name] = total
            total += (size + 63) // 64 * 64
        self._block = np.zeros(total, np.uint8)
        start = self._block.ctypes.data // 64 * 64
        self.address = start + places["core"]
        self.record: Array = self._part(self.address, CORE.itemsize).view(CORE)
        for name in list(sizes)[1:]:
            self.record[name] = start + places[name]
        self._streams: Array = self._part(start + places["streams"], sizes["streams"]).view(STREAM)
        self._transfers: Array = self._part(start + places["transfers"], sizes["transfers"]).view(TRANSFER)
        self._fill(pool_address, stride_bytes, posted_address)
        self._fill_streams(self._streams)
        self._write_template(start + places["template"])

    def _part(self, address: int, size: int) -> Array:
        offset = address - self._block.ctypes.data
        return self._block[offset : offset + size]

    def _fill(self, pool_address: int, stride_bytes: int, posted_address: int) -> None:
        settings = self.settings
        values = {
            "address": self.address,
            "pool": pool_address,
            "stride_bytes": stride_bytes,
            "posted": posted_address,
            "frames": FRAMES,
            "transfer_mask": MOST_TRANSFERS - 1,
            "eager_messages": eager_messages(settings.workers),
            "early_fragments": early_fragments(settings.workers),
            "retained_free": ALL_FREE,
            "state": RUNNING,
            "any_first": NONE,
            "any_last": NONE,
            "turn": (settings.child + 1) % settings.workers,
        }
        names = ("job", "child", "workers", "epoch", "payload_bytes", "checksum", "grant_budget", "minimum_rto_ns")
        values |= {name: int(getattr(settings, name)) for name in names}
        for name, value in values.items():
            self.record[name] = value

    def _fill_streams(self, streams: Array) -> None:
        lists = ("queue", "begun", "unmatched", "posted", "waiting")
        for name in (*(f"{each}_{end}" for each in lists for end in ("first", "last")), "grant_one", "grant_two"):
            streams[name] = NONE
        rto_ns = max(FIRST_RTO_NS, self.settings.minimum_rto_ns)
        streams["largest_packet"] = -1
        streams["window"], streams["threshold"] = FIRST_WINDOW, MOST_PACKETS
        streams["minimum_rto_ns"] = self.settings.minimum_rto_ns
        streams["rto_ns"] = streams["regrant_ns"] = rto_ns

    def _write_template(self, address: int) -> None:
        """A message's first bytes, with no lengths, checksums or peer; and the sum of its IPv4 header."""
        settings = self.settings
        header = Header(Kind.MESSAGE, settings.job, settings.child, 0, 0, 0)
        start = bytearray(build_frame(Frame(settings.addresses, header))[:LANES_AT])
        start[IPV4_LENGTH_AT : IPV4_LENGTH_AT + 2] = start[IPV4_CHECKSUM_AT : IPV4_CHECKSUM_AT + 2] = b"\0\0"
        self._part(address, LANES_AT)[:] = np.frombuffer(start, np.uint8)
        self.record["ipv4_sum"] = ones_complement_sum(bytes(start[IPV4_AT : HEADER_AT - 8]))

    def fragments(self, number: int) -> tuple[int, int]:
        """Progress of an unfinished transfer: fragments received or acknowledged, and their total; 0 while unknown."""
        transfer = self._transfers[number % MOST_TRANSFERS]
        if int(transfer["state"]) not in (BEGUN, MATCHED):
            return 0, 0
        done = "arrived" if transfer["receives"] else "acknowledged"
        return int(transfer[done]), int(transfer["fragments"])

    def is_full(self, peer: int, receives: bool) -> bool:
        """Whether as many messages from a rank (or to it) as are kept have no receive, so that no more come."""
        first, end = ("match_low", "match_next") if receives else ("peer_low", "next_message")
        stream = self._streams[peer]
        return int(stream[end]) - int(stream[first]) >= MOST_ENVELOPES

    @property
    def retains(self) -> bool:
        """Whether a send that has finished is still to be acknowledged."""
        return int(self.record["retained_free"][0]) != ALL_FREE

    def source(self, number: int) -> int:
        """The rank whose message a receive has."""
        return int(self._transfers[number % MOST_TRANSFERS]["source"])

    def statistics(self) -> dict[str, int]:
        """Counters since the core was made, by the names of ``STATISTICS`` and ``rejected_`` REASONS."""
        names = (*STATISTICS, *(f"rejected_{reason}" for reason in REASONS))
        return {name: int(self.record[name][0]) for name in names}
