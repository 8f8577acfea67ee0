"""What waits to go through the switch again, in flat memory inside the compiled batch function.

Two queues, as in simple_switch: frames on their way to the parser (resubmitted, recirculated), and packets on their way
to egress (clones of egress, and originals whose ingress clone goes first). Both are empty again before the next frame
of the batch is taken, so all their state is in the function's own variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4.layout import CACHE_LINE_BYTES, round_up
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, copy_bytes, i64, load, store
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.features import Features
from emulator.v1model.layout import CLONE_SESSION_BYTES, CLONE_SESSIONS, Word
from emulator.v1model.limits import QUEUE_CAPACITY, REINJECTION_CELL_BYTES, REINJECTION_LIMIT, UNCUT
from emulator.v1model.llvm.counting import count_fault, drop_if
from emulator.v1model.llvm.registers import COPIES, COPY_CUT, FRAME, FRAME_LENGTH, FRESH, OWN_CELL, REPLICAS, Register
from emulator.v1model.llvm.saved import Kept, SavedState
from emulator.v1model.metadata import Drop, Fault, Instance

ENTRY_SLOTS = QUEUE_CAPACITY + 2
"""One more is in use by the packet that came out last, and one is the place where the next frame is being written."""

# A frame on its way to the parser, in bytes; the kept variables follow.
ENTERING_ADDRESS = 0
ENTERING_LENGTH = 8
ENTERING_INSTANCE = 16
ENTERING_LIST = 20
ENTERING_HEADER_BYTES = 24

# A packet on its way to egress, in bytes; the kept variables follow, then its state.
LEAVING_LIST = 0
"""0: an original, which keeps everything; else 1 + index of the field list of a clone."""
LEAVING_HEADER_BYTES = 8

ENTERING_FIRST = Register("$entering.first", I64)
ENTERING_END = Register("$entering.end", I64)
LEAVING_FIRST = Register("$leaving.first", I64)
LEAVING_END = Register("$leaving.end", I64)
REINJECTIONS = Register("$reinjections", I64)

AGAIN = Register("$again", I32)
"""Why this frame is parsed: the `Instance` that it becomes."""
KEPT = Register("$kept", PTR)
KEPT_LIST = Register("$kept_list", I32)


@dataclass(frozen=True, slots=True)
class Places:
    """Offsets in the area of the context word QUEUES."""

    clone_kept: int
    staging: int
    """A cell for frames that are cut before they are sent, or lost after they are deparsed."""
    entering: int
    entering_bytes: int
    cells: int
    leaving: int
    """The last part; its entries' size is known when all code is written."""
    leaving_head_bytes: int


def places_of(kept: Kept) -> Places:
    staging = round_up(kept.size_bytes, CACHE_LINE_BYTES)
    entering = staging + STAGING_BYTES
    entering_bytes = ENTERING_HEADER_BYTES + kept.size_bytes
    cells = entering + round_up(ENTRY_SLOTS * entering_bytes, CACHE_LINE_BYTES)
    leaving = cells + ENTRY_SLOTS * REINJECTION_CELL_BYTES
    head = round_up(LEAVING_HEADER_BYTES + kept.size_bytes, CACHE_LINE_BYTES)
    return Places(0, staging, entering, entering_bytes, cells, leaving, head)


STAGING_BYTES = 1 << 17
"""Twice the longest frame."""


@dataclass(slots=True)
class Queues:
    """Emits the code that fills and empties the queues."""

    cg: CodeGen
    uses: Features
    kept: Kept
    places: Places
    state: SavedState

    def size_bytes(self, state_bytes: int) -> int:
        """Size of the whole area."""
        return self.places.leaving + QUEUE_CAPACITY * (self.places.leaving_head_bytes + state_bytes)

    def begin(self) -> None:
        """Before the first frame: both queues are empty."""
        for register in (ENTERING_FIRST, ENTERING_END, LEAVING_FIRST, LEAVING_END, REINJECTIONS):
            register.put(self.cg, 0)

    def area(self, offset: int) -> Value:
        return at(self.cg.b, self.cg.context_word(Word.QUEUES), offset)

    def charge(self, then: Any) -> None:
        """Count one more packet caused by the arriving frame; none beyond the limit."""
        cg = self.cg
        made = REINJECTIONS.get(cg)
        drop_if(cg, cg.b.icmp_unsigned(">=", made, i64(REINJECTION_LIMIT)), Drop.REINJECTED_TOO_OFTEN, then)
        REINJECTIONS.put(cg, cg.b.add(made, i64(1)))

    # --- To the parser ------------------------------------------------------------------------------------------

    def cell(self) -> Value:
        """Where a frame to be recirculated is written before it is queued."""
        return self._cell(ENTERING_END.get(self.cg))

    def _cell(self, number: Value) -> Value:
        b = self.cg.b
        place = b.mul(b.urem(number, i64(ENTRY_SLOTS)), i64(REINJECTION_CELL_BYTES))
        return at(b, self.area(self.places.cells), place)

    def _entering(self, number: Value) -> Value:
        b = self.cg.b
        place = b.mul(b.urem(number, i64(ENTRY_SLOTS)), i64(self.places.entering_bytes))
        return at(b, self.area(self.places.entering), place)

    def check_room(self, then: Any) -> None:
        b = self.cg.b
        waiting = b.sub(ENTERING_END.get(self.cg), ENTERING_FIRST.get(self.cg))
        drop_if(self.cg, b.icmp_unsigned(">=", waiting, i64(QUEUE_CAPACITY)), Drop.QUEUE_FULL, then)

    def enter(self, address: Value, length: Value, instance: Instance, number: Value) -> None:
        """Queue a frame; there is room. ``number``: the field list, i32."""
        cg, b = self.cg, self.cg.b
        end = ENTERING_END.get(cg)
        entry = self._entering(end)
        store(b, address, entry, ENTERING_ADDRESS, align=8)
        store(b, length, entry, ENTERING_LENGTH, align=8)
        store(b, constant(instance, 32), entry, ENTERING_INSTANCE, align=4)
        store(b, number, entry, ENTERING_LIST, align=4)
        self.kept.store(cg, at(b, entry, ENTERING_HEADER_BYTES))
        ENTERING_END.put(cg, b.add(end, i64(1)))

    def resubmit(self, number: Value, then: Any) -> None:
        """The frame of this pass once more; a frame in a cell moves on to a new one, for its own will be used again."""
        cg, b = self.cg, self.cg.b
        self.charge(then)
        self.check_room(then)
        frame, length = FRAME.get(cg), FRAME_LENGTH.get(cg)
        address = cg.storage.slot("$resubmitted", PTR)
        b.store(frame, address)
        with b.if_then(OWN_CELL.get(cg)):
            copy_bytes(b, self.cell(), frame, length)
            b.store(self.cell(), address)
        self.enter(b.load(address, typ=PTR), length, Instance.RESUBMITTED, number)

    def next_entering(self, otherwise: Any) -> None:
        """The first waiting frame becomes this pass's; none: go to ``otherwise``."""
        cg, b = self.cg, self.cg.b
        first = ENTERING_FIRST.get(cg)
        some = cg.new_block("entering")
        b.cbranch(b.icmp_unsigned("!=", first, ENTERING_END.get(cg)), some, otherwise)
        b.position_at_end(some)
        entry = self._entering(first)
        ENTERING_FIRST.put(cg, b.add(first, i64(1)))
        address = load(b, PTR, entry, ENTERING_ADDRESS, align=8)
        FRAME.put(cg, address)
        FRAME_LENGTH.put(cg, load(b, I64, entry, ENTERING_LENGTH, align=8))
        OWN_CELL.put(cg, b.icmp_unsigned("==", b.ptrtoint(address, I64), b.ptrtoint(self._cell(first), I64)))
        AGAIN.put(cg, load(b, I32, entry, ENTERING_INSTANCE, align=4))
        KEPT.put(cg, at(b, entry, ENTERING_HEADER_BYTES))
        KEPT_LIST.put(cg, load(b, I32, entry, ENTERING_LIST, align=4))

    # --- Clone sessions -----------------------------------------------------------------------------------------

    def session(self, number: Value, otherwise: Any) -> tuple[Value, Value, Value]:
        """(replicas, how many, bytes to cut clones to) of a session; none: count, and go on at ``otherwise``."""
        cg, b = self.cg, self.cg.b
        place = b.mul(b.zext(b.and_(number, constant(CLONE_SESSIONS - 1, 32)), I64), i64(CLONE_SESSION_BYTES))
        record = at(b, cg.context_word(Word.CLONE_SESSIONS), place)
        count = load(b, I32, record, 8, align=4)
        missing, present = cg.new_block("no_session"), cg.new_block("session")
        b.cbranch(b.icmp_unsigned("!=", count, constant(0, 32)), present, missing)
        b.position_at_end(missing)
        count_fault(cg, Fault.NO_SUCH_SESSION)
        b.branch(otherwise)
        b.position_at_end(present)
        cut = load(b, I32, record, 12, align=4)
        cut = b.select(b.icmp_unsigned("==", cut, constant(0, 32)), constant(UNCUT, 32), cut)
        return load(b, PTR, record, 0, align=8), b.zext(count, I64), cut

    # --- To egress ----------------------------------------------------------------------------------------------

    def _leaving(self, number: Value) -> Value:
        b = self.cg.b
        size = b.add(self.state.stride(), i64(self.places.leaving_head_bytes))
        return at(b, self.area(self.places.leaving), b.mul(b.urem(number, i64(QUEUE_CAPACITY)), size))

    def leave_later(self) -> None:
        """The packet as it is waits behind its ingress clone; then the queue is empty, so there is room."""
        entry = self._append_leaving()
        store(self.cg.b, i64(0), entry, LEAVING_LIST, align=8)
        self.state.save(at(self.cg.b, entry, self.places.leaving_head_bytes))

    def clone_later(self, replicas: Value, copies: Value, cut: Value, number: Value, then: Any) -> None:
        """A clone of the packet with its headers as they are; the packet itself goes on as before."""
        cg, b = self.cg, self.cg.b
        waiting = b.sub(LEAVING_END.get(cg), LEAVING_FIRST.get(cg))
        drop_if(cg, b.icmp_unsigned(">=", waiting, i64(QUEUE_CAPACITY)), Drop.QUEUE_FULL, then)
        entry = self._append_leaving()
        store(b, b.zext(b.add(number, constant(1, 32)), I64), entry, LEAVING_LIST, align=8)
        self.kept.store(cg, at(b, entry, LEAVING_HEADER_BYTES))
        values = ((REPLICAS, replicas), (COPIES, copies), (COPY_CUT, cut), (FRESH, constant(1, 1)))
        before = [register.get(cg) for register, _ in values]
        for register, value in values:
            register.put(cg, value)
        self.state.save(at(b, entry, self.places.leaving_head_bytes))
        for (register, _), value in zip(values, before, strict=True):
            register.put(cg, value)

    def _append_leaving(self) -> Value:
        end = LEAVING_END.get(self.cg)
        LEAVING_END.put(self.cg, self.cg.b.add(end, i64(1)))
        return self._leaving(end)

    def next_leaving(self, otherwise: Any) -> tuple[Value, Value]:
        """The first waiting packet becomes this one; none: go to ``otherwise``. Returns whether it is a clone, i1, and
        the index of its field list, i32; its kept variables are at KEPT."""
        cg, b = self.cg, self.cg.b
        first = LEAVING_FIRST.get(cg)
        some = cg.new_block("leaving")
        b.cbranch(b.icmp_unsigned("!=", first, LEAVING_END.get(cg)), some, otherwise)
        b.position_at_end(some)
        LEAVING_FIRST.put(cg, b.add(first, i64(1)))
        entry = self._leaving(first)
        number = load(b, I64, entry, LEAVING_LIST, align=8)
        KEPT.put(cg, at(b, entry, LEAVING_HEADER_BYTES))
        self.state.load(at(b, entry, self.places.leaving_head_bytes))
        is_clone = b.icmp_unsigned("!=", number, i64(0))
        return is_clone, b.trunc(b.sub(number, i64(1)), I32)
