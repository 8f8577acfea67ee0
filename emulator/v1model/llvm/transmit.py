"""Transmission, from the end of egress to a cell of the egress port's ring, or back to the parser.

The deparser writes straight into the cell that the frame leaves from. Other destinations are for programs that need
them: a cell of the re-injection queue, a staging cell for frames that are cut, and for frames that no port takes if the
deparser does more than emit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, copy_bytes, i64, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.packet import Deparsing, append
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
from emulator.v1model.features import Features
from emulator.v1model.layout import Word
from emulator.v1model.limits import REINJECTION_CELL_BYTES, UNCUT
from emulator.v1model.llvm.counting import count_drop, drop_if
from emulator.v1model.llvm.queues import STAGING_BYTES, Queues
from emulator.v1model.llvm.registers import CURSOR, CUT, FRAME, FRAME_LENGTH, RECIRCULATE, Register
from emulator.v1model.metadata import Drop, Instance


class Way(IntEnum):
    """Where a frame goes when it is deparsed."""

    RING = 0
    STAGED = 1
    """Result: written to the ring, cut."""
    AGAIN = 2
    """Result: back to the parser."""
    NO_PORT = 3
    NO_ROOM = 4


WAY = Register("$way", I32)
CELL = Register("$cell", PTR)
CELL_END = Register("$cell_end", PTR)
RING = Register("$ring", PTR)
TAIL = Register("$tail", I64)
PLACE = Register("$place", I64)
"""Number of the cell."""
WRITTEN = Register("$written", I64)
"""Length of the deparsed frame; one byte more than the cell takes if it is too long."""


@dataclass(slots=True)
class Transmitter:
    """Emits the way out for one place in the code."""

    cg: CodeGen
    uses: Features
    queues: Queues
    control: Callable[[str], None]
    """Emits a control of the program."""
    port: Value
    then: Any
    """Block to continue at in all cases."""

    @property
    def ways(self) -> list[Way]:
        result = [Way.RING]
        if self.uses.truncates:
            result.append(Way.STAGED)
        if self.uses.recirculates:
            result.append(Way.AGAIN)
        return [*result, Way.NO_PORT, Way.NO_ROOM] if self.uses.late_effects else result

    def emit(self) -> None:
        cg, b = self.cg, self.cg.b
        deparse = cg.new_block("deparse")
        if self.uses.recirculates:
            again, out = cg.new_block("again"), cg.new_block("out")
            b.cbranch(b.icmp_unsigned("!=", RECIRCULATE.get(cg), constant(0, 32)), again, out)
            b.position_at_end(again)
            self._aim(Way.AGAIN, self.queues.cell(), REINJECTION_CELL_BYTES, deparse)
            b.position_at_end(out)
        self._aim_at_ring(deparse)
        b.position_at_end(deparse)
        ways = self.ways
        if len(ways) == 1:
            self._deparse(self._too_long_block())
            self._send(self._written())
            b.branch(self.then)
            return
        self._deparse_any_length()
        blocks = {way: cg.new_block(f"way.{way.name.lower()}") for way in ways}
        node = b.switch(WAY.get(cg), blocks[Way.RING])
        for way in ways[1:]:
            node.add_case(constant(way, 32), blocks[way])
        for way in ways:
            b.position_at_end(blocks[way])
            self._finish(way)

    # --- Where to ---------------------------------------------------------------------------------------------------

    def _aim(self, way: Way, cell: Value, size: Value | int, deparse: Any) -> None:
        cg = self.cg
        WAY.put(cg, way)
        CELL.put(cg, cell)
        CELL_END.put(cg, at(cg.b, cell, size))
        cg.b.branch(deparse)

    def _aim_at_ring(self, deparse: Any) -> None:
        cg, b = self.cg, self.cg.b
        in_table = b.icmp_unsigned("<", self.port, constant(MAX_PORTS, 32))
        safe = b.select(in_table, resize(b, self.port, 64), i64(0))
        ring = at(b, cg.context_word(Word.TX_PORTS), b.mul(safe, i64(TX_RING_BYTES)))
        RING.put(cg, ring)
        cells = load(b, I64, ring, TX_CELLS, align=8)
        exists = b.and_(in_table, b.icmp_unsigned("!=", cells, i64(0)))
        self._lose_unless(exists, Way.NO_PORT, deparse)
        tail, limit = load(b, I64, ring, TX_TAIL, align=8), load(b, I64, ring, TX_LIMIT, align=8)
        self._lose_unless(b.icmp_unsigned("<", tail, limit), Way.NO_ROOM, deparse)
        stride = resize(b, load(b, I32, ring, TX_STRIDE, align=4), 64)
        place = b.and_(tail, resize(b, load(b, I32, ring, TX_MASK, align=4), 64))
        TAIL.put(cg, tail)
        PLACE.put(cg, place)
        cell = b.inttoptr(b.add(cells, b.mul(place, stride)), PTR)
        if self.uses.truncates:
            staged, whole = cg.new_block("staged"), cg.new_block("whole")
            b.cbranch(b.icmp_unsigned("!=", CUT.get(cg), constant(UNCUT, 32)), staged, whole)
            b.position_at_end(staged)
            self._aim(Way.STAGED, self._staging(), STAGING_BYTES, deparse)
            b.position_at_end(whole)
        self._aim(Way.RING, cell, stride, deparse)

    def _staging(self) -> Value:
        return self.queues.area(self.queues.places.staging)

    def _lose_unless(self, condition: Value, way: Way, deparse: Any) -> None:
        """A frame without a port is deparsed if that has side effects."""
        cg = self.cg
        lost, going_on = cg.new_block("lost"), cg.new_block("ring")
        cg.b.cbranch(condition, going_on, lost)
        cg.b.position_at_end(lost)
        if self.uses.late_effects:
            self._aim(way, self._staging(), STAGING_BYTES, deparse)
        else:
            self._finish(way)
        cg.b.position_at_end(going_on)

    # --- The frame --------------------------------------------------------------------------------------------------

    def _deparse(self, too_long: Any) -> None:
        """Headers and payload into the cell."""
        cg, b = self.cg, self.cg.b
        self.control("ck")
        b.store(CELL.get(cg), cg.storage.slot("$out", PTR))
        cg.parse = Deparsing(CELL_END.get(cg), too_long)
        self.control("dep")
        cursor = CURSOR.get(cg)
        append(cg, at(b, FRAME.get(cg), cursor), b.sub(FRAME_LENGTH.get(cg), cursor))
        cg.parse = None

    def _written(self) -> Value:
        b, out = self.cg.b, self.cg.storage.slot("$out", PTR)
        return b.sub(b.ptrtoint(b.load(out, typ=PTR), I64), b.ptrtoint(CELL.get(self.cg), I64))

    def _room(self) -> Value:
        b = self.cg.b
        return b.sub(b.ptrtoint(CELL_END.get(self.cg), I64), b.ptrtoint(CELL.get(self.cg), I64))

    def _deparse_any_length(self) -> None:
        """Sets WRITTEN: the limit on the length is checked later, by the rules of each destination."""
        cg, b = self.cg, self.cg.b
        too_long, done = cg.new_block("too_long"), cg.new_block("deparsed")
        self._deparse(too_long)
        WRITTEN.put(cg, self._written())
        b.branch(done)
        b.position_at_end(too_long)
        WRITTEN.put(cg, b.add(self._room(), i64(1)))
        b.branch(done)
        b.position_at_end(done)

    # --- Destinations ------------------------------------------------------------------------------------------------

    def _finish(self, way: Way) -> None:
        match way:
            case Way.RING:
                self._fits(WRITTEN.get(self.cg), self._room())
                self._send(WRITTEN.get(self.cg))
            case Way.STAGED:
                self._send_cut()
            case Way.AGAIN:
                self._recirculate()
            case Way.NO_PORT:
                count_drop(self.cg, Drop.NO_SUCH_PORT)
            case Way.NO_ROOM:
                self._count_in_ring(TX_DROPPED_FULL)
                count_drop(self.cg, Drop.RING_FULL)
        self.cg.b.branch(self.then)

    def _count_in_ring(self, counter: int, amount: Value | int = 1) -> None:
        self.cg.add_to(at(self.cg.b, RING.get(self.cg), counter), amount)

    def _stride(self) -> Value:
        return resize(self.cg.b, load(self.cg.b, I32, RING.get(self.cg), TX_STRIDE, align=4), 64)

    def _too_long_block(self) -> Any:
        b = self.cg.b
        before, block = b.block, self.cg.new_block("too_long")
        b.position_at_end(block)
        self._count_in_ring(TX_DROPPED_TOO_LONG)
        count_drop(self.cg, Drop.TOO_LONG)
        b.branch(self.then)
        b.position_at_end(before)
        return block

    def _fits(self, length: Value, room: Value) -> None:
        """Go on unless the frame is longer than that."""
        fits = self.cg.new_block("fits")
        self.cg.b.cbranch(self.cg.b.icmp_unsigned(">", length, room), self._too_long_block(), fits)
        self.cg.b.position_at_end(fits)

    def _send(self, length: Value) -> None:
        cg, b = self.cg, self.cg.b
        ring = RING.get(cg)
        lengths = load(b, PTR, ring, TX_LENGTHS, align=8)
        store(b, resize(b, length, 32), lengths, b.mul(PLACE.get(cg), i64(4)), align=4)
        self._count_in_ring(TX_FRAMES)
        self._count_in_ring(TX_BYTES, length)
        store(b, b.add(TAIL.get(cg), i64(1)), ring, TX_TAIL, align=8)

    def _send_cut(self) -> None:
        cg, b = self.cg, self.cg.b
        written, cut = WRITTEN.get(cg), resize(b, CUT.get(cg), 64)
        length = b.select(b.icmp_unsigned("<", written, cut), written, cut)
        self._fits(length, self._stride())
        cells = load(b, I64, RING.get(cg), TX_CELLS, align=8)
        cell = b.inttoptr(b.add(cells, b.mul(PLACE.get(cg), self._stride())), PTR)
        copy_bytes(b, cell, CELL.get(cg), length)
        self._send(length)

    def _recirculate(self) -> None:
        cg, b, queues = self.cg, self.cg.b, self.queues
        queues.charge(self.then)
        queues.check_room(self.then)
        written = WRITTEN.get(cg)
        drop_if(cg, b.icmp_unsigned(">", written, i64(REINJECTION_CELL_BYTES)), Drop.TOO_LONG, self.then)
        number = b.sub(RECIRCULATE.get(cg), constant(1, 32))
        queues.enter(CELL.get(cg), written, Instance.RECIRCULATED, number)
