"""A packet's registers: the switch's state of a packet, in addition to the program's variables and headers.

They are stack slots like the rest of a packet's state, under names with a ``$`` in front: a new packet's are set here,
not zeroed with the program's. What a program doesn't use, LLVM removes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4.llvm.bits import I1, I32, I64, PTR, Value, at, constant, i64
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.limits import UNCUT
from emulator.v1model.meters import NANOSECONDS_PER_MICROSECOND


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    kind: Any

    def get(self, cg: CodeGen) -> Value:
        return cg.b.load(self.slot(cg), typ=self.kind)

    def put(self, cg: CodeGen, value: Value | int) -> None:
        cg.b.store(constant(value, self.kind.width) if isinstance(value, int) else value, self.slot(cg))

    def slot(self, cg: CodeGen) -> Value:
        return cg.storage.slot(self.name, self.kind)


NOW = Register("$now", I64)
"""Time in nanoseconds: the batch's, or that at which the packet has left its egress queue."""
NOW_US = Register("$now_us", I64)
FRAME = Register("$frame", PTR)
"""The frame of this pass, from its first byte."""
FRAME_LENGTH = Register("$frame_length", I64)
"""The length that counters and meters count."""
CURSOR = Register("$cursor", I64)
"""Bytes that the parser took (``emulator.p4.llvm.packet``)."""
LENGTH = Register("$length", I32)
"""packet_length in egress."""
PORT = Register("$port", I32)
"""Ingress port of the frame, also in later passes."""
OWN_CELL = Register("$own_cell", I1)
"""The frame is in a cell of the re-injection queue, not in memory of the batch."""

# Pending clone, resubmit, recirculate and digest, as simple_switch keeps them: the last call wins, a new packet has
# none.
CLONE = Register("$clone", I32)
"""0: no clone; else CLONE_PENDING + session."""
CLONE_PENDING = 1 << 16
CLONE_LIST = Register("$clone_list", I32)
"""Index of the field list."""
RESUBMIT = Register("$resubmit", I32)
"""0: no; else 1 + index of the field list."""
RECIRCULATE = Register("$recirculate", I32)
DIGEST = Register("$digest", I32)
"""0: none; else 1 + number of the digest; its fields are in slots (``emulator.v1model.llvm.records``)."""
CUT = Register("$cut", I32)
"""The frame is sent no longer than this."""

PENDING = (CLONE, RESUBMIT, RECIRCULATE, DIGEST)

# How the packet goes through egress.
REPLICAS = Register("$replicas", PTR)
"""Address of {u32 port, u32 rid} of each copy."""
COPIES = Register("$copies", I64)
FRESH = Register("$fresh", I1)
"""Copies are separate packets, without the packet's pending clone, resubmit or recirculate, and get their rid."""
COPY_CUT = Register("$copy_cut", I32)
"""What CUT is for fresh copies."""

SAVED_REGISTERS = (FRAME, FRAME_LENGTH, CURSOR, LENGTH, RECIRCULATE, CUT, REPLICAS, COPIES, FRESH, COPY_CUT)
"""Registers that are saved with a packet that waits for egress."""


def set_time(cg: CodeGen, now_ns: Value) -> None:
    NOW.put(cg, now_ns)
    NOW_US.put(cg, cg.b.udiv(now_ns, i64(NANOSECONDS_PER_MICROSECOND)))


def clear_pending(cg: CodeGen, cut: Value | int = UNCUT) -> None:
    """No clone, resubmit, recirculate or digest is pending; the frame is cut at ``cut``."""
    for register in PENDING:
        register.put(cg, 0)
    CUT.put(cg, cut)


def payload(cg: CodeGen) -> tuple[Value, Value]:
    """(address, length) of what the parser left, as checksums see it: truncated as by truncate()."""
    b = cg.b
    cursor = CURSOR.get(cg)
    size = b.sub(FRAME_LENGTH.get(cg), cursor)
    cut = b.zext(CUT.get(cg), I64)
    return at(b, FRAME.get(cg), cursor), b.select(b.icmp_unsigned("<", size, cut), size, cut)
