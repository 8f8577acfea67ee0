"""What a reduction is on each switch of a tree, and what memory that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.context_run import Role
from pspin_model.flare.models.settings import predicted_cycles
from pspin_model.flare.reduction_run import bytes_needed
from pspin_model.flare.sparse.wire import pairs_per_packet
from pspin_model.flare.tree.config import TreeConfig
from pspin_model.flare.tree.manager import SwitchPlan


@dataclass(frozen=True, slots=True)
class Parts:
    """What a reduction is on each switch of a tree."""

    config: FlareConfig
    tree: TreeConfig
    reduction: Reduction
    number: int
    hosts: Sequence[str]
    most_packets: int
    """Most packets of a sparse block from a host."""
    addresses: Mapping[str, int]
    """Addresses of hosts and switches, by name."""

    def at_switch(self, children: Sequence[str]) -> Reduction:
        """The reduction of one switch, with its algorithm."""
        rate = len(children) * self.tree.link_gbps
        return replace(self.reduction, children=len(children), line_rate_gbps=rate).chosen(self.config.machine)

    def need(self, plan: SwitchPlan) -> int:
        """Bytes of each L1."""
        return bytes_needed(self.config.machine, self.at_switch(plan.children), self.number, self.role(plan, 0))

    def role(self, plan: SwitchPlan, number: int) -> Role:
        """Fragments are at most what comes if nothing is merged: each pair once, and one packet that is not full."""
        role = Role(
            number,
            plan.parent is None,
            address=self.addresses[plan.switch],
            pause_cycles=self.tree.patience_cycles // 2,
        )
        if not self.reduction.density:
            return role
        below = [self._hosts_below(plan.switch, child) for child in plan.children]
        return replace(
            role,
            most_fragments=max(self._fragments(hosts) if hosts else self.most_packets for hosts in below),
            kept=self._fragments(sum(max(1, hosts) for hosts in below)) if self.tree.loss else 0,
        )

    def expected_cycles(self, plans: Iterable[SwitchPlan]) -> float:
        """For the whole message through a tree of these switches, by the cost model: the manager sends it to hosts,
        so that they do not take for lost what is being worked on. Staggered blocks are all done late, so that one level
        works after the other; of each the slowest switch counts."""
        of_level: dict[int, float] = {}
        for plan in plans:
            hosts = max(1, max(self._hosts_below(plan.switch, child) for child in plan.children))
            density = 1 - (1 - self.reduction.density) ** hosts
            cycles = predicted_cycles(self.at_switch(plan.children), self.config, density)
            level = self.tree.level_of(plan.switch)
            of_level[level] = max(cycles, of_level.get(level, 0.0))
        return sum(of_level.values())

    def _hosts_below(self, switch: str, child: str) -> int:
        """Under a child of a switch, at most; 0: it is a host."""
        if child in self.hosts:
            return 0
        level = self.tree.level_of(child)
        upwards = level < self.tree.level_of(switch)
        return min(len(self.hosts), math.prod(self.tree.fan_in[: level + 1])) if upwards else len(self.hosts)

    def _fragments(self, hosts: int) -> int:
        """At most of a block by a switch over that number of hosts."""
        per_packet = pairs_per_packet(self.reduction.element_type, self.reduction.packet_bytes)
        pairs = min(hosts * self.most_packets * per_packet, hosts * self.reduction.span)
        if self.reduction.storage == "array":
            return -(-min(pairs, self.reduction.span) // per_packet)
        return pairs // min(per_packet, self.reduction.spill_pairs or per_packet) + 2
