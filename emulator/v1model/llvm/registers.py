"""A packet's registers: what the switch itself remembers of it, in addition to the program's variables and headers.

They are stack slots like the rest of a packet's state, under names with a ``$`` in front: a new packet's are set here,
not zeroed with the program's. What a program doesn't use, LLVM removes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4.llvm.bits import I1, I32, I64, PTR, Value, at, constant
from emulator.p4.llvm.context import Emitter
from emulator.v1model.limits import UNCUT


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    kind: Any

    def get(self, e: Emitter) -> Value:
        return e.b.load(self.slot(e), typ=self.kind)

    def put(self, e: Emitter, value: Value | int) -> None:
        e.b.store(constant(value, self.kind.width) if isinstance(value, int) else value, self.slot(e))

    def slot(self, e: Emitter) -> Value:
        return e.storage.slot(self.name, self.kind)


FRAME = Register("$frame", PTR)
"""The frame of this pass, from its first byte."""
FRAME_LENGTH = Register("$frame_length", I64)
"""What counters and meters count."""
CURSOR = Register("$cursor", I64)
"""Bytes that the parser took (``emulator.p4.llvm.packet``)."""
LENGTH = Register("$length", I32)
"""What packet_length will be in egress."""
PORT = Register("$port", I32)
"""Where the frame arrived, also in later passes."""
OWN_CELL = Register("$own_cell", I1)
"""The frame is in a cell of the re-injection queue, not in memory of the batch."""

# Pending clone, resubmit, recirculate and digest, as simple_switch keeps them: the last call wins, a new packet has
# none.
CLONE = Register("$clone", I32)
"""0: no clone; else CLONE_WANTED + session."""
CLONE_WANTED = 1 << 16
CLONE_LIST = Register("$clone_list", I32)
"""Index of the field list."""
RESUBMIT = Register("$resubmit", I32)
"""0: no; else 1 + index of the field list."""
RECIRCULATE = Register("$recirculate", I32)
DIGEST = Register("$digest", I32)
"""0: none; else 1 + number of the digest; its fields are in slots (``emulator.v1model.llvm.digests``)."""
CUT = Register("$cut", I32)
"""The frame is sent no longer than this."""

WISHES = (CLONE, RESUBMIT, RECIRCULATE, DIGEST)

# How the packet goes through egress.
REPLICAS = Register("$replicas", PTR)
"""Address of {u32 port, u32 rid} of each copy."""
COPIES = Register("$copies", I64)
FRESH = Register("$fresh", I1)
"""Copies are separate packets, without the packet's pending clone, resubmit or recirculate, and get their rid."""
COPY_CUT = Register("$copy_cut", I32)
"""What CUT is for fresh copies."""

LASTING = (FRAME, FRAME_LENGTH, CURSOR, LENGTH, RECIRCULATE, CUT, REPLICAS, COPIES, FRESH, COPY_CUT)
"""What a packet that waits for egress takes with it."""


def clear_wishes(e: Emitter, cut: Value | int = UNCUT) -> None:
    """No clone, resubmit, recirculate or digest is pending; the frame is cut at ``cut``."""
    for wish in WISHES:
        wish.put(e, 0)
    CUT.put(e, cut)


def payload(e: Emitter) -> tuple[Value, Value]:
    """(address, length) of what the parser left, as checksums see it: no longer than what truncate() asked for."""
    b = e.b
    cursor = CURSOR.get(e)
    size = b.sub(FRAME_LENGTH.get(e), cursor)
    cut = b.zext(CUT.get(e), I64)
    return at(b, FRAME.get(e), cursor), b.select(b.icmp_unsigned("<", size, cut), size, cut)
