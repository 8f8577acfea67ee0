"""A tree of aggregators (PROTOCOL.md, section 12): what each must know of a job; driven as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from hostagent.controller.drivers.driver import AggregatorCounters, Driver
from hostagent.controller.drivers.groups.group import DriverGroup, GroupRefused
from hostagent.controller.drivers.job import Child, JobConfig, Parent
from hostagent.protocol.tree import TreeRefused, TreeSwitch, check_tree, switch_names
from hostagent.protocol.window import MOST_CHILDREN

LEAF_MAC = 0x026E_7400_0000
LEAF_IP = 0x0A51_0000
"""A leaf's addresses towards its parent: the switch's index in the low bytes."""


def split_job(config: JobConfig, switches: Sequence[TreeSwitch]) -> dict[int, JobConfig]:
    """Parts of a job by index of the switch. Its root is the lowest switch that has all of its workers below, that of a
    service's the tree's; switches above that, and those without workers of it, have no part. Raises TreeRefused."""
    nowhere = [child.port for child in config.children if not any(child.port in each.ports for each in switches)]
    if nowhere:
        raise TreeRefused(f"no switch of the tree has port {nowhere[0]}")
    below = {index: _below(index, config, switches) for index in range(len(switches))}
    everyone = [index for index, workers in below.items() if len(workers) == len(config.children)]
    root = (max if config.service is None else min)(everyone, key=lambda index: _depth(index, switches))
    parts = {}
    for index, workers in below.items():
        if workers and root in _path(index, switches):
            parts[index] = _part(index, root, config, switches, below)
    return parts


def _part(
    index: int,
    root: int,
    config: JobConfig,
    switches: Sequence[TreeSwitch],
    below: Mapping[int, tuple[int, ...]],
) -> JobConfig:
    """One switch's part. A service is the root's alone: what is below adds."""
    switch, total = switches[index], len(config.children)
    own = [child for child in config.children if child.port in switch.ports]
    own += [
        Child(below[leaf][0], each.down_port, LEAF_MAC | leaf, LEAF_IP | leaf, each.zero_checksum_allowed, below[leaf])
        for leaf, each in enumerate(switches)
        if each.parent == index and below[leaf]
    ]
    if len(own) > MOST_CHILDREN:
        raise TreeRefused(f"{len(own)} children of one switch: a set's bitmap has {MOST_CHILDREN} bits")
    children = tuple(replace(child, bits=_bits(place, child, total)) for place, child in enumerate(own))
    if index == root:
        return replace(config, children=children)
    assert switch.parent is not None, "only the root has none, and it is above the job's root or that itself"
    elsewhere = tuple(worker for worker in range(total) if worker not in below[index])
    parent = Parent(
        switch.up_port,
        config.switch_mac,
        config.switch_ip,
        LEAF_MAC | index,
        LEAF_IP | index,
        switch.zero_checksum_allowed,
        elsewhere,
        reduce(or_, (1 << worker for worker in elsewhere), 0) if total <= MOST_CHILDREN else 0,
    )
    return replace(config, children=children, parent=parent, service=None)


def _bits(place: int, child: Child, total: int) -> int:
    """Of a child in its switch's bitmaps: its workers' numbers, as long as bitmaps have a bit for every worker."""
    if total > MOST_CHILDREN:
        return 1 << place
    return reduce(or_, (1 << worker for worker in child.numbers))


def _path(index: int, switches: Sequence[TreeSwitch]) -> list[int]:
    """The switch and those above it."""
    path = [index]
    while (above := switches[path[-1]].parent) is not None:
        path.append(above)
    return path


def _depth(index: int, switches: Sequence[TreeSwitch]) -> int:
    return len(_path(index, switches))


def _below(index: int, config: JobConfig, switches: Sequence[TreeSwitch]) -> tuple[int, ...]:
    """Numbers of the workers of a job that are below a switch, or at it."""
    ports = [each.ports for other, each in enumerate(switches) if index in _path(other, switches)]
    return tuple(child.child for child in config.children if any(child.port in owned for owned in ports))


class TreeDriver(DriverGroup):
    """See hostagent.controller.drivers.driver.Driver. ``drivers`` are those of the switches, in the same order."""

    def __init__(self, drivers: Sequence[Driver], switches: Sequence[TreeSwitch]) -> None:
        """Raises TreeRefused where the switches are no tree."""
        check_tree(switches)
        super().__init__(drivers)
        self._switches = switches

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{','.join(driver.name for driver in self._drivers)} (a tree)"

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver; statistics with the switches' names in the tree."""
        found = super().counters(timeout_s)
        each = [statistics for _, statistics in found.statistics]
        return replace(found, statistics=list(zip(switch_names(self._switches), each, strict=True)))

    def _split(self, config: JobConfig) -> dict[int, JobConfig]:
        try:
            return split_job(config, self._switches)
        except TreeRefused as error:
            raise GroupRefused(str(error)) from error
