"""Cores and buffers of a reduction's blocks, and whether they fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.records import BLOCK_BITS, CHILDREN_A_WORD, W_CAME, WORD_BYTES
from pspin_model.flare.traffic import Numbers, core_group, slots_in_cluster
from pspin_model.flare.tree.manager import ReductionRefused
from pspin_model.machine.config import ConfigError, MachineConfig


class Layout(Protocol):
    """What a block takes in L1."""

    @property
    def bytes(self) -> int:
        """Bytes of its place."""

    @property
    def locks(self) -> int:
        """Locks of its own."""

    @property
    def control_words(self) -> int:
        """Words of control data at its beginning."""

    @property
    def unit_bytes(self) -> int:
        """What it takes into use, and gives back, at once."""


@dataclass(frozen=True, slots=True)
class PlaceLayout:
    """A block's place in L1. Sizes in bytes unless they say words or rows."""

    row_bytes: int
    rows: int
    control_words: int
    """Whole beats of them, so that rows begin with one."""
    locks: int

    @property
    def bytes(self) -> int:
        return self.control_words * WORD_BYTES + self.rows * self.row_bytes

    @property
    def unit_bytes(self) -> int:
        return self.row_bytes


def place_layout(algorithm: Algorithm, children: int, row_bytes: int, buffers: int) -> PlaceLayout:
    """What a block takes: one row, M rows, or for a tree a row for each pair of children, where every inner node has a
    control word and every pair a lock."""
    came = -(-children // CHILDREN_A_WORD)
    padded = -(-row_bytes // 64) * 64
    if algorithm is Algorithm.TREE:
        pairs = (children + 1) // 2
        return PlaceLayout(padded, pairs, _whole_beats(W_CAME + came + 2 * children), pairs)
    count = buffers if algorithm is Algorithm.MULTI else 1
    return PlaceLayout(padded, count, _whole_beats(W_CAME + came), count)


def _whole_beats(words: int) -> int:
    return -(-words // 8) * 8


@dataclass(frozen=True, slots=True)
class Groups:
    """The machine's cores in groups of S, each a part of one cluster or several whole ones."""

    count: int
    cores: int
    """Cores of a group."""
    per_cluster: int
    """Groups in a cluster; 1 where a group has whole clusters."""
    clusters: int
    """Clusters of a group; 1 where a group is a part of one."""
    cores_per_cluster: int

    def first_core(self, group: Numbers) -> Numbers:
        if self.clusters > 1:
            return group * self.cores
        cluster, part = np.divmod(group, self.per_cluster)
        return np.asarray(cluster * self.cores_per_cluster + part * self.cores)

    def cluster(self, group: Numbers) -> Numbers:
        """The cluster of a group's buffers."""
        return np.asarray(self.first_core(group) // self.cores_per_cluster)


@dataclass(frozen=True, slots=True)
class Placement:
    """A reduction on a machine."""

    groups: Groups
    group: Numbers
    """Group of each block."""
    place: Numbers
    """Place of each block, among those of its cluster."""
    places: int
    """Places in each cluster."""
    layout: Layout
    shared_bytes: int = 0
    """Bytes in each cluster, behind the places."""

    @property
    def scratchpad_bytes(self) -> int:
        """Scratchpad bytes in each cluster."""
        return self.places * self.layout.bytes + self.shared_bytes

    def locks(self, clusters: int) -> int:
        return clusters * self.places * self.layout.locks

    def addressed(self, context: int, at: Numbers, block: Numbers, child: Numbers) -> dict[str, Any]:
        """Arguments of `Machine.inject` for packets except their bytes. Each context has its own queues, one for each
        group."""
        group = self.group[block]
        first = self.groups.first_core(group)
        return {
            "messages": context * self.groups.count + group,
            "at": at,
            "tags": (self.place[block] << BLOCK_BITS) | block,
            "sources": child,
            "cores": np.stack([first, np.full(len(first), self.groups.cores)], axis=1),
        }


def make_groups(machine: MachineConfig, cores_per_block: int) -> Groups:
    """Groups of that many cores. Raises ConfigError where they neither fit a cluster nor are whole clusters."""
    if cores_per_block <= machine.cores:
        per_cluster = machine.cores // cores_per_block
        return Groups(machine.clusters * per_cluster, cores_per_block, per_cluster, 1, machine.cores)
    clusters, rest = divmod(cores_per_block, machine.cores)
    if rest or clusters > machine.clusters:
        raise ConfigError(
            f"cores_per_block = {cores_per_block}: use at most {machine.cores} (of one cluster), or whole clusters "
            f"of {machine.cores} up to {machine.clusters * machine.cores}"
        )
    return Groups(machine.clusters // clusters, cores_per_block, 1, clusters, machine.cores)


def place_blocks(
    reduction: Reduction,
    machine: MachineConfig,
    layout: Layout,
    free_bytes: int,
    first_group: int = 0,
    shared_bytes: int = 0,
) -> Placement:
    """A reduction's blocks, dealt over the groups.

    ``free_bytes`` is what is left of each cluster's L1. Raises ReductionRefused where the blocks need more.
    """
    groups = make_groups(machine, reduction.cores_per_block)
    dealt = core_group(np.arange(reduction.blocks), reduction.blocks, reduction.children, groups.count)
    group = (dealt + first_group) % groups.count
    place, places = slots_in_cluster(groups.cluster(group), machine.clusters)
    made = Placement(groups, group, place, places, layout, shared_bytes)
    if made.scratchpad_bytes > free_bytes:
        raise ReductionRefused(
            f"{reduction.kind} of {reduction.message_bytes} bytes from {reduction.children} children needs "
            f"{made.scratchpad_bytes} bytes of each cluster's L1 ({places} blocks of {layout.bytes}); {free_bytes} are "
            "free. Reduce on the hosts, cut the message, or use an algorithm with fewer buffers"
        )
    return made
