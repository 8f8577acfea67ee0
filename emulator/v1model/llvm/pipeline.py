"""v1model's life of a packet as one compiled function over a batch.

    i64 netsum_process(ptr context, ptr addresses, ptr lengths, ptr ports, i64 count, i64 now_ns)

For each frame: parser, verify, ingress; then the copies it becomes (none, one, or a multicast group's); for each copy,
from the state that ingress left: egress, compute, deparser straight into the egress port's ring. Headers that egress
writes go to a scratch of their own, so that every copy starts from ingress' bytes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.emitter import Emitter
from emulator.p4.llvm.packet import Deparsing, append, emit_parser
from emulator.p4.llvm.storage import Storage
from emulator.p4.target import Target
from emulator.ports.batch import (
    MAX_PORTS,
    TX_BYTES,
    TX_CELLS,
    TX_DROPPED_FULL,
    TX_DROPPED_TOO_LONG,
    TX_FRAMES,
    TX_LENGTHS,
    TX_LIMIT,
    TX_MASK,
    TX_RING_BYTES,
    TX_STRIDE,
    TX_TAIL,
)
from emulator.v1model.layout import PipelineLayout, Word
from emulator.v1model.llvm.externs import EXTERNS, HOOKS, Notes, note_layout
from emulator.v1model.metadata import DROP_PORT, WIDTHS_BITS, Drop, Instance, standard

SYMBOL = "netsum_process"
NANOSECONDS_PER_MICROSECOND = 1000


def write_module(program: ir.Program, layout: PipelineLayout, target: Target) -> llvm.Module:
    """The whole program as an LLVM module with the one function `SYMBOL`."""
    module = llvm.Module(name="program")
    module.triple = ""
    kind = llvm.FunctionType(I64, [PTR, PTR, PTR, PTR, I64, I64])
    function = llvm.Function(module, kind, SYMBOL)
    for argument in function.args:
        if argument.type == PTR:
            argument.add_attribute("noalias")
    _Pipeline(program, layout, target, function).write()
    return module


class _Pipeline:
    def __init__(self, program: ir.Program, layout: PipelineLayout, target: Target, function: Any) -> None:
        self.program = program
        self.function = function
        self.context, self.addresses, self.lengths, self.ports, self.count, self.now = function.args
        self.entry = function.append_basic_block("entry")
        self.allocas: Builder = llvm.IRBuilder(self.entry)
        zero, scratch, self.egress_scratch, tables = (
            load(self.allocas, PTR, self.context, word * 8, align=8)
            for word in (Word.ZERO, Word.INGRESS_SCRATCH, Word.EGRESS_SCRATCH, Word.TABLES)
        )
        storage = Storage(self.allocas, layout.scratch, zero, scratch)
        by_name = {t.name: t for t in layout.tables}
        b = llvm.IRBuilder(self.entry)
        self.e = Emitter(b, program, storage, self.context, by_name, tables, EXTERNS, HOOKS, target)
        note_layout(self.e.notes, layout)

    # --- Helpers ----------------------------------------------------------------------------------------------

    def _get(self, name: str) -> Value:
        return self.e.value(standard(name))

    def _set(self, name: str, value: Value) -> None:
        self.e.assign(standard(name), resize(self.e.b, value, WIDTHS_BITS[name]))

    def _control(self, name: str) -> None:
        control = self.program.block(name)
        assert isinstance(control, ir.Control)
        self.e.whole_block(control.body)

    def _drop(self, reason: Drop) -> None:
        self.e.add_to(at(self.e.b, self.e.context_word(Word.DROPS), 8 * reason.index), 1)

    def _drop_if(self, condition: Value, reason: Drop, then: Any) -> None:
        """Count and go to ``then`` if the condition holds."""
        b = self.e.b
        dropped, going_on = self.e.new_block("dropped"), self.e.new_block("kept")
        b.cbranch(condition, dropped, going_on)
        b.position_at_end(dropped)
        self._drop(reason)
        b.branch(then)
        b.position_at_end(going_on)

    # --- The batch loop ---------------------------------------------------------------------------------------

    def write(self) -> None:
        e = self.e
        head, packet, start, self.next_packet, end = (
            e.new_block(n) for n in ("head", "packet", "start", "next_packet", "end")
        )
        self.reset = packet
        b = e.b
        b.position_at_end(head)
        self.index = b.phi(I64)
        b.cbranch(b.icmp_signed("<", self.index, self.count), packet, end)
        b.position_at_end(start)
        self._packet()
        b.position_at_end(self.next_packet)
        following = b.add(self.index, i64(1))
        b.branch(head)
        self.index.add_incoming(i64(0), self.entry)
        self.index.add_incoming(following, self.next_packet)
        b.position_at_end(end)
        b.ret(self.count)
        self._finish(start)
        self.allocas.branch(head)

    def _finish(self, start: Any) -> None:
        """Fill the blocks that treat every slot there is."""
        storage = self.e.storage
        b = llvm.IRBuilder(self.reset)
        storage.reset(b)
        b.branch(start)
        saved = self._saved_slots()
        save, after_save = self.save
        b = llvm.IRBuilder(save)
        for slot, kept, kind in saved:
            b.store(b.load(slot, typ=kind), kept)
        b.branch(after_save)
        restore, after_restore = self.restore
        b = llvm.IRBuilder(restore)
        for slot, kept, kind in saved:
            b.store(b.load(kept, typ=kind), slot)
        b.branch(after_restore)

    def _saved_slots(self) -> list[tuple[Value, Value, Any]]:
        slots = [*self.e.storage.packet_slots(), (self.e.storage.slot("$length", I32), I32)]
        return [(slot, self.allocas.alloca(kind), kind) for slot, kind in slots]

    def _packet(self) -> None:
        e, b = self.e, self.e.b
        frame = b.load(b.gep(self.addresses, [self.index], source_etype=PTR), typ=PTR)
        length = b.zext(b.load(b.gep(self.lengths, [self.index], source_etype=I32), typ=I32), I64)
        port = b.load(b.gep(self.ports, [self.index], source_etype=I32), typ=I32)
        e.notes[Notes.LENGTH] = length
        e.notes["next_copy"] = self.next_packet
        self._arrive(port, length)
        parser = self.program.block("p")
        assert isinstance(parser, ir.Parser)
        emit_parser(e, parser, frame, length)
        self._set("parser_error", b.load(e.storage.slot("$error", I32), typ=I32))
        cursor = b.load(e.storage.slot("$cursor", I64), typ=I64)
        e.notes[Notes.PAYLOAD] = self.payload = (at(b, frame, cursor), b.sub(length, cursor))
        self._control("vr")
        self._control("ig")
        self._replicate()

    def _arrive(self, port: Value, length: Value) -> None:
        e, b = self.e, self.e.b
        self._set("ingress_port", port)
        self._set("packet_length", length)
        b.store(resize(b, length, 32), e.storage.slot("$length", I32))
        self.now_us = b.udiv(self.now, i64(NANOSECONDS_PER_MICROSECOND))
        self._set("ingress_global_timestamp", self.now_us)
        number = b.zext(b.and_(port, constant(MAX_PORTS - 1, 32)), I64)
        record = at(b, e.context_word(Word.RX_COUNTERS), b.mul(number, i64(16)))
        e.add_to(record, 1)
        e.add_to(at(b, record, 8), length)

    # --- Between ingress and egress (facts of simple_switch: multicast beats a drop by egress_spec) -------------

    def _replicate(self) -> None:
        e, b = self.e, self.e.b
        multicast, unicast, copies = (e.new_block(n) for n in ("multicast", "unicast", "copies"))
        group = self._get("mcast_grp")
        b.cbranch(b.icmp_unsigned("!=", group, constant(0, 16)), multicast, unicast)
        b.position_at_end(multicast)
        record = at(b, e.context_word(Word.MULTICAST), b.mul(resize(b, group, 64), i64(16)))
        many, many_count = load(b, PTR, record, 0, align=8), load(b, I64, record, 8, align=8)
        self._drop_if(b.icmp_unsigned("==", many_count, i64(0)), Drop.NO_SUCH_GROUP, self.next_packet)
        multicast_end = b.block
        b.branch(copies)
        b.position_at_end(unicast)
        spec = self._get("egress_spec")
        self._drop_if(b.icmp_unsigned("==", spec, constant(DROP_PORT, 9)), Drop.INGRESS, self.next_packet)
        single = e.storage.slot("$single", I64)
        store(b, resize(b, spec, 64), single, 0, align=8)
        unicast_end = b.block
        b.branch(copies)
        b.position_at_end(copies)
        replicas, number, instance = b.phi(PTR), b.phi(I64), b.phi(I32)
        for node, many_value, one in (
            (replicas, many, single),
            (number, many_count, i64(1)),
            (instance, constant(Instance.REPLICATED, 32), constant(0, 32)),
        ):
            node.add_incoming(many_value, multicast_end)
            node.add_incoming(one, unicast_end)
        priority = self._get("priority")
        self._drop_if(b.icmp_unsigned("!=", priority, constant(0, 3)), Drop.PRIORITY, self.next_packet)
        self._set("instance_type", instance)
        self._copies(replicas, number)

    def _copies(self, replicas: Value, number: Value) -> None:
        e, b = self.e, self.e.b
        save, restore, copy, next_copy = (e.new_block(n) for n in ("save", "restore", "copy", "next_copy"))
        b.branch(save)
        self.restore = (restore, copy)
        self.save = (save, self._loop_head(save, restore, next_copy, number))
        b.position_at_end(copy)
        e.notes["next_copy"] = next_copy
        replica = at(b, replicas, b.mul(self.copy_index, i64(8)))
        port = load(b, I32, replica, 0, align=4)
        rid = load(b, I32, replica, 4, align=4)
        e.storage.scratch = self.egress_scratch
        e.storage.owned = set()
        self._egress(port, rid, next_copy)

    def _loop_head(self, save: Any, restore: Any, next_copy: Any, number: Value) -> Any:
        e, b = self.e, self.e.b
        head = e.new_block("copy_head")
        b.position_at_end(head)
        self.copy_index = b.phi(I64)
        b.cbranch(b.icmp_unsigned("<", self.copy_index, number), restore, self.next_packet)
        b.position_at_end(next_copy)
        following = b.add(self.copy_index, i64(1))
        b.branch(head)
        self.copy_index.add_incoming(i64(0), save)
        self.copy_index.add_incoming(following, next_copy)
        return head

    def _egress(self, port: Value, rid: Value, next_copy: Any) -> None:
        e, b = self.e, self.e.b
        self._set("egress_port", port)
        self._set("egress_rid", rid)
        self._set("egress_spec", constant(0, 9))
        self._set("packet_length", b.load(e.storage.slot("$length", I32), typ=I32))
        self._set("egress_global_timestamp", self.now_us)
        self._set("enq_timestamp", self.now_us)
        self._control("eg")
        spec = self._get("egress_spec")
        self._drop_if(b.icmp_unsigned("==", spec, constant(DROP_PORT, 9)), Drop.EGRESS, next_copy)
        self._transmit(port, next_copy)

    # --- The egress port's ring -------------------------------------------------------------------------------

    def _transmit(self, port: Value, next_copy: Any) -> None:
        e, b = self.e, self.e.b
        in_table = b.icmp_unsigned("<", port, constant(MAX_PORTS, 32))
        safe = b.select(in_table, resize(b, port, 64), i64(0))
        ring = at(b, e.context_word(Word.TX_PORTS), b.mul(safe, i64(TX_RING_BYTES)))
        cells = load(b, I64, ring, TX_CELLS, align=8)
        exists = b.and_(in_table, b.icmp_unsigned("!=", cells, i64(0)))
        self._drop_if(b.xor(exists, constant(1, 1)), Drop.NO_SUCH_PORT, next_copy)
        tail, limit = load(b, I64, ring, TX_TAIL, align=8), load(b, I64, ring, TX_LIMIT, align=8)
        full, room = e.new_block("ring_full"), e.new_block("ring_room")
        b.cbranch(b.icmp_unsigned("<", tail, limit), room, full)
        self._dropped_by_ring(full, ring, TX_DROPPED_FULL, Drop.RING_FULL, next_copy)
        b.position_at_end(room)
        stride = resize(b, load(b, I32, ring, TX_STRIDE, align=4), 64)
        place = b.and_(tail, resize(b, load(b, I32, ring, TX_MASK, align=4), 64))
        cell = b.inttoptr(b.add(cells, b.mul(place, stride)), PTR)
        length = self._deparse(cell, stride, ring, next_copy)
        lengths = load(b, PTR, ring, TX_LENGTHS, align=8)
        store(b, resize(b, length, 32), lengths, b.mul(place, i64(4)), align=4)
        e.add_to(at(b, ring, TX_FRAMES), 1)
        e.add_to(at(b, ring, TX_BYTES), length)
        store(b, b.add(tail, i64(1)), ring, TX_TAIL, align=8)
        b.branch(next_copy)

    def _dropped_by_ring(self, block: Any, ring: Value, counter: int, reason: Drop, then: Any) -> None:
        b = self.e.b
        b.position_at_end(block)
        self.e.add_to(at(b, ring, counter), 1)
        self._drop(reason)
        b.branch(then)

    def _deparse(self, cell: Value, stride: Value, ring: Value, next_copy: Any) -> Value:
        """Headers and payload into the cell; returns the frame's length."""
        e, b = self.e, self.e.b
        self._control("ck")
        too_long = e.new_block("too_long")
        out = e.storage.slot("$out", PTR)
        b.store(cell, out)
        e.parse = Deparsing(at(b, cell, stride), too_long)
        self._control("dep")
        append(e, *self.payload)
        length = b.sub(b.ptrtoint(b.load(out, typ=PTR), I64), b.ptrtoint(cell, I64))
        written = b.block
        self._dropped_by_ring(too_long, ring, TX_DROPPED_TOO_LONG, Drop.TOO_LONG, next_copy)
        b.position_at_end(written)
        e.parse = None
        return length
