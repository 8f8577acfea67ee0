"""What travels in a sparse reduction: fragments of blocks, as pairs of an index within the block and a value.

A packet is 1,024 bytes with IP and UDP, as in Flare's handlers, and the header is as long as theirs (12 bytes) with
other fields. Theirs has a block's number of fragments in the last one and numbers none, so that a lost or repeated
fragment goes unnoticed; ours numbers them, with 16 bits, so that a block is not limited to 255.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pspin_model.flare.elements import Values

Indices: TypeAlias = np.ndarray[Any, np.dtype[np.uint16]]

PACKET_BYTES = 1024
IP_UDP_BYTES = 28
INDEX_BYTES = 2
HEADER = np.dtype(
    [
        ("block", ">u4"),
        ("reduction", "u1"),
        ("child", "u1"),
        ("pairs", ">u2"),
        ("fragment", ">u2"),
        ("fragments", ">u2"),
    ]
)
"""``fragment`` counts from 0; ``fragments`` is their number for this block and child, in the last one; 0 before: more
are coming."""
EMPTY_BYTES = IP_UDP_BYTES + HEADER.itemsize
"""A packet without pairs."""
MOST_INDICES = 1 << 16
"""Most indices of a block: an index has 16 bits."""
MOST_FRAGMENTS = (1 << 16) - 1
REQUEST = (1 << 16) - 1
"""As ``fragment``: no pairs, but a bit for each fragment that the sender has of the block, from number 0 on, ``pairs``
bytes of them: the others are requested, and those beyond; and as ``fragments`` the requester, of all hosts and switches
of the tree. A fragment's number is always less. Of a dense block a request is the same, without bits."""

SLACK = {1: 64, 2: 32, 4: 16}
"""Pairs of a packet that the expected number of non-zeros leaves free, so that most blocks need one fragment, by an
element's bytes."""
WIDE_SLACK = 16
"""Slack of wider elements than Flare's. [ours]"""


class FragmentError(ValueError):
    """Bytes or pairs that are not a fragment of this reduction."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One packet."""

    block: int
    child: int
    fragment: int
    fragments: int
    """0 where more are coming."""
    indices: Indices
    values: Values

    @property
    def wire_bytes(self) -> int:
        """Size with IP and UDP; a fragment without pairs is a packet, too."""
        return EMPTY_BYTES + len(self.indices) * (INDEX_BYTES + self.values.dtype.itemsize)


def pairs_per_packet(dtype: np.dtype[Any], packet_bytes: int = PACKET_BYTES) -> int:
    """164 for 32-bit values, 246 for 16-bit, 328 for 8-bit."""
    return (packet_bytes - IP_UDP_BYTES - HEADER.itemsize) // (INDEX_BYTES + dtype.itemsize)


def block_span(dtype: np.dtype[Any], density: float, packet_bytes: int = PACKET_BYTES) -> int:
    """Indices of a block of which, at that density, about a packet's worth are set: Flare's rule."""
    if not 0 < density <= 1:
        raise FragmentError(f"density {density}: a part of all elements, above 0 and at most 1")
    span = int((pairs_per_packet(dtype, packet_bytes) - SLACK.get(dtype.itemsize, WIDE_SLACK)) / density)
    return max(1, min(span, MOST_INDICES))


def encode(fragment: Fragment, reduction: int) -> bytes:
    """The UDP payload: header, indices, values; big-endian header, the rest as the cores lay numbers down (little)."""
    head = np.zeros(1, HEADER)
    head["block"], head["reduction"], head["child"] = fragment.block, reduction, fragment.child
    head["pairs"], head["fragment"], head["fragments"] = len(fragment.indices), fragment.fragment, fragment.fragments
    values = fragment.values.astype(fragment.values.dtype.newbyteorder("<"))
    return head.tobytes() + fragment.indices.astype("<u2").tobytes() + values.tobytes()


def decode(data: bytes, dtype: np.dtype[Any]) -> tuple[int, Fragment]:
    """(reduction, fragment). Raises FragmentError for bytes of another length than the header says."""
    if len(data) < HEADER.itemsize:
        raise FragmentError(f"{len(data)} bytes: a fragment's header has {HEADER.itemsize}")
    head = np.frombuffer(data, HEADER, 1)[0]
    pairs = int(head["pairs"])
    length = HEADER.itemsize + pairs * (INDEX_BYTES + dtype.itemsize)
    if len(data) != length:
        raise FragmentError(f"{len(data)} bytes: {pairs} pairs of an index and a {dtype} make {length}")
    values_at = HEADER.itemsize + pairs * INDEX_BYTES
    return int(head["reduction"]), Fragment(
        int(head["block"]),
        int(head["child"]),
        int(head["fragment"]),
        int(head["fragments"]),
        np.frombuffer(data, "<u2", pairs, HEADER.itemsize).astype(np.uint16),
        np.frombuffer(data, dtype.newbyteorder("<"), pairs, values_at).astype(dtype),
    )


def cut(block: int, child: int, indices: Indices, values: Values, per_packet: int, first: int = 0) -> list[Fragment]:
    """Pairs as fragments numbered from ``first``, the last with the total; no pairs make one empty fragment."""
    starts = range(0, max(1, len(indices)), per_packet)
    total = first + len(starts)
    if total > MOST_FRAGMENTS:
        raise FragmentError(f"block {block} makes {total} fragments: {MOST_FRAGMENTS} at most; use smaller blocks")
    return [
        Fragment(
            block,
            child,
            first + number,
            total if number == len(starts) - 1 else 0,
            indices[start : start + per_packet],
            values[start : start + per_packet],
        )
        for number, start in enumerate(starts)
    ]


def encode_request(
    block: int, reduction: int, child: int, held: Iterable[int], most_bytes: int, address: int = 0
) -> bytes:
    """A request's UDP payload. ``held``: numbers of the fragments that the sender has; ``most_bytes``: for the bits;
    ``address``: who in the tree misses something."""
    numbers = [number for number in held if number < 8 * most_bytes]
    bits = np.zeros(8 * (max(numbers, default=-1) // 8 + 1), np.uint8)
    bits[numbers] = 1
    packed = np.packbits(bits, bitorder="little").tobytes()
    head = np.zeros(1, HEADER)
    head["block"], head["reduction"], head["child"] = block, reduction, child
    head["pairs"], head["fragment"], head["fragments"] = len(packed), REQUEST, address
    return head.tobytes() + packed


def requested(data: bytes, fragments: int) -> list[int] | None:
    """The numbers of the fragments that a request asks for; None: the UDP payload is not a request."""
    head = np.frombuffer(data, HEADER, 1)[0]
    if head["fragment"] != REQUEST:
        return None
    bits = np.unpackbits(np.frombuffer(data, np.uint8, int(head["pairs"]), HEADER.itemsize), bitorder="little")
    return [number for number in range(fragments) if number >= len(bits) or not bits[number]]
