"""Between ingress and egress where the switch has egress queues, as LLVM code: each copy of a packet is saved in a cell
with its frame, and goes through egress when it leaves its queue. ``departures`` has the order in which packets leave,
``emulator.v1model.egress_queues`` the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, copy_bytes, i64, load, resize, store
from emulator.ports.batch import MAX_PORTS
from emulator.v1model import queue_layout as layout
from emulator.v1model.egress_queues import qid_of
from emulator.v1model.layout import Word
from emulator.v1model.llvm.counting import drop_if
from emulator.v1model.llvm.library import declare
from emulator.v1model.llvm.packet_context import PacketContext
from emulator.v1model.llvm.registers import (
    COPIES,
    FRAME,
    FRAME_LENGTH,
    NOW,
    NOW_US,
    PORT,
    REPLICAS,
    Register,
    set_time,
)
from emulator.v1model.metadata import Drop

NULL = llvm.Constant(PTR, None)
CELL = Register("$queued", PTR)
"""Cell of the packet that has left its queue."""


@dataclass(slots=True)
class EgressQueues:
    cx: PacketContext

    def _area(self) -> Value:
        return self.cx.cg.context_word(Word.EGRESS_QUEUES)

    # --- In -----------------------------------------------------------------------------------------------------

    def enter(self, then: Any) -> None:
        """All copies of the packet into their queues."""
        cg, b = self.cx.cg, self.cx.cg.b
        before, head, one, following = (cg.new_block(n) for n in ("enqueue", "queue_head", "queue_one", "queue_next"))
        replicas, count = REPLICAS.get(cg), COPIES.get(cg)
        b.branch(before)
        b.position_at_end(before)
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        b.cbranch(b.icmp_unsigned("<", index, count), one, then)
        b.position_at_end(following)
        next_index = b.add(index, i64(1))
        b.branch(head)
        index.add_incoming(i64(0), before)
        index.add_incoming(next_index, following)
        b.position_at_end(one)
        self._enter_one(at(b, replicas, b.mul(index, i64(8))), following)

    def _enter_one(self, replica: Value, then: Any) -> None:
        cg, b, area = self.cx.cg, self.cx.cg.b, self._area()
        port, priority = load(b, I32, replica, 0, align=4), resize(b, self.cx.get("priority"), 64)
        frame_bytes = FRAME_LENGTH.get(cg)
        drop_if(cg, b.icmp_unsigned(">=", port, constant(MAX_PORTS, 32)), Drop.NO_SUCH_PORT, then)
        priorities = load(b, I64, area, layout.PRIORITIES, align=8)
        drop_if(cg, b.icmp_unsigned(">=", priority, priorities), Drop.PRIORITY, then)
        drop_if(cg, b.icmp_unsigned(">", frame_bytes, i64(layout.HELD_FRAME_BYTES)), Drop.TOO_LONG, then)
        number = b.add(b.mul(b.zext(port, I64), i64(layout.MAX_PRIORITIES)), priority)
        queue = at(b, at(b, area, layout.QUEUES), b.mul(number, i64(layout.QUEUE.itemsize)))
        size, depth = (load(b, I64, queue, offset, align=8) for offset in (layout.QUEUE_SIZE, layout.QUEUE_DEPTH))
        drop_if(cg, b.icmp_unsigned(">=", size, depth), Drop.EGRESS_QUEUE_FULL, then)
        cell_bytes = b.add(self.cx.state.stride(), i64(layout.CELL_STATE))
        rank = b.sub(i64(layout.MAX_PRIORITIES), priority)
        cell = b.call(declare(b.module, "netsum_admit"), [area, queue, rank, NOW.get(cg), cell_bytes])
        drop_if(cg, b.icmp_unsigned("==", cell, NULL), Drop.QUEUES_FULL, then)
        store(b, load(b, I64, replica, 0, align=4), cell, layout.CELL_REPLICA, align=8)
        store(b, queue, cell, layout.CELL_QUEUE, align=8)
        words = (
            (layout.CELL_ENTERED, NOW_US.get(cg)),
            (layout.CELL_DEPTH, size),
            (layout.CELL_PRIORITY, priority),
            (layout.CELL_INGRESS_PORT, b.zext(PORT.get(cg), I64)),
        )
        for offset, value in words:
            store(b, value, cell, offset, align=8)
        copy_bytes(b, at(b, cell, layout.CELL_FRAME), FRAME.get(cg), frame_bytes)
        self.cx.state.save(at(b, cell, layout.CELL_STATE))
        b.branch(then)

    # --- Out ----------------------------------------------------------------------------------------------------

    def next(self, until_ns: Value, some: Any, otherwise: Any) -> None:
        """The first packet to leave until then: at CELL, go on at ``some``; none: go to ``otherwise``."""
        cg, b = self.cx.cg, self.cx.cg.b
        cell = b.call(declare(b.module, "netsum_depart"), [self._area(), until_ns])
        CELL.put(cg, cell)
        b.cbranch(b.icmp_unsigned("!=", cell, NULL), some, otherwise)

    def leave(self) -> None:
        """The packet at CELL becomes this one, with one copy that is to go through egress."""
        cg, b = self.cx.cg, self.cx.cg.b
        cell = CELL.get(cg)
        set_time(cg, load(b, I64, cell, layout.CELL_LEAVES, align=8))
        self.cx.state.load(at(b, cell, layout.CELL_STATE))
        FRAME.put(cg, at(b, cell, layout.CELL_FRAME))
        PORT.put(cg, b.trunc(load(b, I64, cell, layout.CELL_INGRESS_PORT, align=8), I32))
        REPLICAS.put(cg, at(b, cell, layout.CELL_REPLICA))
        COPIES.put(cg, 1)

    def set_metadata(self) -> None:
        """What egress learns of the queue."""
        cg, b, cx = self.cx.cg, self.cx.cg.b, self.cx
        cell = CELL.get(cg)
        entered_us = load(b, I64, cell, layout.CELL_ENTERED, align=8)
        queue = load(b, PTR, cell, layout.CELL_QUEUE, align=8)
        cx.set("enq_timestamp", entered_us)
        cx.set("enq_qdepth", load(b, I64, cell, layout.CELL_DEPTH, align=8))
        cx.set("deq_timedelta", b.sub(NOW_US.get(cg), entered_us))
        cx.set("deq_qdepth", load(b, I64, queue, layout.QUEUE_SIZE, align=8))
        qid = qid_of(cg.program)
        if qid is not None:
            width = expressions.value(cg, qid).type.width
            expressions.assign(cg, qid, resize(b, load(b, I64, cell, layout.CELL_PRIORITY, align=8), width))

    def next_ns(self) -> Value:
        """When the next packet leaves, i64; -1: none is in a queue."""
        b, area = self.cx.cg.b, self._area()
        first = load(b, I64, area, layout.HEAP, align=8)
        return b.select(b.icmp_unsigned("==", load(b, I64, area, layout.HELD, align=8), i64(0)), i64(-1), first)
