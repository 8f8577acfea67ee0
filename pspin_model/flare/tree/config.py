"""Configuration of a tree of switches: levels, links, and their impairments.

[tree]
fan_in = [8, 4, 2]        # hosts of a leaf, leaves of a switch above, and so on up to the root
roots = 2                 # switches at the top to choose from, each with cables to all below
link_gbps = 100           # of every link, each way
latency_cycles = 500
loss = 0.01               # of packets, on every link
repeat = 0.01
timeout_cycles = 20_000   # how long hosts wait for a result that is due before they ask for it; by itself 4 round trips
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pspin_model.flare.sparse.wire import PACKET_BYTES
from pspin_model.flare.tree.manager import Fabric
from pspin_model.machine.config import ConfigError, unknown_field

RATES_GBPS = (1e-3, 1e6)
"""Least and highest rate of links. [ours]"""
MOST_CYCLES = 1 << 31
"""Longest latency and timeout. [ours]"""
MOST_CHILDREN = 256
"""Most children of a reduction. [ours]"""
MOST_HOSTS = 4096
"""[ours]"""
ROUND_TRIPS = 4
"""Round trips to the root that a host waits, of a packet of the usual size on empty links. The cores' work and queues
are in the other three; where they take longer hosts learn it (`host.Patience`). [ours]"""


@dataclass(frozen=True, slots=True)
class TreeConfig:
    """Levels of switches over hosts, as many below each of a level."""

    fan_in: tuple[int, ...]
    roots: int = 1
    link_gbps: float = 100.0
    """Rate of each link, each way."""
    latency_cycles: int = 500
    """Latency of a link, in addition to a packet's serialization time. [ours]"""
    loss: float = 0.0
    repeat: float = 0.0
    timeout_cycles: int = 0
    """Where links lose packets: how long a host waits at least for a result that is due before it asks for it; 0:
    `ROUND_TRIPS` of the tree's."""
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = self._problem()
        if wrong:
            raise ConfigError(f"tree: {wrong}")

    def _problem(self) -> str:
        if not self.fan_in or any(not _whole(fan) or fan < 1 for fan in self.fan_in):
            return f"fan_in = {list(self.fan_in)!r}: numbers of at least 1, of a leaf's hosts first"
        for name, least in (("roots", 1), ("latency_cycles", 0), ("timeout_cycles", 0), ("seed", 0)):
            value = getattr(self, name)
            if not _whole(value) or not least <= value <= MOST_CYCLES:
                return f"{name} = {value!r} is not a whole number from {least} to {MOST_CYCLES}"
        if len(self.fan_in) == 1 and self.roots != 1:
            return f"roots = {self.roots}: fan_in = {list(self.fan_in)} is one switch, the only root"
        if self.hosts > MOST_HOSTS:
            return f"fan_in = {list(self.fan_in)}: {self.hosts} hosts, more than {MOST_HOSTS}"
        if not _number(self.link_gbps) or not RATES_GBPS[0] <= self.link_gbps <= RATES_GBPS[1]:
            return f"link_gbps = {self.link_gbps!r}: from {RATES_GBPS[0]:g} to {RATES_GBPS[1]:g}"
        for name in ("loss", "repeat"):
            value = getattr(self, name)
            if not _number(value) or not 0 <= value < 1:
                return f"{name} = {value!r}: a part of all packets, at least 0 and less than 1"
        if self.loss and 0 < self.timeout_cycles < self.latency_cycles:
            return f"timeout_cycles = {self.timeout_cycles} is less than the latency_cycles of one link"
        return ""

    def spread(self, count: int) -> list[str]:
        """Hosts, so many, evenly over all switches."""
        return [f"host{number * self.hosts // count}" for number in range(count)]

    @property
    def hosts(self) -> int:
        return math.prod(self.fan_in)

    @property
    def patience_cycles(self) -> int:
        """How long a host waits at least for a result that is due."""
        way = len(self.fan_in) * (self.latency_cycles + PACKET_BYTES * 8 / self.link_gbps)
        return self.timeout_cycles or math.ceil(ROUND_TRIPS * 2 * way)

    def switch_name(self, level: int, number: int) -> str:
        """``leaf3``, ``level1.0``, ``root0``; the root of one level is its only leaf."""
        if level == len(self.fan_in) - 1:
            return f"root{number}"
        return f"leaf{number}" if level == 0 else f"level{level}.{number}"

    def level_of(self, switch: str) -> int:
        """0: hosts are plugged in."""
        if switch.startswith("root"):
            return len(self.fan_in) - 1
        return 0 if switch.startswith("leaf") else int(switch.removeprefix("level").partition(".")[0])

    def fabric(self, memory_bytes: int) -> Fabric:
        """The switches with their memory, their cables, and where hosts 0, 1, ... are."""
        top = len(self.fan_in) - 1
        counts = [math.prod(self.fan_in[level + 1 :]) for level in range(top)] + [self.roots]
        names = [[self.switch_name(level, number) for number in range(count)] for level, count in enumerate(counts)]
        cables = []
        for level in range(top):
            for number, name in enumerate(names[level]):
                above = names[top] if level + 1 == top else [names[level + 1][number // self.fan_in[level + 1]]]
                cables += [(name, other) for other in above]
        hosts = {f"host{number}": names[0][number // self.fan_in[0]] for number in range(self.hosts)}
        return Fabric({name: memory_bytes for level in names for name in level}, cables, hosts)


def make_tree(given: Mapping[str, Any], children: Sequence[int]) -> TreeConfig:
    """A [tree] for reductions with that number of children each. ``leaves = 8`` is short for two levels that the
    largest of them fills. Raises ConfigError."""
    values = dict(given)
    names = [field.name for field in fields(TreeConfig)]
    leaves = values.pop("leaves", None)
    for name in values:
        if name not in names:
            raise unknown_field("tree", name, ["leaves", *names])
    if (leaves is None) == ("fan_in" not in values):
        raise ConfigError("tree: give fan_in = [8, 8], hosts of a leaf first, or leaves = 8 for two levels")
    if leaves is not None:
        if not _whole(leaves) or leaves < 1:
            raise ConfigError(f"tree: leaves = {leaves!r} is not a whole number of at least 1")
        if any(count % leaves for count in children):
            raise ConfigError(f"tree: {max(children)} children cannot be spread evenly over {leaves} leaves")
        values["fan_in"] = [max(children) // leaves, leaves]
    if not isinstance(values["fan_in"], (list, tuple)):
        raise ConfigError(f"tree: fan_in = {values['fan_in']!r} is not a list")
    tree = TreeConfig(**{**values, "fan_in": tuple(values["fan_in"])})
    for count in children:
        if count > tree.hosts:
            raise ConfigError(f"tree: a reduction of {count} children; fan_in = {list(tree.fan_in)} has {tree.hosts}")
    return tree


def usual_children(given: Mapping[str, Any]) -> dict[str, int]:
    """The children of reductions that do not say how many: all hosts of ``fan_in``, `MOST_CHILDREN` at most. Empty
    where it says none."""
    fan_in = given.get("fan_in")
    if not isinstance(fan_in, (list, tuple)) or not fan_in or any(not _whole(fan) or fan < 1 for fan in fan_in):
        return {}
    return {"children": min(math.prod(fan_in), MOST_CHILDREN)}


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
