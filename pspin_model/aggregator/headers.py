"""The first bytes of an answer to a child, as far as they are the same for all: a template in the switch's memory."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from hostagent.protocol.services.aggregator import ChildTerms, JobTerms
from hostagent.protocol.wire import (
    ECN_CAPABLE,
    ETHERTYPE_IPV4,
    FLAG_SHORT_RESULT,
    HEADER_AT,
    IPV4_BYTES,
    LANES_AT,
    NETSUM_PORT,
    PROTOCOL_UDP,
    TIME_TO_LIVE,
    UDP_BYTES,
    Header,
    Kind,
    encode_header,
)


def answer_header(terms: JobTerms, child: ChildTerms, *, is_short: bool = False) -> NDArray[np.uint8]:
    """66 bytes. Kind, operator, chunk and operation are filled in by the handler; the UDP checksum's field holds 1
    where the network interface is to compute it, else 0. ``is_short``: of a result without lanes."""
    lanes, flags = (0, FLAG_SHORT_RESULT) if is_short else (terms.lanes, 0)
    payload_bytes = LANES_AT - HEADER_AT + 4 * lanes
    udp_bytes = UDP_BYTES + payload_bytes
    macs = child.mac.to_bytes(6, "big") + terms.aggregator_mac.to_bytes(6, "big")
    start = struct.pack(">BBHHHBB", 0x45, ECN_CAPABLE, IPV4_BYTES + udp_bytes, 0, 0, TIME_TO_LIVE, PROTOCOL_UDP)
    end = struct.pack(">II", terms.aggregator_ip, child.ip)
    total = sum(struct.unpack(">9H", start + end))
    total = (total & 0xFFFF) + (total >> 16)
    ipv4 = start + struct.pack(">H", 0xFFFF - ((total & 0xFFFF) + (total >> 16))) + end
    udp = struct.pack(">HHHH", NETSUM_PORT, NETSUM_PORT, udp_bytes, int(not child.zero_checksum_allowed))
    header = encode_header(Header(Kind.RESULT, terms.job, child.child, terms.epoch, 0, 0, flags=flags, lanes=lanes))
    return np.frombuffer(macs + struct.pack(">H", ETHERTYPE_IPV4) + ipv4 + udp + header, np.uint8)
