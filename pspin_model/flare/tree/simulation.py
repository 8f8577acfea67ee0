"""Reductions through trees of switches in time: hosts, links, and switches, each its own machine.

The manager builds each reduction's tree and books its memory. Packets go up link by link; results come down past the
cores, store and forward. Without loss nothing flows back into a switch's cores, so that one pass is exact: switches run
in the order of the trees, children first, each with the packets that those below have sent. Where links lose packets,
time is cut into passes, a part of the hosts' patience each: between them hosts look what is late and ask for it, and
what goes back into a switch's cores, or on a host to its link, goes there with the next pass. Time is cut, too, where a
reduction begins: it gets its tree, or is refused, with the memory that those have given back that ended before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.reduction_run import set_up
from pspin_model.flare.tree.config import TreeConfig
from pspin_model.flare.tree.data import HostData, due_cycles, host_data
from pspin_model.flare.tree.host import Patience, Sender
from pspin_model.flare.tree.manager import Manager, ReductionRefused, Tree
from pspin_model.flare.tree.network import Impairments, Link, Parcel
from pspin_model.flare.tree.switch import Member, Switch, before
from pspin_model.flare.tree.switch_parts import Parts
from pspin_model.machine.machine import Machine

MOST_FRUITLESS_ROUNDS = 1000
"""Most requests in a row after which neither a host nor a switch gets a packet that it lacks: then the run ends. Deep
down a tree one round in a hundred gets through where a third of all packets is lost. [ours]"""
PASSES_A_PATIENCE = 4
"""Answers to requests come late by at most one. [ours]"""


@dataclass(slots=True)
class TimedReduction:
    """One reduction with its tree; without one it was refused."""

    number: int
    reduction: Reduction
    data: HostData
    tree: Tree | None = None
    refused: str = ""
    ended: bool = False
    """Every host has its result, and the memory was given back."""
    hosts: list[str] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Results that hosts have not got, over all blocks."""
        return sum(sender.missing for sender in self.senders)


class TimedNetwork:
    """A fabric of switches with all reductions of a configuration on it."""

    def __init__(self, config: FlareConfig, tree: TreeConfig) -> None:
        self.config, self.tree = config, tree
        fabric = tree.fabric(config.machine.scratchpad_bytes)
        self.manager = Manager(fabric)
        self.switches = {
            name: Switch(name, tree.level_of(name), Machine(config.machine, config.costs))
            for name in fabric.memory_bytes
        }
        self._impairments = Impairments(tree.loss, tree.repeat, random.Random(tree.seed))
        self._links: dict[tuple[str, str], Link] = {}
        self._senders: dict[tuple[int, str], Sender] = {}
        self._outboxes: dict[str, list[Parcel]] = {}
        self._order: list[str] = []
        self.reductions: list[TimedReduction] = []
        for number, reduction in enumerate(config.reductions):
            hosts = tree.spread(reduction.children)
            self.reductions.append(TimedReduction(number, reduction, host_data(reduction), hosts=hosts))
        self._begin(0)

    def play(self) -> None:
        """Run until every host has every result, or nothing happens any more."""
        fruitless, got, now = 0, 0, 0
        while fruitless < MOST_FRUITLESS_ROUNDS * PASSES_A_PATIENCE:
            until = self._next_stop(now)
            self._pass(until)
            if until is None:
                return
            now = until
            self._begin(now)
            if self._got > got:
                fruitless, got = 0, self._got
            if not self.missing and not self._waiting(now):
                return
            fruitless += self.tree.loss > 0 and self._ask_for_late(now)

    def _next_stop(self, now: int) -> int | None:
        """Where the next pass ends; None: nowhere."""
        stops = [one.reduction.start_cycles for one in self._waiting(now)]
        if self.tree.loss:
            stops.append(now + -(-self.tree.patience_cycles // PASSES_A_PATIENCE))
        return min(stops, default=None)

    def _waiting(self, now: int) -> list[TimedReduction]:
        """Reductions that begin later."""
        return [one for one in self.reductions if one.reduction.start_cycles > now]

    def _ask_for_late(self, now: int) -> bool:
        """Hosts ask for what they have waited for; whether any did."""
        found = {key: sender.late(now) for key, sender in self._senders.items()}
        for (_, host), parcels in found.items():
            self._send(host, parcels)
        return any(found.values())

    @property
    def _got(self) -> int:
        """Packets of data that switches and hosts have got, each once."""
        at_switches = sum(switch.taken for switch in self.switches.values())
        return at_switches + sum(sender.received for sender in self._senders.values())

    @property
    def missing(self) -> int:
        """Results that hosts have not got, over all reductions and blocks."""
        return sum(one.missing for one in self.reductions)

    # --- Setting up -------------------------------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        """Take reductions that begin now, or refuse them, with what others that ended have given back."""
        begin = [one for one in self.reductions if one.reduction.start_cycles == now]
        for one in self.reductions if begin else ():
            if one.tree is not None and not one.ended and not one.missing:
                one.ended = True
                self.manager.release(one.tree.number)
                for name in one.tree.plans:
                    self.switches[name].end(one.number)
        for one in begin:
            self._admit(one)

    def _admit(self, made: TimedReduction) -> None:
        """Build a reduction's tree and set it up on its switches, or say why not."""
        addresses = [*made.hosts, *self.switches]
        numbers = {name: number for number, name in enumerate(addresses)}
        parts = Parts(self.config, self.tree, made.reduction, made.number, made.hosts, made.data.most_packets, numbers)
        try:
            made.tree = self.manager.request(made.hosts, parts.need)
            self._order = self._children_first()
        except ReductionRefused as error:
            if made.tree is not None:
                self.manager.release(made.tree.number)
                made.tree = None
            made.refused = str(error)
            return
        ways, cycles = _ways(made.tree), parts.expected_cycles(made.tree.plans.values())
        for name, plan in made.tree.plans.items():
            place = made.tree.plans[plan.parent].children.index(name) if plan.parent else 0
            switch, role = self.switches[name], parts.role(plan, place)
            at_switch = parts.at_switch(plan.children)
            run = set_up(switch.machine, at_switch, f"reduction{made.number}", made.number, role)
            switch.members[made.number] = Member(run, role, plan.children, plan.parent, addresses, ways[name])
            for child, host in enumerate(plan.children):
                if host in self.manager.hosts:
                    sender = self._sender(made, host, numbers[host], child, len(plan.children), cycles)
                    self._senders[made.number, host] = sender
                    self._outboxes.setdefault(host, []).extend(sender.first_copies())
        made.senders = [self._senders[made.number, host] for host in made.hosts]

    def _sender(
        self, made: TimedReduction, host: str, address: int, child: int, children: int, cycles: float
    ) -> Sender:
        """``cycles``: that the tree is expected to take for the message."""
        packets = made.data.packets(made.hosts.index(host), child)
        order, ready = made.data.schedule(packets, child, children, self.tree.link_gbps)
        return Sender(
            made.number,
            child,
            address,
            packets,
            order,
            ready,
            due_cycles(len(order), children if made.reduction.staggered else 1, min(map(min, ready)), cycles),
            Patience(self.tree.patience_cycles),
            made.reduction.element_type if made.reduction.density else None,
            made.reduction.packet_bytes,
        )

    def _children_first(self) -> list[str]:
        """All switches in an order in which every tree's children precede their parents."""
        graph: TopologicalSorter[str] = TopologicalSorter({name: () for name in self.switches})
        for one in self.reductions:
            for name, plan in one.tree.plans.items() if one.tree and not one.ended else ():
                if plan.parent:
                    graph.add(plan.parent, name)
        try:
            return list(graph.static_order())
        except CycleError:
            raise ReductionRefused("its tree goes down where another's goes up; reduce on the hosts") from None

    # --- Passes -----------------------------------------------------------------------------------------------------

    def _pass(self, until: int | None) -> None:
        for host, outbox in self._outboxes.items():
            due, self._outboxes[host] = before(outbox, until)
            self._send(host, due)
        for name in self._order:
            switch = self.switches[name]
            for member, parcel in switch.work(until):
                assert member.parent is not None
                self._carry(self._link(name, member.parent), parcel, self.switches[member.parent].inbox)
        for name in reversed(self._order):
            self._let_fall(self.switches[name], until)

    def _send(self, host: str, parcels: Sequence[Parcel]) -> None:
        """Onto a host's link, in order of time."""
        switch = self.manager.hosts[host]
        link = self._link(host, switch)
        for parcel in parcels:
            self._carry(link, parcel, self.switches[switch].inbox)
            self._senders[parcel.reduction, host].left(parcel.block, link.free)

    def _let_fall(self, switch: Switch, until: int | None) -> None:
        due, switch.falling = before(switch.falling, until)
        for parcel in due:
            for child, copy in switch.copies_down(parcel):
                arrived: list[Parcel] = []
                self._carry(self._link(switch.name, child), copy, arrived)
                for each in arrived:
                    self._arrive(child, each)

    def _arrive(self, child: str, parcel: Parcel) -> None:
        """Arrival from above, at a host or a switch: results go on past a switch's cores, requests are for them."""
        if child not in self.switches:
            self._send(child, self._senders[parcel.reduction, child].receive(parcel))
            return
        switch = self.switches[child]
        if parcel.request:
            from_above = len(switch.members[parcel.reduction].children)
            switch.inbox.append(replace(parcel, child=from_above))
        else:
            switch.falling.append(parcel)

    def _carry(self, link: Link, parcel: Parcel, to: list[Parcel]) -> None:
        to += [replace(parcel, at=there) for there in link.carry(parcel.at, len(parcel.data))]

    def _link(self, here: str, there: str) -> Link:
        tree = self.tree
        if (here, there) not in self._links:
            self._links[here, there] = Link(tree.link_gbps, tree.latency_cycles, self._impairments)
        return self._links[here, there]

    @property
    def links(self) -> list[Link]:
        """Links on which anything went, each way by itself."""
        return list(self._links.values())

    @property
    def lost(self) -> int:
        """Packets that links have lost."""
        return sum(link.lost for link in self.links)


def _ways(tree: Tree) -> Mapping[str, Mapping[str, str]]:
    """By switch, for each host and switch below it: the child by way of which it is reached."""
    parents = {child: name for name, plan in tree.plans.items() for child in plan.children}
    ways: dict[str, dict[str, str]] = {name: {} for name in tree.plans}
    for member in parents:
        below = member
        while below in parents:
            ways[parents[below]][member] = below
            below = parents[below]
    return ways
