"""How the servers of r racks turn their partial sums into totals, chunk by chunk: round a ring, or sharded.

Chunk c belongs to rack c mod r, where its sum is finished. In both ways a rack sends (r - 1) / r of the data as parts
and as much again as totals: 2 (r - 1) M / r, however many workers it has.

- *Ring*: the rack after the chunk's own begins; each adds its part and passes the sum on, until the chunk's own has the
  total, which goes round once more.
- *Sharded*: each sends its part to the chunk's own rack, which sends the total to each.

Losses are mended from the ends, so there are no timers here: a worker that misses a result repeats its contribution,
which its server (`tier`) reports as `repeat`. Whoever holds the result repeats nothing, and whoever lacks it does, so
every rack that waits sends its last frame of that chunk again, and asks where it should have been sent one.

Memory is that of the slot rule: chunk c + 2W takes the place of chunk c. Its first part proves that all workers of that
rack have the result of c + W, to which all workers of all racks had contributed, so all had the result of c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hostagent.protocol.frames import Frame
from hostagent.protocol.wire import Kind
from hostagent.rackserver.hierarchy.outbox import Outbox
from hostagent.rackserver.hierarchy.parts import Envelope, Failure, Part, Peer, combine, part_of, sender_of

MODULUS = 1 << 32


@dataclass(slots=True)
class Place:
    """What is known of the chunk that one set holds."""

    chunk: int
    own: Part | None = None
    total: Part | None = None
    came: dict[int, Part] = field(default_factory=dict)
    """By rack: parts of others. Round the ring only the previous rack's, which is that of all before it."""
    failed: Failure | None = None
    sent: tuple[Kind, Part] | None = None
    """What was last sent on, for who asks."""

    @property
    def is_open(self) -> bool:
        return self.total is None and self.failed is None


class Exchange(Outbox):
    """One job's exchange at one rack; the base of both ways."""

    def __init__(self, envelope: Envelope, peers: Mapping[int, Peer], window: int) -> None:
        """``peers``: the other racks by number. The racks are 0 to len(peers)."""
        super().__init__()
        self.envelope = envelope
        self.rack = envelope.rack
        self.racks = len(peers) + 1
        if set(peers) | {self.rack} != set(range(self.racks)):
            raise ValueError(f"racks {sorted(peers)} beside rack {self.rack}: number them from 0, each once")
        self.peers = peers
        self.window = window
        self._places: dict[int, Place] = {}

    # --- What the server calls --------------------------------------------------------------------------------------

    def submit(self, part: Part) -> None:
        """All of this rack's workers have contributed."""
        place = self._place(part.chunk)
        if place is not None and place.own is None:
            place.own = part
            self._advance(place)

    def repeat(self, chunk: int) -> None:
        """One of this rack's workers still lacks the result."""
        place = self._places.get(self._index(chunk))
        if place is not None and place.chunk == chunk and place.own is not None and place.is_open:
            self._ask_again(place)

    def receive(self, frame: Frame) -> None:
        """A frame of this job from another rack; what can't be is dropped and counted."""
        header, rack = frame.header, sender_of(frame, self.rack)
        known = rack in self.peers and header.epoch == self.envelope.epoch
        place = self._place(header.chunk) if known else None
        if place is None:
            self.traffic.dropped += 1
            return
        part = part_of(frame)
        if header.kind == Kind.CONTRIBUTION and self._takes_parts_of(rack, place.chunk):
            self._take_part(place, rack, part)
        elif header.kind == Kind.RESULT and self._takes_total_of(rack, place.chunk):
            self._finish(place, part)
        elif header.kind == Kind.WAITING and rack == self._asks_us():
            self._send_again(place, rack)
        elif header.kind == Kind.ERROR and len(part.lanes) == 4:
            self._fail(place, Failure(header.chunk, header.operation, header.operator, part.lanes))
        else:
            self.traffic.dropped += 1

    # --- What the two ways differ in ----------------------------------------------------------------------------------

    def home(self, chunk: int) -> int:
        """The rack where the chunk's sum is finished."""
        return chunk % self.racks

    def _takes_parts_of(self, rack: int, chunk: int) -> bool:
        raise NotImplementedError

    def _takes_total_of(self, rack: int, chunk: int) -> bool:
        raise NotImplementedError

    def _asks_us(self) -> int:
        """The rack that asks us for what it lacks; -1: none does."""
        return -1

    def _advance(self, place: Place) -> None:
        """Send, or finish, what now can be."""
        raise NotImplementedError

    def _hears_from_us(self, place: Place) -> tuple[int, ...]:
        """To whom a total goes from here."""
        raise NotImplementedError

    def _repeated_part(self, place: Place, rack: int) -> None:
        """A part that had come before: does its sender lack something that is ours to send?"""

    def _ask_again(self, place: Place) -> None:
        raise NotImplementedError

    # --- Shared -------------------------------------------------------------------------------------------------------

    def _index(self, chunk: int) -> int:
        return chunk % (2 * self.window)

    def _place(self, chunk: int) -> Place | None:
        """The chunk's place; None for one that is over."""
        index = self._index(chunk)
        place = self._places.get(index)
        is_next = place is not None and (chunk - place.chunk) % MODULUS == 2 * self.window and place.total is not None
        if place is None or is_next:
            place = self._places[index] = Place(chunk)
        return place if place.chunk == chunk else None

    def _take_part(self, place: Place, rack: int, part: Part) -> None:
        if not place.is_open or rack in place.came:
            self._repeated_part(place, rack)
            return
        place.came[rack] = part
        self._advance(place)

    def _merge(self, place: Place) -> Part | None:
        """Our part and those that came; None, and a failure, where they are of different operations."""
        assert place.own is not None
        merged = place.own
        for rack in sorted(place.came):
            if not merged.agrees(place.came[rack]):
                self._fail(place, Failure.between(merged, place.came[rack]))
                return None
            merged = combine(merged, place.came[rack])
        return merged

    def _finish(self, place: Place, total: Part) -> None:
        """The total has come, or been made here."""
        if not place.is_open or place.own is None:
            return
        if not place.own.agrees(total):
            self._fail(place, Failure.between(place.own, total))
            return
        place.total = total
        self._totals.append(total)
        for rack in self._hears_from_us(place):
            self._send(place, Kind.RESULT, total, rack)

    def _fail(self, place: Place, failure: Failure) -> None:
        """Tell our workers, and every rack, each of which tells it on once: nobody may miss it."""
        if not place.is_open:
            return
        place.failed = failure
        self._failures.append(failure)
        for rack in self.peers:
            self._send(place, Kind.ERROR, _as_part(failure), rack)

    def _send(self, place: Place, kind: Kind, part: Part, rack: int, *, again: bool = False) -> None:
        frame = self.envelope.frame(kind, part, self.peers[rack])
        size_bytes = 0 if kind is Kind.WAITING else part.lanes.nbytes
        self._post(self.peers[rack].port, frame, size_bytes, total=kind is Kind.RESULT, again=again)
        if kind is not Kind.WAITING:
            place.sent = (kind, part)

    def _send_again(self, place: Place, rack: int) -> None:
        """Another rack lacks what we may have."""
        if place.failed is not None:
            self._send(place, Kind.ERROR, _as_part(place.failed), rack, again=True)
        elif place.total is not None:
            self._send(place, Kind.RESULT, place.total, rack, again=True)
        elif place.sent is not None:
            self._send(place, *place.sent, rack, again=True)


def _as_part(failure: Failure) -> Part:
    return Part(failure.chunk, failure.operation, failure.operator, failure.lanes)


class Ring(Exchange):
    """Each rack hears the previous one and speaks to the next."""

    @property
    def _next(self) -> int:
        return (self.rack + 1) % self.racks

    @property
    def _previous(self) -> int:
        return (self.rack - 1) % self.racks

    def _takes_parts_of(self, rack: int, chunk: int) -> bool:
        return rack == self._previous and self.home(chunk) != rack

    def _takes_total_of(self, rack: int, chunk: int) -> bool:
        return rack == self._previous and self.home(chunk) != self.rack

    def _asks_us(self) -> int:
        return self._next

    def _advance(self, place: Place) -> None:
        begins = self.home(place.chunk) == self._previous
        if place.own is None or (not begins and self._previous not in place.came):
            return
        merged = self._merge(place)
        if merged is None:
            return
        if self.home(place.chunk) == self.rack:
            self._finish(place, merged)
        else:
            self._send(place, Kind.CONTRIBUTION, merged, self._next)

    def _hears_from_us(self, place: Place) -> tuple[int, ...]:
        return () if self.home(place.chunk) == self._next else (self._next,)

    def _ask_again(self, place: Place) -> None:
        if place.sent is not None:
            self._send(place, *place.sent, self._next, again=True)
        assert place.own is not None
        self._send(place, Kind.WAITING, place.own, self._previous)


class Sharded(Exchange):
    """Each rack speaks to the chunk's own, which answers all."""

    def _takes_parts_of(self, rack: int, chunk: int) -> bool:
        return self.home(chunk) == self.rack

    def _takes_total_of(self, rack: int, chunk: int) -> bool:
        return self.home(chunk) == rack

    def _advance(self, place: Place) -> None:
        if place.own is None:
            return
        if self.home(place.chunk) != self.rack:
            self._send(place, Kind.CONTRIBUTION, place.own, self.home(place.chunk))
        elif len(place.came) == self.racks - 1:
            merged = self._merge(place)
            if merged is not None:
                self._finish(place, merged)

    def _hears_from_us(self, place: Place) -> tuple[int, ...]:
        return tuple(self.peers) if self.home(place.chunk) == self.rack else ()

    def _repeated_part(self, place: Place, rack: int) -> None:
        self._send_again(place, rack)

    def _ask_again(self, place: Place) -> None:
        if place.sent is not None:
            self._send(place, *place.sent, self.home(place.chunk), again=True)


WAYS: Mapping[str, type[Exchange]] = {"ring": Ring, "sharded": Sharded}
