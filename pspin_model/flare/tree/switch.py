"""A switch of a tree: a machine, what waits for its cores, and what waits for its links down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pspin_model.flare.context_run import Role
from pspin_model.flare.records import BLOCK_BITS, REQUEST_SOURCE, TAG_REQUEST, TO_MEMBER
from pspin_model.flare.reduction_run import ReductionRun, inject_in_turns, join_runs
from pspin_model.flare.traffic import Inbound, Numbers
from pspin_model.flare.tree.network import EVERYONE, Parcel
from pspin_model.machine.machine import Machine, Run

PORT_OF_ALL = 0


@dataclass(slots=True)
class Member:
    """A switch's part in one reduction."""

    run: ReductionRun
    role: Role
    children: tuple[str, ...]
    parent: str | None
    addresses: Sequence[str]
    """Hosts and switches of the tree by their numbers."""
    ways: Mapping[str, str]
    """Child by way of which each host or switch below is reached."""


@dataclass(slots=True)
class Switch:
    """A machine, and what waits for its cores or for its links down."""

    name: str
    level: int
    machine: Machine
    members: dict[int, Member] = field(default_factory=dict)
    """Members by reduction."""
    inbox: list[Parcel] = field(default_factory=list)
    falling: list[Parcel] = field(default_factory=list)
    passes: list[Run] = field(default_factory=list)
    _ended: set[int] = field(default_factory=set)
    """Reductions with released memory: their late packets are dropped."""
    _in_works: int = 0
    """Packets still being handled."""
    _done: int = 0
    """Packets that were handled, without requests."""

    def end(self, reduction: int) -> None:
        """Give its memory back."""
        self.machine.release(self.members[reduction].run.context)
        self._ended.add(reduction)

    def work(self, until: int | None) -> list[tuple[Member, Parcel]]:
        """Let the cores work on what comes before a cycle; returns what they sent up. What they sent down falls."""
        due, self.inbox = before(self.inbox, until)
        due = [parcel for parcel in due if parcel.reduction not in self._ended]
        self._in_works += len(due)
        if not self._in_works and self.passes:
            return []
        of_reduction: dict[int, list[Parcel]] = {}
        for parcel in due:
            of_reduction.setdefault(parcel.reduction, []).append(parcel)
        parts = [(member.run.context, member.run.accept(_inbound(of_reduction[number])))
                 for number, member in self.members.items() if number in of_reduction]  # fmt: skip
        inject_in_turns(self.machine, parts)
        run = self.machine.run(until)
        self.passes.append(run)
        self._in_works -= len(run.packets["feedback"])
        self._done += int((run.packets["source"] < REQUEST_SOURCE).sum())
        return self._sent(run)

    def _sent(self, run: Run) -> list[tuple[Member, Parcel]]:
        by_context = {member.run.context.index: (number, member) for number, member in self.members.items()}
        found = []
        for place in np.argsort(run.sent["cycle"], kind="stable"):
            number, member = by_context[int(run.sent["context"][place])]
            port, tag = int(run.sent["port"][place]), int(run.sent["tag"][place])
            parcel = Parcel(
                int(run.sent["cycle"][place]),
                number,
                tag % (1 << BLOCK_BITS),
                run.payload(int(place)).tobytes(),
                child=member.role.number,
                request=bool(tag & TAG_REQUEST),
            )
            if port == PORT_OF_ALL and not member.role.is_root:
                found.append((member, parcel))
            else:
                self.falling.append(replace(parcel, to=_to(member, port)))
        return found

    def copies_down(self, parcel: Parcel) -> list[tuple[str, Parcel]]:
        """A packet on its way down for each child to whom it goes from here."""
        member = self.members[parcel.reduction]
        if parcel.to in (EVERYONE, self.name):
            return [(child, replace(parcel, to=EVERYONE)) for child in member.children]
        return [(member.ways[parcel.to], parcel)]

    @property
    def taken(self) -> int:
        """Packets of data from below, each once."""
        return self._done - sum(member.run.repeats for member in self.members.values())

    @property
    def run(self) -> Run:
        """All that happened."""
        return join_runs(self.passes)


def _to(member: Member, port: int) -> str:
    """Whom a packet is for that goes down by a port (`records.A_PORT`)."""
    if port == PORT_OF_ALL:
        return EVERYONE
    return member.addresses[port - TO_MEMBER] if port >= TO_MEMBER else member.children[port - 1]


def before(parcels: list[Parcel], until: int | None) -> tuple[list[Parcel], list[Parcel]]:
    """(those before a cycle, or all, in order of time; the others)."""
    due = sorted(
        (parcel for parcel in parcels if until is None or parcel.at < until),
        key=lambda parcel: (parcel.at, parcel.child),
    )
    return due, [] if until is None else [parcel for parcel in parcels if parcel.at >= until]


def _inbound(parcels: Sequence[Parcel]) -> Inbound:
    def column(values: Iterable[int]) -> Numbers:
        return np.array(list(values), np.int64)

    return Inbound(
        column(parcel.at for parcel in parcels),
        column(parcel.block for parcel in parcels),
        column(parcel.child + REQUEST_SOURCE * parcel.request for parcel in parcels),
        [parcel.data for parcel in parcels],
    )
