"""Reductions through trees of switches in time: hosts, links, and switches that are machines of their own.

The manager builds each reduction's tree and books its memory. Packets go up link by link; results come down past the
cores, store and forward. Without loss nothing flows back into a switch's cores, so that one pass is exact: switches run
in the order of the trees, children first, each with the packets that those below have sent. Where links lose packets,
time is cut into passes of a part of `timeout_cycles`: between them hosts look what has waited for its result that long,
and what goes back into a switch's cores, or on a host to its link, goes there with the next pass.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.joined import join_runs
from pspin_model.flare.manager import Manager, ReductionRefused, Tree
from pspin_model.flare.merging import inject_in_turns
from pspin_model.flare.records import BLOCK_BITS
from pspin_model.flare.role import Role
from pspin_model.flare.run_of import ReductionRun, bytes_needed, set_up
from pspin_model.flare.sparse_wire import IP_UDP_BYTES, pairs_per_packet, requested
from pspin_model.flare.timed_data import HostData, host_data
from pspin_model.flare.timed_network import EVERYONE, Link, Parcel, Sender
from pspin_model.flare.traffic import Inbound
from pspin_model.flare.tree_config import TreeConfig
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Machine, Run

MOST_VAIN_ROUNDS = 100
"""Of repeats in a row after which no host gets a result: then the run ends. [ours]"""
PASSES_A_TIMEOUT = 4
"""Answers to requests come late by at most one. [ours]"""
PORT_OF_ALL = 0


@dataclass(slots=True)
class Member:
    """A switch's part in one reduction."""

    run: ReductionRun
    role: Role
    children: tuple[str, ...]
    parent: str | None


@dataclass(slots=True)
class Switch:
    """A machine, and what waits for its cores or for its links down."""

    name: str
    level: int
    machine: Machine
    members: dict[int, Member] = field(default_factory=dict)
    """By reduction."""
    inbox: list[Parcel] = field(default_factory=list)
    falling: list[Parcel] = field(default_factory=list)
    passes: list[Run] = field(default_factory=list)
    _in_works: int = 0
    """Packets whose cores are not done."""

    def work(self, until: int | None) -> list[tuple[Member, Parcel]]:
        """Let the cores work on what comes before a cycle; returns what they sent up. What they sent down falls."""
        due, self.inbox = _before(self.inbox, until)
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
        return self._sent(run)

    def _sent(self, run: Run) -> list[tuple[Member, Parcel]]:
        by_context = {member.run.context.index: (number, member) for number, member in self.members.items()}
        found = []
        for place in np.argsort(run.sent["cycle"], kind="stable"):
            number, member = by_context[int(run.sent["context"][place])]
            port = int(run.sent["port"][place])
            block = int(run.sent["tag"][place]) & ((1 << BLOCK_BITS) - 1)
            data = run.payload(int(place)).tobytes()
            parcel = Parcel(int(run.sent["cycle"][place]), number, block, member.role.number, data)
            if port == PORT_OF_ALL and not member.role.is_root:
                found.append((member, parcel))
            else:
                self.falling.append(replace(parcel, child=EVERYONE if port == PORT_OF_ALL else port - 1))
        return found

    @property
    def run(self) -> Run:
        """All that happened."""
        return join_runs(self.passes)


@dataclass(slots=True)
class TimedReduction:
    """One reduction with its tree; without one it was refused."""

    number: int
    reduction: Reduction
    data: HostData
    tree: Tree | None = None
    refused: str = ""
    hosts: list[str] = field(default_factory=list)
    senders: list[Sender] = field(default_factory=list)


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
        self._random = random.Random(tree.seed)
        self._links: dict[tuple[str, str], Link] = {}
        self._senders: dict[tuple[int, str], Sender] = {}
        self.reductions: list[TimedReduction] = []
        for number, reduction in enumerate(config.reductions):
            self.reductions.append(self._admit(number, reduction))
        self._order = self._children_first()

    def play(self) -> None:
        """Run until every host has every result, or nothing happens any more."""
        for host, parcels in self._first_copies().items():
            self._send(host, parcels)
        if not self.tree.loss:
            self._pass(None)
            return
        step = -(-self.tree.timeout_cycles // PASSES_A_TIMEOUT)
        until, vain, missing = step, 0, self.missing
        while vain < MOST_VAIN_ROUNDS:
            self._pass(until)
            if self.missing < missing:
                vain, missing = 0, self.missing
            if not missing:
                return
            vain += self._repeat(until)
            until += step

    def _repeat(self, now: int) -> bool:
        """Hosts send again what they have waited for; whether any did."""
        found = {key: sender.repeats(now, self.tree.timeout_cycles) for key, sender in self._senders.items()}
        for (_, host), parcels in found.items():
            self._send(host, parcels)
        return any(found.values())

    @property
    def missing(self) -> int:
        """Results that hosts have not got, over all blocks."""
        return sum(sender.missing for sender in self._senders.values())

    # --- Setting up -------------------------------------------------------------------------------------------------

    def _admit(self, number: int, reduction: Reduction) -> TimedReduction:
        hosts = self.tree.spread(reduction.children)
        made = TimedReduction(number, reduction, host_data(reduction), hosts=hosts)
        parts = Parts(self.config.machine, self.tree, reduction, number, hosts, made.data.most_packets)
        try:
            tree = self.manager.request(hosts, lambda plan: parts.need(plan.switch, plan.children, plan.parent))
            made.tree = tree
            self._children_first(made)
        except ReductionRefused as error:
            if made.tree is not None:
                self.manager.release(made.tree.number)
                made.tree = None
            made.refused = str(error)
            return made
        for name, plan in tree.plans.items():
            place = tree.plans[plan.parent].children.index(name) if plan.parent else 0
            role = parts.role(name, plan.children, plan.parent, place)
            at_switch = parts.at_switch(plan.children)
            run = set_up(self.switches[name].machine, at_switch, f"reduction{number}", number, role)
            self.switches[name].members[number] = Member(run, role, plan.children, plan.parent)
            for child, host in enumerate(plan.children):
                if host in self.manager.hosts:
                    self._senders[number, host] = self._sender(made, host, child, len(plan.children))
        made.senders = [self._senders[number, host] for host in hosts]
        return made

    def _sender(self, made: TimedReduction, host: str, child: int, children: int) -> Sender:
        packets = made.data.packets(made.hosts.index(host), child)
        order, ready = made.data.schedule(packets, child, children, self.tree.link_gbps)
        dtype = made.reduction.element_type if made.reduction.density else None
        return Sender(made.number, child, packets, order, ready, dtype, made.reduction.packet_bytes)

    def _children_first(self, newest: TimedReduction | None = None) -> list[str]:
        """All switches in an order in which every tree's children stand before their parents."""
        made = [*self.reductions, newest] if newest else self.reductions
        graph: TopologicalSorter[str] = TopologicalSorter({name: () for name in self.switches})
        for one in made:
            for name, plan in one.tree.plans.items() if one.tree else ():
                if plan.parent:
                    graph.add(plan.parent, name)
        try:
            return list(graph.static_order())
        except CycleError:
            raise ReductionRefused("its tree goes down where another's goes up; reduce on the hosts") from None

    # --- Passes -----------------------------------------------------------------------------------------------------

    def _first_copies(self) -> dict[str, list[Parcel]]:
        found: dict[str, list[Parcel]] = {}
        for (_, host), sender in self._senders.items():
            found.setdefault(host, []).extend(sender.first_copies())
        return {host: sorted(parcels, key=lambda parcel: parcel.at) for host, parcels in found.items()}

    def _send(self, host: str, parcels: Sequence[Parcel]) -> None:
        """Onto a host's link, in order of time."""
        switch = self.manager.hosts[host]
        link = self._link(host, switch)
        for parcel in parcels:
            sender = self._senders[parcel.reduction, host]
            self._carry(link, parcel, self.switches[switch].inbox)
            sender.sent_at[parcel.block] = link.free

    def _pass(self, until: int | None) -> None:
        for name in self._order:
            switch = self.switches[name]
            for member, parcel in switch.work(until):
                assert member.parent is not None
                self._carry(self._link(name, member.parent), parcel, self.switches[member.parent].inbox)
        for name in reversed(self._order):
            self._let_fall(self.switches[name], until)

    def _let_fall(self, switch: Switch, until: int | None) -> None:
        due, switch.falling = _before(switch.falling, until)
        for parcel in due:
            children = switch.members[parcel.reduction].children
            for child in children if parcel.child == EVERYONE else (children[parcel.child],):
                arrived: list[Parcel] = []
                self._carry(self._link(switch.name, child), replace(parcel, child=EVERYONE), arrived)
                for each in arrived:
                    self._arrive(child, each)

    def _arrive(self, child: str, parcel: Parcel) -> None:
        """From above, at a host or a switch: results go on past a switch's cores, requests are for them."""
        if child not in self.switches:
            self._send(child, self._senders[parcel.reduction, child].receive(parcel))
            return
        switch, sparse = self.switches[child], self.reductions[parcel.reduction].reduction.density
        if sparse and requested(parcel.data[IP_UDP_BYTES:], 0) is not None:
            from_above = len(switch.members[parcel.reduction].children)
            switch.inbox.append(replace(parcel, child=from_above))
        else:
            switch.falling.append(parcel)

    def _carry(self, link: Link, parcel: Parcel, to: list[Parcel]) -> None:
        to += [replace(parcel, at=there) for there in link.carry(parcel.at, len(parcel.data))]

    def _link(self, here: str, there: str) -> Link:
        tree = self.tree
        if (here, there) not in self._links:
            self._links[here, there] = Link(tree.link_gbps, tree.latency_cycles, tree.loss, tree.repeat, self._random)
        return self._links[here, there]

    @property
    def links(self) -> list[Link]:
        """Those on which anything went, each way by itself."""
        return list(self._links.values())

    @property
    def lost(self) -> int:
        """Packets that links have lost."""
        return sum(link.lost for link in self.links)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a reduction is on each switch of a tree."""

    machine: MachineConfig
    tree: TreeConfig
    reduction: Reduction
    number: int
    hosts: Sequence[str]
    most_packets: int
    """Of a sparse block from a host."""

    def at_switch(self, children: Sequence[str]) -> Reduction:
        rate = len(children) * self.tree.link_gbps
        return replace(self.reduction, children=len(children), line_rate_gbps=rate).chosen(self.machine)

    def need(self, switch: str, children: Sequence[str], parent: str | None) -> int:
        """Bytes of each L1."""
        role = self.role(switch, children, parent, 0)
        return bytes_needed(self.machine, self.at_switch(children), self.number, role)

    def role(self, switch: str, children: Sequence[str], parent: str | None, number: int) -> Role:
        """Fragments are at most what comes if nothing is merged: each pair once, and one packet that is not full."""
        if not self.reduction.density:
            return Role(number, parent is None)
        below = [self._hosts_below(switch, child) for child in children]
        return Role(
            number,
            parent is None,
            most_fragments=max(self._fragments(hosts) if hosts else self.most_packets for hosts in below),
            kept=self._fragments(sum(max(1, hosts) for hosts in below)) if self.tree.loss else 0,
            pause_cycles=self.tree.timeout_cycles // 2,
        )

    def _hosts_below(self, switch: str, child: str) -> int:
        """Under a child of a switch, at most; 0: it is a host."""
        if child in self.hosts:
            return 0
        level = self.tree.level_of(child)
        upwards = level < self.tree.level_of(switch)
        return min(len(self.hosts), math.prod(self.tree.fan_in[: level + 1])) if upwards else len(self.hosts)

    def _fragments(self, hosts: int) -> int:
        """That a switch over so many hosts sends of a block at most."""
        per_packet = pairs_per_packet(self.reduction.element_type, self.reduction.packet_bytes)
        pairs = min(hosts * self.most_packets * per_packet, hosts * self.reduction.span)
        if self.reduction.storage == "array":
            return -(-min(pairs, self.reduction.span) // per_packet)
        return pairs // min(per_packet, self.reduction.spill_pairs or per_packet) + 2


def _before(parcels: list[Parcel], until: int | None) -> tuple[list[Parcel], list[Parcel]]:
    """(those before a cycle, in order of time; the others)."""
    if until is None:
        return sorted(parcels, key=lambda parcel: (parcel.at, parcel.child)), []
    due = sorted((p for p in parcels if p.at < until), key=lambda parcel: (parcel.at, parcel.child))
    return due, [p for p in parcels if p.at >= until]


def _inbound(parcels: Sequence[Parcel]) -> Inbound:
    def column(values: Any) -> Any:
        return np.array(list(values), np.int64)

    return Inbound(
        column(p.at for p in parcels),
        column(p.block for p in parcels),
        column(p.child for p in parcels),
        [p.data for p in parcels],
    )
