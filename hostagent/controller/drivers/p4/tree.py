"""What each switch of a tree must know of a job (PROTOCOL.md, section 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import or_

from hostagent.controller.drivers.p4.entries import Child, JobEntries, Parent
from hostagent.protocol.window import MOST_CHILDREN

LEAF_MAC = 0x026E_7400_0000
LEAF_IP = 0x0A51_0000
"""A leaf's addresses towards its parent: the switch's index in the low bytes."""

UP_PORT = 510
FIRST_DOWN_PORT = UP_PORT - MOST_CHILDREN
"""In regular trees: the port of a leaf that leads up, and the first one of a switch that leads down. v1model drops what
is sent to port 511. Workers have the numbers below."""


class TreeRefused(Exception):
    """The switches are no tree, or a job does not fit them; the text says why."""


@dataclass(frozen=True, slots=True)
class TreeSwitch:
    """A switch, and its cable to the one above."""

    ports: frozenset[int]
    """Numbers of its ports for workers; no two switches have the same number."""
    parent: int | None = None
    """Index of the switch above; None: it is the root."""
    up_port: int = 0
    """Its own port that leads there."""
    down_port: int = 0
    """The parent's port that leads here."""
    zero_checksum_allowed: bool = False
    """On that cable."""


def check_tree(switches: Sequence[TreeSwitch]) -> None:
    """Raises TreeRefused unless the switches are one tree with every port number once."""
    roots = [index for index, switch in enumerate(switches) if switch.parent is None]
    if len(roots) != 1:
        raise TreeRefused(f"a tree has one root; {len(roots)} of {len(switches)} switches have no parent")
    for index in range(len(switches)):
        path = [index]
        while (above := switches[path[-1]].parent) is not None:
            if above in path or not 0 <= above < len(switches):
                raise TreeRefused(f"switch {index} does not lead to the root: its path upwards is {[*path, above]}")
            path.append(above)
    ports = [port for switch in switches for port in switch.ports]
    twice = sorted(port for port in set(ports) if ports.count(port) > 1)
    if twice:
        raise TreeRefused(f"port {twice[0]} belongs to several switches: give every port a different number")


def regular_tree(fan_out: Sequence[int], *, zero_checksum_allowed: bool = False) -> tuple[TreeSwitch, ...]:
    """The tree in which the root has ``fan_out[0]`` switches below it, and so on; those of the last level but one have
    ``fan_out[-1]`` workers each, on ports from 1 on without gaps. A switch comes before those below it. Raises
    TreeRefused."""
    text = "x".join(map(str, fan_out))
    if not fan_out or not all(1 <= each <= MOST_CHILDREN for each in fan_out):
        raise TreeRefused(f"tree {text}: a switch has 1 to {MOST_CHILDREN} children")
    if prod(fan_out) >= FIRST_DOWN_PORT:
        raise TreeRefused(f"tree {text}: {prod(fan_out)} workers; there are ports for {FIRST_DOWN_PORT - 1}")
    switches: list[TreeSwitch] = []

    def grow(level: int, parent: int | None, place: int) -> None:
        index, is_lowest, first = len(switches), level == len(fan_out) - 1, 1 + sum(len(s.ports) for s in switches)
        ports = frozenset(range(first, first + fan_out[level])) if is_lowest else frozenset()
        up = (UP_PORT, FIRST_DOWN_PORT + place) if parent is not None else (0, 0)
        switches.append(TreeSwitch(ports, parent, *up, zero_checksum_allowed))
        if not is_lowest:
            for child in range(fan_out[level]):
                grow(level + 1, index, child)

    grow(0, None, 0)
    return tuple(switches)


def split_job(entries: JobEntries, switches: Sequence[TreeSwitch]) -> dict[int, JobEntries]:
    """Parts of a job by index of the switch. Its root is the lowest switch that has all of its workers below; switches
    above that, and those without workers of it, have no part. Raises TreeRefused."""
    nowhere = [child.port for child in entries.children if not any(child.port in each.ports for each in switches)]
    if nowhere:
        raise TreeRefused(f"no switch of the tree has port {nowhere[0]}")
    below = {index: _below(index, entries, switches) for index in range(len(switches))}
    everyone = [index for index, workers in below.items() if len(workers) == len(entries.children)]
    root = max(everyone, key=lambda index: _depth(index, switches))
    parts = {}
    for index, workers in below.items():
        if workers and root in _path(index, switches):
            parts[index] = _part(index, root, entries, switches, below)
    return parts


def _part(
    index: int,
    root: int,
    entries: JobEntries,
    switches: Sequence[TreeSwitch],
    below: Mapping[int, tuple[int, ...]],
) -> JobEntries:
    """One switch's part."""
    switch, total = switches[index], len(entries.children)
    own = [child for child in entries.children if child.port in switch.ports]
    own += [
        Child(below[leaf][0], each.down_port, LEAF_MAC | leaf, LEAF_IP | leaf, each.zero_checksum_allowed, below[leaf])
        for leaf, each in enumerate(switches)
        if each.parent == index and below[leaf]
    ]
    if len(own) > MOST_CHILDREN:
        raise TreeRefused(f"{len(own)} children of one switch: a set's bitmap has {MOST_CHILDREN} bits")
    children = tuple(replace(child, bits=_bits(place, child, total)) for place, child in enumerate(own))
    if index == root:
        return replace(entries, children=children)
    assert switch.parent is not None, "only the root has none, and it is above the job's root or that itself"
    elsewhere = tuple(worker for worker in range(total) if worker not in below[index])
    parent = Parent(
        switch.up_port,
        entries.switch_mac,
        entries.switch_ip,
        LEAF_MAC | index,
        LEAF_IP | index,
        switch.zero_checksum_allowed,
        elsewhere,
        reduce(or_, (1 << worker for worker in elsewhere), 0) if total <= MOST_CHILDREN else 0,
    )
    return replace(entries, children=children, parent=parent)


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


def _below(index: int, entries: JobEntries, switches: Sequence[TreeSwitch]) -> tuple[int, ...]:
    """Numbers of the workers of a job that are below a switch, or at it."""
    ports = [each.ports for other, each in enumerate(switches) if index in _path(other, switches)]
    return tuple(child.child for child in entries.children if any(child.port in owned for owned in ports))
