"""The network manager: builds a tree of switches for a reduction, books its memory, refuses when that does not suffice.

Hosts ask before they reduce; each switch of the tree gets the reduction's number, its children and its parent.
A refusal changes nothing and says what was short, so that the hosts can reduce among themselves instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MOST_REDUCTIONS = 256
"""Reductions at a time: a reduction's number has 8 bits in a packet."""


class ReductionRefused(Exception):
    """The network cannot take the reduction now; the hosts fall back to reducing among themselves."""


class TopologyError(ValueError):
    """The fabric's description contradicts itself."""


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """One switch of a tree."""

    switch: str
    parent: str | None
    """None: the root, which sends results down."""
    children: tuple[str, ...]
    """Hosts and switches; a child's number is its place here."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What a reduction got."""

    number: int
    root: str
    plans: Mapping[str, SwitchPlan]
    booked: Mapping[str, int]
    """Bytes on each switch."""

    @property
    def depth(self) -> int:
        """Switches between the farthest host and the root, the root included."""
        return max(self._height(name) for name in self.plans)

    def _height(self, name: str) -> int:
        parent = self.plans[name].parent
        return 1 if parent is None else 1 + self._height(parent)


@dataclass(slots=True)
class Fabric:
    """Switches with what memory each has for reductions, cables between them, and where hosts are plugged in."""

    memory_bytes: Mapping[str, int]
    cables: Iterable[tuple[str, str]]
    hosts: Mapping[str, str]
    """Host -> its switch."""
    neighbours: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.neighbours = {name: [] for name in self.memory_bytes}
        for one, other in self.cables:
            for end in (one, other):
                if end not in self.neighbours:
                    raise TopologyError(f"a cable from {one} to {other}: there is no switch {end}")
            self.neighbours[one].append(other)
            self.neighbours[other].append(one)
        for host, switch in self.hosts.items():
            if switch not in self.neighbours:
                raise TopologyError(f"host {host} is plugged into {switch}, which is not a switch")


Need: TypeAlias = int | Callable[[SwitchPlan], int]
"""Bytes on each switch of a tree: as many on all, or by a switch's children and place."""


class Manager:
    """Keeps what is booked. `request` a tree, `release` it by its number."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._free = dict(fabric.memory_bytes)
        self._trees: dict[int, Tree] = {}
        self._next = 0

    @property
    def free_bytes(self) -> Mapping[str, int]:
        return dict(self._free)

    @property
    def hosts(self) -> Mapping[str, str]:
        """Host -> its switch."""
        return self._fabric.hosts

    @property
    def trees(self) -> Mapping[int, Tree]:
        return dict(self._trees)

    def request(self, hosts: Iterable[str], need: Need) -> Tree:
        """The flattest tree over these hosts in which every switch has enough memory left; its memory is reserved.

        Raises ReductionRefused, with nothing changed, and TopologyError for a host that there is not.
        """
        members = list(dict.fromkeys(hosts))
        for host in members:
            if host not in self._fabric.hosts:
                raise TopologyError(f"there is no host {host}")
        if not members:
            raise TopologyError("a reduction needs hosts")
        number = self._number()
        short: dict[str, int] = {}
        found = [tree for root in self._free if (tree := self._tree_with_room(number, root, members, need, short))]
        if not found:
            raise ReductionRefused(self._why(members, short))
        # flattest first, then fewest switches, then what leaves most memory at the root
        best = min(found, key=lambda tree: (tree.depth, len(tree.plans), -self._free[tree.root], tree.root))
        for switch, size in best.booked.items():
            self._free[switch] -= size
        self._trees[number] = best
        return best

    def release(self, number: int) -> None:
        """Free a tree's memory; a tree that does not exist is ignored."""
        tree = self._trees.pop(number, None)
        if tree is not None:
            for switch, size in tree.booked.items():
                self._free[switch] += size

    def _number(self) -> int:
        """The next one that is free, so that a number rests as long as possible before it comes again."""
        for step in range(MOST_REDUCTIONS):
            number = (self._next + step) % MOST_REDUCTIONS
            if number not in self._trees:
                self._next = number + 1
                return number
        raise ReductionRefused(f"{MOST_REDUCTIONS} reductions are under way: wait for one to end")

    def _tree_with_room(
        self, number: int, root: str, members: list[str], need: Need, short: dict[str, int]
    ) -> Tree | None:
        """Round switches that have too little for their part; ``short`` gets what those would have needed."""
        avoided: set[str] = set()
        while (plans := self._plans(root, members, avoided)) is not None:
            booked = {name: need(plan) if callable(need) else need for name, plan in plans.items()}
            lacking = {name: size for name, size in booked.items() if size > self._free[name]}
            if not lacking:
                return Tree(number, root, plans, booked)
            short |= lacking
            avoided |= set(lacking)
        return None

    def _plans(self, root: str, members: list[str], avoided: set[str]) -> dict[str, SwitchPlan] | None:
        """Shortest ways from the root; None where a host cannot be reached or the root has nothing to do."""
        if root in avoided:
            return None
        parents: dict[str, str | None] = {root: None}
        queue = deque([root])
        while queue:
            at = queue.popleft()
            for neighbour in self._fabric.neighbours[at]:
                if neighbour not in parents and neighbour not in avoided:
                    parents[neighbour] = at
                    queue.append(neighbour)
        children: dict[str, list[str]] = {}
        for host in members:
            below, at = host, self._fabric.hosts[host]
            if at not in parents:
                return None
            while below not in children.setdefault(at, []):
                children[at].append(below)
                above = parents[at]
                if above is None:
                    break
                below, at = at, above
        plans = {name: SwitchPlan(name, parents[name], tuple(below)) for name, below in children.items()}
        return plans if root in plans else None

    def _why(self, members: list[str], short: Mapping[str, int]) -> str:
        lacking = [f"{name} has {self._free[name]} bytes left and needs {size}" for name, size in sorted(short.items())]
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        missing = ", ".join(lacking[:3]) + more if lacking else "no path connects them"
        return (
            f"no tree over {len(members)} hosts has the memory on every switch: {missing}. "
            "Reduce on the hosts, use smaller messages or another algorithm, or wait for a reduction to end"
        )
