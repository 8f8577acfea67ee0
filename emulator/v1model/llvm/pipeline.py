"""v1model's life of a packet as one compiled function over a batch.

    i64 netsum_process(ptr context, ptr addresses, ptr lengths, ptr ports, i64 count, i64 now_ns)

It returns when it is to be called again at the latest, though no frame comes: -1, never, unless packets are in egress
queues.

For each frame: parser, verify, ingress; then the copies it becomes (none, one, or a multicast group's); for each copy,
from the state that ingress left: egress, compute, deparser straight into the egress port's ring. Headers that egress
writes go to separate scratch memory, so that every copy starts from ingress' bytes.

Programs that clone, resubmit or recirculate go through the same code again: what waits is in the queues of
``emulator.v1model.llvm.queues``, and is finished before the next frame is taken.

A switch with egress queues has another function, made from the same program: between ingress and egress a packet enters
a queue (``emulator.v1model.llvm.egress_queues``). Before each frame, and after what became of it, the packets leave
that are to leave by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.llvm.bits import I32, I64, PTR, Builder, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.packet import emit_parser
from emulator.p4.llvm.prefetch import GROUP, Prefetcher, prefetched_tables
from emulator.p4.llvm.sharing import shared_actions
from emulator.p4.llvm.statements import emit_statement
from emulator.p4.llvm.storage import Storage
from emulator.p4.target import Target
from emulator.v1model.features import features_of
from emulator.v1model.layout import SYMBOL, PipelineLayout, Word
from emulator.v1model.limits import UNCUT
from emulator.v1model.llvm.copies import Copies
from emulator.v1model.llvm.counting import drop_if
from emulator.v1model.llvm.egress_queues import EgressQueues
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
    NOW,
    OWN_CELL,
    PORT,
    REPLICAS,
    RESUBMIT,
    Register,
    clear_pending,
    set_time,
)
from emulator.v1model.llvm.saved import SavedState, kept_of
from emulator.v1model.metadata import DROP_PORT, Drop, Instance
from emulator.v1model.queue_layout import area_bytes

FRAMES_TAKEN = Register("$frames_taken", I64)
"""With egress queues: 0 where a packet that left its queue came before the next frame of the batch."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Memory that a function needs, bytes; 0: none."""

    queues: int
    egress_queues: int


def write_module(
    program: ir.Program, layout: PipelineLayout, target: Target, *, egress_queues: bool = False
) -> tuple[llvm.Module, Sizes]:
    """The whole program as an LLVM module with the one function `SYMBOL`."""
    module = llvm.Module(name="program")
    module.triple = ""
    kind = llvm.FunctionType(I64, [PTR, PTR, PTR, PTR, I64, I64])
    function = llvm.Function(module, kind, SYMBOL)
    for argument in function.args:
        if argument.type == PTR:
            argument.add_attribute("noalias")
    return module, _Pipeline(program, layout, target, function, egress_queues).write()


class _Pipeline:
    def __init__(
        self, program: ir.Program, layout: PipelineLayout, target: Target, function: Any, egress_queues: bool
    ) -> None:
        self.program = program
        self.context, self.addresses, self.lengths, self.ports, self.count, self.now = function.args
        self.entry = function.append_basic_block("entry")
        self.allocas: Builder = llvm.IRBuilder(self.entry)
        zero, ingress_scratch, egress_scratch, tables = (
            load(self.allocas, PTR, self.context, word * 8, align=8)
            for word in (Word.ZERO, Word.INGRESS_SCRATCH, Word.EGRESS_SCRATCH, Word.TABLES)
        )
        storage = Storage(self.allocas, layout.scratch, zero, ingress_scratch)
        by_name = {t.name: t for t in layout.tables}
        b = llvm.IRBuilder(self.entry)
        value_sets = {v.name: v for v in layout.value_sets}
        self.cg = CodeGen(
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
        self.prefetcher = self._make_prefetcher()
        self.uses = features_of(program)
        note_layout(self.cg.notes, layout, self.uses)
        kept = kept_of(self.uses)
        self.state = SavedState(self.cg, ingress_scratch)
        self.queues = Queues(self.cg, self.uses, kept, places_of(kept), self.state)
        self.cx = PacketContext(self.cg, self.uses, self.queues, self.state, egress_scratch)
        self.egress_queues = EgressQueues(self.cx) if egress_queues else None

    def _make_prefetcher(self) -> Prefetcher | None:
        parser, ingress = self.program.block("p"), self.program.block("ig")
        assert isinstance(parser, ir.Parser)
        assert isinstance(ingress, ir.Control)
        tables = prefetched_tables(self.program, parser, ingress.body, self.cg.tables)
        return Prefetcher(self.allocas, tables) if tables else None

    # --- The batch loop ---------------------------------------------------------------------------------------

    def write(self) -> Sizes:
        cg = self.cg
        first, head, arrival, self.begin, start, self.following, next_frame, self.copies, end = (
            cg.new_block(n)
            for n in ("first", "head", "arrival", "begin", "start", "following", "next_frame", "copies", "end")
        )
        b = cg.b
        b.position_at_end(first)
        self._before_all()
        b.branch(head)
        b.position_at_end(head)
        self.index = b.phi(I64)
        self._departures_before_frame()
        b.cbranch(b.icmp_signed("<", self.index, self.count), arrival, end)
        b.position_at_end(arrival)
        self._arrive()
        b.branch(self.begin)
        b.position_at_end(start)
        self._pass()
        b.position_at_end(self.following)
        self._take_waiting(next_frame)
        b.position_at_end(next_frame)
        index = b.add(self.index, i64(1) if self.egress_queues is None else FRAMES_TAKEN.get(cg))
        b.branch(head)
        self.index.add_incoming(i64(0), first)
        self.index.add_incoming(index, next_frame)
        b.position_at_end(self.copies)
        if self.egress_queues is not None:
            self.egress_queues.enter(self.following)
            b.position_at_end(self.leaving)
            self.egress_queues.leave()
        copies = Copies(self.cx, self.following, self.egress_queues)
        copies.emit()
        b.position_at_end(end)
        b.ret(i64(-1) if self.egress_queues is None else self.egress_queues.next_ns())
        return self._finish(start, first, copies)

    def _finish(self, start: Any, first: Any, copies: Copies) -> Sizes:
        """Fill the blocks that treat every slot there is."""
        state_bytes = self.state.finish() if self.uses.waits or self.egress_queues is not None else 0
        b = llvm.IRBuilder(self.begin)
        self.cg.storage.reset(b)
        b.branch(start)
        copies.finish(self.allocas)
        self.allocas.branch(first)
        return Sizes(
            self.queues.size_bytes(state_bytes) if self.uses.waits else 0,
            area_bytes(state_bytes) if self.egress_queues is not None else 0,
        )

    def _before_all(self) -> None:
        set_time(self.cg, self.now)
        if self.egress_queues is not None:
            self.leaving = self.cg.new_block("leaving_queue")
            if self.uses.reinjects:
                self.queues.begin()

    def _departures_before_frame(self) -> None:
        """What leaves its queue until now does so before the next frame, or the end."""
        if self.egress_queues is not None:
            none = self.cg.new_block("none_leaves")
            FRAMES_TAKEN.put(self.cg, 0)
            self.egress_queues.next(self.now, self.leaving, none)
            self.cg.b.position_at_end(none)

    def _prefetch_group(self, prefetcher: Prefetcher) -> None:
        """Every GROUP frames, prefetch for the look-ups of later ones."""
        b = self.cg.b
        place = b.urem(self.index, i64(GROUP))
        with b.if_then(b.icmp_unsigned("==", place, i64(0))):
            prefetcher.call(b, self.cg.table_area, self.addresses, self.lengths, self.index, self.count)

    def _find_look_ups_ahead(self, prefetcher: Prefetcher) -> None:
        """The cells of this pass. A packet that comes back from an egress queue, to the parser again, is none of the
        batch: the frame at `index` has not arrived yet, and its look-ups are under way."""
        b = self.cg.b
        cells = prefetcher.cells(b, self.index)
        if self.egress_queues is not None:
            has_arrived = b.icmp_unsigned("!=", FRAMES_TAKEN.get(self.cg), i64(0))
            cells = {name: b.select(has_arrived, cell, prefetcher.no_cells[name]) for name, cell in cells.items()}
        self.cg.ahead.update(cells)

    def _arrive(self) -> None:
        cg, b = self.cg, self.cg.b
        if self.prefetcher is not None:
            self._prefetch_group(self.prefetcher)
        length = b.zext(b.load(b.gep(self.lengths, [self.index], source_etype=I32), typ=I32), I64)
        port = b.load(b.gep(self.ports, [self.index], source_etype=I32), typ=I32)
        FRAME.put(cg, b.load(b.gep(self.addresses, [self.index], source_etype=PTR), typ=PTR))
        FRAME_LENGTH.put(cg, length)
        PORT.put(cg, port)
        if self.egress_queues is not None:
            set_time(cg, self.now)
            FRAMES_TAKEN.put(cg, 1)
        if self.uses.reinjects:
            OWN_CELL.put(cg, 0)
            AGAIN.put(cg, Instance.NORMAL)
            self.queues.begin()

    # --- One pass: parser and ingress -------------------------------------------------------------------------

    def _pass(self) -> None:
        cg, b = self.cg, self.cg.b
        cg.notes[Notes.DISCARD] = self.following
        if self.prefetcher is not None:
            self._find_look_ups_ahead(self.prefetcher)
        clear_pending(cg)
        LENGTH.put(cg, b.trunc(FRAME_LENGTH.get(cg), I32))
        self._first_metadata()
        parser = self.program.block("p")
        assert isinstance(parser, ir.Parser)
        emit_parser(cg, parser, FRAME.get(cg), FRAME_LENGTH.get(cg))
        self.cx.set("parser_error", b.load(cg.storage.slot("$error", I32), typ=I32))
        self.cx.emit_block("vr")
        if self.uses.clones:
            self._finish_clone()
        self.cx.emit_block("ig")
        self._after_ingress()

    def _first_metadata(self) -> None:
        cg, b = self.cg, self.cg.b
        if not self.uses.reinjects:
            self._arrival_metadata()
            return
        arrived, cloned, again, known = (cg.new_block(n) for n in ("arrived", "cloned", "again", "known"))
        node = b.switch(AGAIN.get(cg), again)
        node.add_case(constant(Instance.NORMAL, 32), arrived)
        node.add_case(constant(Instance.INGRESS_CLONE, 32), cloned)
        b.position_at_end(arrived)
        self._arrival_metadata()
        b.branch(known)
        b.position_at_end(cloned)
        self.cx.set("ingress_port", PORT.get(cg))
        b.branch(known)
        b.position_at_end(again)
        self.queues.kept.load(cg, KEPT.get(cg), KEPT_LIST.get(cg), self.uses.lists)
        self.cx.set("packet_length", FRAME_LENGTH.get(cg))
        self.cx.set("instance_type", AGAIN.get(cg))
        b.branch(known)
        b.position_at_end(known)

    def _arrival_metadata(self) -> None:
        self.cx.set("ingress_port", PORT.get(self.cg))
        self.cx.set("packet_length", FRAME_LENGTH.get(self.cg))
        self.cx.set("ingress_global_timestamp", self.cx.now_us)

    # --- Between ingress and egress (bmv2: targets/simple_switch/simple_switch.cpp, ingress_thread) ------------

    def _after_ingress(self) -> None:
        """What simple_switch looks at, in its order. Clones go to egress before their original, so what is to become
        of the original is decided first."""
        cg, b = self.cg, self.cg.b
        send_digest(cg)
        decided = cg.new_block("decided")
        COPIES.put(cg, 0)
        if self.uses.resubmits:
            resubmitted, kept = cg.new_block("resubmitted"), cg.new_block("kept")
            pending = RESUBMIT.get(cg)
            b.cbranch(b.icmp_unsigned("!=", pending, constant(0, 32)), resubmitted, kept)
            b.position_at_end(resubmitted)
            self.queues.resubmit(b.sub(pending, constant(1, 32)), decided)
            b.branch(decided)
            b.position_at_end(kept)
        self._replicate(decided)
        b.position_at_end(decided)
        if self.uses.clones:
            self._clone_ingress()
        b.branch(self.copies)

    def _replicate(self, decided: Any) -> None:
        """Multicast beats a drop by egress_spec."""
        cg, b = self.cg, self.cg.b
        multicast, unicast = cg.new_block("multicast"), cg.new_block("unicast")
        group = self.cx.get("mcast_grp")
        b.cbranch(b.icmp_unsigned("!=", group, constant(0, 16)), multicast, unicast)
        b.position_at_end(multicast)
        record = at(b, cg.context_word(Word.MULTICAST), b.mul(resize(b, group, 64), i64(16)))
        count = load(b, I64, record, 8, align=8)
        drop_if(cg, b.icmp_unsigned("==", count, i64(0)), Drop.NO_SUCH_GROUP, decided)
        self._decide(load(b, PTR, record, 0, align=8), count, Instance.REPLICATED, decided)
        b.position_at_end(unicast)
        spec = self.cx.get("egress_spec")
        drop_if(cg, b.icmp_unsigned("==", spec, constant(DROP_PORT, 9)), Drop.INGRESS, decided)
        single = cg.storage.slot("$single", I64)
        store(b, resize(b, spec, 64), single, 0, align=8)
        self._decide(single, i64(1), Instance.NORMAL, decided)

    def _decide(self, replicas: Value, count: Value, instance: Instance, decided: Any) -> None:
        cg, b = self.cg, self.cg.b
        if self.egress_queues is None:
            has_priority = b.icmp_unsigned("!=", self.cx.get("priority"), constant(0, 3))
            drop_if(cg, has_priority, Drop.PRIORITY, decided, count)
        self.cx.set("instance_type", constant(instance, 32))
        REPLICAS.put(cg, replicas)
        COPIES.put(cg, count)
        FRESH.put(cg, int(instance is Instance.REPLICATED))
        COPY_CUT.put(cg, UNCUT)
        b.branch(decided)

    # --- Clones of ingress ------------------------------------------------------------------------------------

    def _clone_ingress(self) -> None:
        """If a clone is pending and its session exists, the original waits and the frame is parsed again."""
        cg, b = self.cg, self.cg.b
        pending, done = cg.new_block("clone"), cg.new_block("no_clone")
        session = CLONE.get(cg)
        b.cbranch(b.icmp_unsigned("!=", session, constant(0, 32)), pending, done)
        b.position_at_end(pending)
        CLONE.put(cg, 0)
        replicas, copies, cut = self.queues.session(session, done)
        self.queues.charge(done)
        self.queues.kept.store(cg, self.queues.area(self.queues.places.clone_kept))
        waiting, parsing = cg.new_block("wait"), cg.new_block("parse_again")
        b.cbranch(b.icmp_unsigned("!=", COPIES.get(cg), i64(0)), waiting, parsing)
        b.position_at_end(waiting)
        self.queues.leave_later()
        b.branch(parsing)
        b.position_at_end(parsing)
        for register, value in ((REPLICAS, replicas), (COPIES, copies), (COPY_CUT, cut), (FRESH, 1)):
            register.put(cg, value)
        AGAIN.put(cg, Instance.INGRESS_CLONE)
        b.branch(self.begin)
        b.position_at_end(done)

    def _finish_clone(self) -> None:
        """A clone's parse is over: it keeps its headers, and the metadata of its field list."""
        cg, b = self.cg, self.cg.b
        clone, original = cg.new_block("clone"), cg.new_block("ingress")
        b.cbranch(b.icmp_unsigned("==", AGAIN.get(cg), constant(Instance.INGRESS_CLONE, 32)), clone, original)
        b.position_at_end(clone)
        area = self.queues.area(self.queues.places.clone_kept)
        self._become_clone(area, CLONE_LIST.get(cg), Instance.INGRESS_CLONE)
        b.position_at_end(original)

    def _become_clone(self, kept: Value, number: Value, instance: Instance) -> None:
        self.state.forget()
        self.queues.kept.load(self.cg, kept, number, self.uses.lists)
        self.cx.set("instance_type", constant(instance, 32))
        self.cg.b.branch(self.copies)

    # --- What waits -------------------------------------------------------------------------------------------

    def _take_waiting(self, next_frame: Any) -> None:
        """After a packet: first what waits for egress, then what leaves an egress queue now, then what waits for the
        parser, then the next frame."""
        cg, b = self.cg, self.cg.b
        if self.uses.clones:
            none, clone = cg.new_block("none_leaving"), cg.new_block("egress_clone")
            is_clone, number = self.queues.next_leaving(none)
            b.cbranch(is_clone, clone, self.copies)
            b.position_at_end(clone)
            self._become_clone(KEPT.get(cg), number, Instance.EGRESS_CLONE)
            b.position_at_end(none)
        if self.egress_queues is not None:
            none = cg.new_block("none_leaves_now")
            self.egress_queues.next(NOW.get(cg), self.leaving, none)
            b.position_at_end(none)
        if self.uses.reinjects:
            self.queues.next_entering(next_frame)
            b.branch(self.begin)
        else:
            b.branch(next_frame)
