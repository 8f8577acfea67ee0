"""The wire format of the aggregation protocol, declared once.

``HEADER`` is the declaration: name, width and meaning of every field, in order, big endian, no padding. The codec here,
the compiled builders and checkers (through ``OFFSET``), the scapy layer (``dissector.py``) and the documentation's
table (``markdown_table``) derive from it; a test compares it with the headers of ``p4src``.

A frame is Ethernet | IPv4 (no options) | UDP | header | lanes. Lanes are 32 bits each. A full frame carries the job's
number of lanes; a short one, a contribution without data or a result for a child that needs no lanes, carries none. Of
the kinds in ``FORWARDED_KINDS`` the header is followed by bytes instead, as many as the UDP length leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

ETHERTYPE_IPV4 = 0x0800
PROTOCOL_UDP = 17
NETSUM_PORT = 48864
"""UDP port, source and destination. Inside SwitchML's range of 16 ports (0xBEE0), whose descendant this is."""
NETSUM_VERSION = 2
FLAG_NO_DATA = 1
"""Flag of a contribution that is counted without being added."""
FLAG_SHORT_RESULT = 2
"""Flag of a contribution: its sender needs no lanes of the result. Flag of a result: it has none, as was asked."""

NEARBY_SLOTS = 8
"""Reported in a result: 1, 2, 4 ... 128 before its own, two bits each in ``peer``, the nearest one's lowest."""
NEARBY_UNKNOWN, NEARBY_ABSENT, NEARBY_PRESENT = 0, 1, 2
"""Nothing is known; in the newest chunk of the slot, or in one that others are still to contribute to, the receiver's
contribution is not; it is."""

ETHERNET_BYTES = 14
IPV4_BYTES = 20
UDP_BYTES = 8
LANE_BYTES = 4
TIME_TO_LIVE = 64
ECN_FIELD, ECN_CAPABLE, ECN_MARKED = 3, 2, 3
"""Of the IPv4 header's second byte (RFC 3168, section 5): the field, ECT(0), and CE, which a long queue sets."""


class Kind(IntEnum):
    """What a frame is. Contributions go to the aggregator, results, waiting and errors come from it; the kinds in
    ``FORWARDED_KINDS`` go from one child through it to another."""

    CONTRIBUTION = 0
    RESULT = 1
    WAITING = 2
    """The chunk is not complete: lanes 0 and 1 are the bitmap of who has come, high word first."""
    ERROR = 3
    """Two children disagree on the operation: lanes 0 to 3 are the first's hash, the other's, and the two children."""
    MESSAGE = 4
    """Bytes of one child for another."""
    ACKNOWLEDGEMENT = 5
    """Acknowledgement of messages, from destination to source: ``child`` is the former and ``peer`` the latter."""


FORWARDED_KINDS = (Kind.MESSAGE, Kind.ACKNOWLEDGEMENT)
"""Kinds of frames that an aggregator forwards; it replaces only their addresses."""


class Operator(IntEnum):
    """What the aggregator does with the lanes of a chunk."""

    SUM = 0
    """Addition modulo 2^32."""
    MAX = 1
    """Maximum of two's complement numbers."""
    SERVED = 2
    """A data chunk of an operation that a server of weights answers: see ``served``."""
    ANNOUNCE = 3
    """The first chunk of such an operation: what it is."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the header."""

    name: str
    width_bits: int
    meaning: str


HEADER = (
    Field("version", 8, "2"),
    Field("kind", 8, "0 contribution, 1 result, 2 waiting, 3 error, 4 message, 5 acknowledgement"),
    Field("job", 16, "the process group"),
    Field("child", 16, "which contributor of the job sends, or is answered"),
    Field(
        "flags",
        8,
        "bit 0, no_data: counted without being added; bit 1, short_result: the sender needs no lanes of the result",
    ),
    Field("operator", 8, "0 sum, 1 max; of a server of weights 2 served, 3 announce"),
    Field("lanes", 16, "32-bit lanes that follow: all of the job's, or none; of kinds 4 and 5 none"),
    Field("peer", 16, "of kinds 4 and 5: the child that it is for; of kind 1 the nearby slots (section 5.4); else 0"),
    Field("epoch", 32, "incarnation of the job on its aggregator, never 0"),
    Field("chunk", 32, "number of the chunk in the job, of kind 4 of the message between its two children, mod 2^32"),
    Field(
        "operation", 32, "hash of the operation's kind, type, count, root and sequence number; of kind 4 the fragment"
    ),
)


def _offsets() -> dict[str, int]:
    offsets, bits = {}, 0
    for field in HEADER:
        offsets[field.name] = bits // 8
        bits += field.width_bits
    return offsets


OFFSET = _offsets()
"""Bytes from the header's start to each field."""
HEADER_BYTES = sum(field.width_bits for field in HEADER) // 8
HEADER_AT = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
"""Bytes from the frame's start to the header."""
LANES_AT = HEADER_AT + HEADER_BYTES
"""Bytes from the frame's start to lane 0; also the length of a short frame."""
UDP_SHORT_BYTES = UDP_BYTES + HEADER_BYTES
"""UDP length of a short frame."""


class WireError(ValueError):
    """Bytes that are not what they should be; the message says which part, what it is and what it should be."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header's fields as numbers; see ``HEADER`` for meanings."""

    kind: int
    job: int
    child: int
    epoch: int
    chunk: int
    operation: int
    operator: int = Operator.SUM
    flags: int = 0
    lanes: int = 0
    peer: int = 0
    version: int = NETSUM_VERSION


def encode_header(header: Header) -> bytes:
    """The header's bytes. Raises WireError when a field does not fit its width."""
    parts = []
    for field in HEADER:
        value = int(getattr(header, field.name))
        if not 0 <= value < 1 << field.width_bits:
            raise WireError(f"header field {field.name} is {value}, which does not fit {field.width_bits} bits")
        parts.append(value.to_bytes(field.width_bits // 8, "big"))
    return b"".join(parts)


def decode_header(data: bytes) -> Header:
    """The header at the start of ``data``; what follows is the caller's. Raises WireError when cut short."""
    if len(data) < HEADER_BYTES:
        raise WireError(f"header is {len(data)} bytes, should be {HEADER_BYTES}")
    values = {}
    for field in HEADER:
        start = OFFSET[field.name]
        values[field.name] = int.from_bytes(data[start : start + field.width_bits // 8], "big")
    return Header(**values)


def full_frame_bytes(lanes: int) -> int:
    """Length of a frame with that many lanes, from the first byte of Ethernet to the last lane."""
    return LANES_AT + LANE_BYTES * lanes


def markdown_table() -> str:
    """The header as a table for the documentation."""
    rows = ["| field | bits | byte | meaning |", "|---|---|---|---|"]
    rows += [f"| {field.name} | {field.width_bits} | {OFFSET[field.name]} | {field.meaning} |" for field in HEADER]
    return "\n".join(rows) + "\n"
