"""What each switch of a tree must know of a job (PROTOCOL.md, section 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from hostagent.controller.drivers.p4.entries import Child, JobEntries, Parent
from hostagent.protocol.tree import TreeRefused, TreeSwitch
from hostagent.protocol.window import MOST_CHILDREN

LEAF_MAC = 0x026E_7400_0000
LEAF_IP = 0x0A51_0000
"""A leaf's addresses towards its parent: the switch's index in the low bytes."""


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
