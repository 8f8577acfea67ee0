"""v1model's life of a packet as one compiled function over a batch.

    i64 netsum_process(ptr context, ptr addresses, ptr lengths, ptr ports, i64 count, i64 now_ns)

For each frame: parser, verify, ingress; then the copies it becomes (none, one, or a multicast group's); for each copy,
from the state that ingress left: egress, compute, deparser straight into the egress port's ring. Headers that egress
writes go to a scratch of their own, so that every copy starts from ingress' bytes.

Programs that clone, resubmit or recirculate go through the same code again: what waits is in the queues of
``emulator.v1model.llvm.queues``, and is finished before the next frame is taken.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.context import Emitter
from emulator.p4.llvm.packet import emit_parser
from emulator.p4.llvm.prefetch import GROUP, Announcer, announced
from emulator.p4.llvm.sharing import shared_actions
from emulator.p4.llvm.statements import emit_statement
from emulator.p4.llvm.storage import Storage
from emulator.p4.target import Target
from emulator.ports.batch import MAX_PORTS
from emulator.v1model.layout import SYMBOL, PipelineLayout, Word
from emulator.v1model.limits import UNCUT
from emulator.v1model.llvm.copies import Copies
from emulator.v1model.llvm.counting import drop_if
from emulator.v1model.llvm.externs import EXTERNS, HOOKS, Notes, note_layout
from emulator.v1model.llvm.packet_context import PacketContext
from emulator.v1model.llvm.queues import AGAIN, KEPT, KEPT_LIST, Queues, places_of
from emulator.v1model.llvm.records import send_digest
from emulator.v1model.llvm.registers import (
    CLONE,
    CLONE_LIST,
    COPIES,
    COPY_CUT,
    FRAME,
    FRAME_LENGTH,
    FRESH,
    LENGTH,
    OWN_CELL,
    PORT,
    REPLICAS,
    RESUBMIT,
    clear_wishes,
)
from emulator.v1model.llvm.saved import SavedState, kept_of
from emulator.v1model.metadata import DROP_PORT, Drop, Instance
from emulator.v1model.uses import uses_of

NANOSECONDS_PER_MICROSECOND = 1000


def write_module(program: ir.Program, layout: PipelineLayout, target: Target) -> tuple[llvm.Module, int]:
    """The whole program as an LLVM module with the one function `SYMBOL`, and the size of its queues, bytes."""
    module = llvm.Module(name="program")
    module.triple = ""
    kind = llvm.FunctionType(I64, [PTR, PTR, PTR, PTR, I64, I64])
    function = llvm.Function(module, kind, SYMBOL)
    for argument in function.args:
        if argument.type == PTR:
            argument.add_attribute("noalias")
    return module, _Pipeline(program, layout, target, function).write()


class _Pipeline:
    def __init__(self, program: ir.Program, layout: PipelineLayout, target: Target, function: Any) -> None:
        self.program = program
        self.context, self.addresses, self.lengths, self.ports, self.count, self.now = function.args
        self.entry = function.append_basic_block("entry")
        self.allocas: Builder = llvm.IRBuilder(self.entry)
        zero, ingress_scratch, egress_scratch, tables = (
            load(self.allocas, PTR, self.context, word * 8, align=8)
            for word in (Word.ZERO, Word.INGRESS_SCRATCH, Word.EGRESS_SCRATCH, Word.TABLES)
        )
        now_us = self.allocas.udiv(self.now, i64(NANOSECONDS_PER_MICROSECOND))
        storage = Storage(self.allocas, layout.scratch, zero, ingress_scratch)
        by_name = {t.name: t for t in layout.tables}
        b = llvm.IRBuilder(self.entry)
        value_sets = {v.name: v for v in layout.value_sets}
        self.e = Emitter(
            b,
            program,
            storage,
            self.context,
            by_name,
            tables,
            EXTERNS,
            HOOKS,
            target,
            emit_statement,
            shared_actions(program),
            value_sets,
        )
        self.announcer = self._make_announcer()
        self.uses = uses_of(program)
        note_layout(self.e.notes, layout, self.uses)
        self.e.notes[Notes.NOW] = self.now
        kept = kept_of(self.uses)
        self.state = SavedState(self.e, ingress_scratch)
        self.queues = Queues(self.e, self.uses, kept, places_of(kept), self.state)
        self.cx = PacketContext(self.e, self.uses, self.queues, self.state, egress_scratch, now_us)

    def _make_announcer(self) -> Announcer | None:
        parser, ingress = self.program.block("p"), self.program.block("ig")
        assert isinstance(parser, ir.Parser)
        assert isinstance(ingress, ir.Control)
        tables = announced(self.program, parser, ingress.body, self.e.tables)
        return Announcer(self.allocas, tables) if tables else None

    # --- The batch loop ---------------------------------------------------------------------------------------

    def write(self) -> int:
        """Size of the queues."""
        e = self.e
        head, arrival, self.begin, start, self.following, next_frame, self.copies, end = (
            e.new_block(n) for n in ("head", "arrival", "begin", "start", "following", "next_frame", "copies", "end")
        )
        b = e.b
        b.position_at_end(head)
        self.index = b.phi(I64)
        b.cbranch(b.icmp_signed("<", self.index, self.count), arrival, end)
        b.position_at_end(arrival)
        self._arrive()
        b.branch(self.begin)
        b.position_at_end(start)
        self._pass()
        b.position_at_end(self.following)
        self._take_waiting(next_frame)
        b.position_at_end(next_frame)
        index = b.add(self.index, i64(1))
        b.branch(head)
        self.index.add_incoming(i64(0), self.entry)
        self.index.add_incoming(index, next_frame)
        b.position_at_end(self.copies)
        copies = Copies(self.cx, self.following)
        copies.emit()
        b.position_at_end(end)
        b.ret(self.count)
        return self._finish(start, head, copies)

    def _finish(self, start: Any, head: Any, copies: Copies) -> int:
        """Fill the blocks that treat every slot there is."""
        size = self.queues.size_bytes(self.state.finish()) if self.uses.waits else 0
        b = llvm.IRBuilder(self.begin)
        self.e.storage.reset(b)
        b.branch(start)
        copies.finish(self.allocas)
        self.allocas.branch(head)
        return size

    def _announce(self, announcer: Announcer) -> None:
        """Every GROUP frames, announce later ones to the tables."""
        b = self.e.b
        place = b.urem(self.index, i64(GROUP))
        with b.if_then(b.icmp_unsigned("==", place, i64(0))):
            announcer.call(b, self.e.table_area, self.addresses, self.lengths, self.index, self.count)
        self.e.ahead.update(announcer.cells(b, self.index))

    def _arrive(self) -> None:
        e, b = self.e, self.e.b
        if self.announcer is not None:
            self._announce(self.announcer)
        length = b.zext(b.load(b.gep(self.lengths, [self.index], source_etype=I32), typ=I32), I64)
        port = b.load(b.gep(self.ports, [self.index], source_etype=I32), typ=I32)
        FRAME.put(e, b.load(b.gep(self.addresses, [self.index], source_etype=PTR), typ=PTR))
        FRAME_LENGTH.put(e, length)
        PORT.put(e, port)
        number = b.zext(b.and_(port, constant(MAX_PORTS - 1, 32)), I64)
        record = at(b, e.context_word(Word.RX_COUNTERS), b.mul(number, i64(16)))
        e.add_to(record, 1)
        e.add_to(at(b, record, 8), length)
        if self.uses.reinjects:
            OWN_CELL.put(e, 0)
            AGAIN.put(e, Instance.NORMAL)
            self.queues.begin()

    # --- One pass: parser and ingress -------------------------------------------------------------------------

    def _pass(self) -> None:
        e, b = self.e, self.e.b
        e.notes[Notes.DISCARD] = self.following
        clear_wishes(e)
        LENGTH.put(e, b.trunc(FRAME_LENGTH.get(e), I32))
        self._first_metadata()
        parser = self.program.block("p")
        assert isinstance(parser, ir.Parser)
        emit_parser(e, parser, FRAME.get(e), FRAME_LENGTH.get(e))
        self.cx.set("parser_error", b.load(e.storage.slot("$error", I32), typ=I32))
        self.cx.emit_block("vr")
        if self.uses.clones:
            self._finish_clone()
        self.cx.emit_block("ig")
        self._after_ingress()

    def _first_metadata(self) -> None:
        e, b = self.e, self.e.b
        if not self.uses.reinjects:
            self._arrival_metadata()
            return
        arrived, cloned, again, known = (e.new_block(n) for n in ("arrived", "cloned", "again", "known"))
        node = b.switch(AGAIN.get(e), again)
        node.add_case(constant(Instance.NORMAL, 32), arrived)
        node.add_case(constant(Instance.INGRESS_CLONE, 32), cloned)
        b.position_at_end(arrived)
        self._arrival_metadata()
        b.branch(known)
        b.position_at_end(cloned)
        self.cx.set("ingress_port", PORT.get(e))
        b.branch(known)
        b.position_at_end(again)
        self.queues.kept.load(e, KEPT.get(e), KEPT_LIST.get(e), self.uses.lists)
        self.cx.set("packet_length", FRAME_LENGTH.get(e))
        self.cx.set("instance_type", AGAIN.get(e))
        b.branch(known)
        b.position_at_end(known)

    def _arrival_metadata(self) -> None:
        self.cx.set("ingress_port", PORT.get(self.e))
        self.cx.set("packet_length", FRAME_LENGTH.get(self.e))
        self.cx.set("ingress_global_timestamp", self.cx.now_us)

    # --- Between ingress and egress (bmv2: targets/simple_switch/simple_switch.cpp, ingress_thread) ------------

    def _after_ingress(self) -> None:
        """What simple_switch looks at, in its order. Clones go to egress before their original, so what is to become
        of the original is found out first."""
        e, b = self.e, self.e.b
        send_digest(e)
        decided = e.new_block("decided")
        COPIES.put(e, 0)
        if self.uses.resubmits:
            resubmitted, kept = e.new_block("resubmitted"), e.new_block("kept")
            wanted = RESUBMIT.get(e)
            b.cbranch(b.icmp_unsigned("!=", wanted, constant(0, 32)), resubmitted, kept)
            b.position_at_end(resubmitted)
            self.queues.resubmit(b.sub(wanted, constant(1, 32)), decided)
            b.branch(decided)
            b.position_at_end(kept)
        self._replicate(decided)
        b.position_at_end(decided)
        if self.uses.clones:
            self._clone_ingress()
        b.branch(self.copies)

    def _replicate(self, decided: Any) -> None:
        """Multicast beats a drop by egress_spec."""
        e, b = self.e, self.e.b
        multicast, unicast = e.new_block("multicast"), e.new_block("unicast")
        group = self.cx.get("mcast_grp")
        b.cbranch(b.icmp_unsigned("!=", group, constant(0, 16)), multicast, unicast)
        b.position_at_end(multicast)
        record = at(b, e.context_word(Word.MULTICAST), b.mul(resize(b, group, 64), i64(16)))
        count = load(b, I64, record, 8, align=8)
        drop_if(e, b.icmp_unsigned("==", count, i64(0)), Drop.NO_SUCH_GROUP, decided)
        self._decide(load(b, PTR, record, 0, align=8), count, Instance.REPLICATED, decided)
        b.position_at_end(unicast)
        spec = self.cx.get("egress_spec")
        drop_if(e, b.icmp_unsigned("==", spec, constant(DROP_PORT, 9)), Drop.INGRESS, decided)
        single = e.storage.slot("$single", I64)
        store(b, resize(b, spec, 64), single, 0, align=8)
        self._decide(single, i64(1), Instance.NORMAL, decided)

    def _decide(self, replicas: Value, count: Value, instance: Instance, decided: Any) -> None:
        e, b = self.e, self.e.b
        queued = b.icmp_unsigned("!=", self.cx.get("priority"), constant(0, 3))
        drop_if(e, queued, Drop.PRIORITY, decided, count)
        self.cx.set("instance_type", constant(instance, 32))
        REPLICAS.put(e, replicas)
        COPIES.put(e, count)
        FRESH.put(e, int(instance is Instance.REPLICATED))
        COPY_CUT.put(e, UNCUT)
        b.branch(decided)

    # --- Clones of ingress ------------------------------------------------------------------------------------

    def _clone_ingress(self) -> None:
        """If a clone is wanted and can be had, the original waits and the frame is parsed again."""
        e, b = self.e, self.e.b
        wanted, done = e.new_block("clone"), e.new_block("no_clone")
        session = CLONE.get(e)
        b.cbranch(b.icmp_unsigned("!=", session, constant(0, 32)), wanted, done)
        b.position_at_end(wanted)
        CLONE.put(e, 0)
        replicas, copies, cut = self.queues.session(session, done)
        self.queues.charge(done)
        self.queues.kept.store(e, self.queues.area(self.queues.places.clone_kept))
        waiting, parsing = e.new_block("wait"), e.new_block("parse_again")
        b.cbranch(b.icmp_unsigned("!=", COPIES.get(e), i64(0)), waiting, parsing)
        b.position_at_end(waiting)
        self.queues.leave_later()
        b.branch(parsing)
        b.position_at_end(parsing)
        for register, value in ((REPLICAS, replicas), (COPIES, copies), (COPY_CUT, cut), (FRESH, 1)):
            register.put(e, value)
        AGAIN.put(e, Instance.INGRESS_CLONE)
        b.branch(self.begin)
        b.position_at_end(done)

    def _finish_clone(self) -> None:
        """A clone's parse is over: it keeps its headers, and of metadata what its field list says."""
        e, b = self.e, self.e.b
        clone, original = e.new_block("clone"), e.new_block("ingress")
        b.cbranch(b.icmp_unsigned("==", AGAIN.get(e), constant(Instance.INGRESS_CLONE, 32)), clone, original)
        b.position_at_end(clone)
        area = self.queues.area(self.queues.places.clone_kept)
        self._become_clone(area, CLONE_LIST.get(e), Instance.INGRESS_CLONE)
        b.position_at_end(original)

    def _become_clone(self, kept: Value, number: Value, instance: Instance) -> None:
        self.state.forget()
        self.queues.kept.load(self.e, kept, number, self.uses.lists)
        self.cx.set("instance_type", constant(instance, 32))
        self.e.b.branch(self.copies)

    # --- What waits -------------------------------------------------------------------------------------------

    def _take_waiting(self, next_frame: Any) -> None:
        """After a packet: first what waits for egress, then what waits for the parser, then the next frame."""
        e, b = self.e, self.e.b
        if self.uses.clones:
            none, clone = e.new_block("none_leaving"), e.new_block("egress_clone")
            is_clone, number = self.queues.next_leaving(none)
            b.cbranch(is_clone, clone, self.copies)
            b.position_at_end(clone)
            self._become_clone(KEPT.get(e), number, Instance.EGRESS_CLONE)
            b.position_at_end(none)
        if self.uses.reinjects:
            self.queues.next_entering(next_frame)
            b.branch(self.begin)
        else:
            b.branch(next_frame)
