"""A leaf: an aggregator that is itself a child of another, where it stands for all of its own workers.

The parent's job counts it as one child; what the workers of this rack have summed is its contribution, and the parent's
result is theirs. So a rack server may have leaves beside workers, and be a leaf of any aggregator.
"""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import FLAG_NO_DATA, Header, Kind
from hostagent.rackserver.hierarchy.outbox import Outbox
from hostagent.rackserver.hierarchy.parts import Failure, Part, part_of


@dataclass(frozen=True, slots=True)
class ParentTerms:
    """What the leaf is at its parent."""

    port: int
    """Of ours, by which the parent is reached."""
    job: int
    epoch: int
    child: int
    addresses: Addresses
    """From us to it."""
    checksum: bool = False


class Parent(Outbox):
    """One job's end at the leaf; called like an `Exchange`. A worker's repeat sends the partial sum again."""

    def __init__(self, terms: ParentTerms, window: int) -> None:
        super().__init__()
        self.terms = terms
        self.window = window
        self._parts: dict[int, Part] = {}
        self._final: set[int] = set()

    def submit(self, part: Part) -> None:
        """See `Exchange`."""
        index = part.chunk % (2 * self.window)
        self._parts[index] = part
        self._final.discard(index)
        self._send(part, again=False)

    def repeat(self, chunk: int) -> None:
        """See `Exchange`."""
        index = chunk % (2 * self.window)
        part = self._parts.get(index)
        if part is not None and part.chunk == chunk and index not in self._final:
            self._send(part, again=True)

    def receive(self, frame: Frame) -> None:
        """The parent's answer; one that can't be its is dropped and counted."""
        header, terms = frame.header, self.terms
        index = header.chunk % (2 * self.window)
        part = self._parts.get(index)
        ours = (header.job, header.epoch, header.child) == (terms.job, terms.epoch, terms.child)
        sender = frame.addresses == terms.addresses.swapped()
        if not ours or not sender or part is None or part.chunk != header.chunk or index in self._final:
            self.traffic.dropped += 1
        elif header.kind == Kind.ERROR:
            self._final.add(index)
            self._failures.append(Failure(header.chunk, part.operation, part.operator, frame.lanes[:4]))
        elif header.kind == Kind.RESULT and part.agrees(total := part_of(frame)):
            self._final.add(index)
            self._totals.append(total)
        elif header.kind != Kind.WAITING:
            self.traffic.dropped += 1

    def _send(self, part: Part, *, again: bool) -> None:
        terms = self.terms
        header = Header(
            Kind.CONTRIBUTION,
            terms.job,
            terms.child,
            terms.epoch,
            part.chunk,
            part.operation,
            operator=part.operator,
            flags=FLAG_NO_DATA if part.no_data else 0,
        )
        frame = build_frame(Frame(terms.addresses, header, part.lanes, terms.checksum))
        self._post(terms.port, frame, part.lanes.nbytes, again=again)
