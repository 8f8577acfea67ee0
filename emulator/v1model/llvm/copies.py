"""Egress for each copy of a packet, every one from the state that the packet had before."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.llvm.bits import I32, I64, Builder, Value, at, constant, i64, load
from emulator.v1model.llvm.counting import drop_if
from emulator.v1model.llvm.egress_queues import EgressQueues
from emulator.v1model.llvm.externs import Notes
from emulator.v1model.llvm.packet_context import PacketContext
from emulator.v1model.llvm.registers import (
    CLONE,
    CLONE_LIST,
    COPIES,
    COPY_CUT,
    CUT,
    FRESH,
    LENGTH,
    RECIRCULATE,
    REPLICAS,
)
from emulator.v1model.llvm.transmit import Transmitter
from emulator.v1model.metadata import DROP_PORT, Drop

KEPT_REGISTERS = (LENGTH, CUT, RECIRCULATE)
"""A packet's registers that egress changes: each copy starts from the packet's."""


class Copies:
    """Emits the loop over a packet's copies; ``then`` is where code goes on after the last. With ``egress_queues`` the
    packet has left one of them, else it comes from ingress at once."""

    def __init__(self, cx: PacketContext, then: Any, egress_queues: EgressQueues | None = None) -> None:
        self.cx = cx
        self.cg = cx.cg
        self.then = then
        self.egress_queues = egress_queues

    def emit(self) -> None:
        cg, b = self.cg, self.cg.b
        self.save, self.saved, head, self.restore, self.restored, next_copy = (
            cg.new_block(n) for n in ("save", "saved", "copy_head", "restore", "copy", "next_copy")
        )
        replicas, count = REPLICAS.get(cg), COPIES.get(cg)
        b.branch(self.save)
        b.position_at_end(self.saved)
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        b.cbranch(b.icmp_unsigned("<", index, count), self.restore, self.then)
        b.position_at_end(next_copy)
        following = b.add(index, i64(1))
        b.branch(head)
        index.add_incoming(i64(0), self.saved)
        index.add_incoming(following, next_copy)
        b.position_at_end(self.restored)
        replica = at(b, replicas, b.mul(index, i64(8)))
        self._copy(load(b, I32, replica, 0, align=4), load(b, I32, replica, 4, align=4), next_copy)

    def finish(self, allocas: Builder) -> None:
        """Fill the blocks that save or load every slot."""
        slots = [*self.cg.storage.packet_slots(), *((r.slot(self.cg), r.kind) for r in KEPT_REGISTERS)]
        kept = [(slot, allocas.alloca(kind), kind) for slot, kind in slots]
        b = llvm.IRBuilder(self.save)
        for slot, copy, kind in kept:
            b.store(b.load(slot, typ=kind), copy)
        b.branch(self.saved)
        b = llvm.IRBuilder(self.restore)
        for slot, copy, kind in kept:
            b.store(b.load(copy, typ=kind), slot)
        b.branch(self.restored)

    def _copy(self, port: Value, rid: Value, next_copy: Any) -> None:
        cg, b, cx = self.cg, self.cg.b, self.cx
        cg.notes[Notes.DISCARD] = next_copy
        cg.storage.scratch = cx.egress_scratch
        cg.storage.owned = set()
        self._start(port, rid)
        cx.emit_block("eg")
        if cx.uses.clones:
            self._clone()
        spec = cx.get("egress_spec")
        drop_if(cg, b.icmp_unsigned("==", spec, constant(DROP_PORT, 9)), Drop.EGRESS, next_copy)
        Transmitter(cg, cx.uses, cx.queues, cx.emit_block, port, next_copy).emit()

    def _start(self, port: Value, rid: Value) -> None:
        """Copies that are separate packets have no pending clone, resubmit or recirculate, and a rid."""
        cg, b, cx = self.cg, self.cg.b, self.cx
        fresh = FRESH.get(cg)
        CLONE.put(cg, 0)
        RECIRCULATE.put(cg, b.select(fresh, constant(0, 32), RECIRCULATE.get(cg)))
        CUT.put(cg, b.select(fresh, COPY_CUT.get(cg), CUT.get(cg)))
        cx.set("egress_rid", b.select(fresh, b.trunc(rid, llvm.IntType(16)), cx.get("egress_rid")))
        cx.set("egress_port", port)
        cx.set("egress_spec", constant(0, 9))
        cx.set("packet_length", LENGTH.get(cg))
        cx.set("egress_global_timestamp", cx.now_us)
        if self.egress_queues is not None:
            self.egress_queues.set_metadata()
            return
        cx.set("enq_timestamp", cx.now_us)
        for name in ("enq_qdepth", "deq_timedelta", "deq_qdepth"):
            cx.set(name, constant(0, 1))

    def _clone(self) -> None:
        cg, b, queues = self.cg, self.cg.b, self.cx.queues
        pending, done = cg.new_block("clone"), cg.new_block("no_clone")
        session = CLONE.get(cg)
        b.cbranch(b.icmp_unsigned("!=", session, constant(0, 32)), pending, done)
        b.position_at_end(pending)
        CLONE.put(cg, 0)
        replicas, copies, cut = queues.session(session, done)
        queues.charge(done)
        queues.clone_later(replicas, copies, cut, CLONE_LIST.get(cg), done)
        b.branch(done)
        b.position_at_end(done)
