"""A dense reduction through two levels of switches in time: leaves that sum their hosts, a root that sums the leaves.

Every switch is a machine of its own. Links carry a packet at their rate and deliver it after their latency; results go
down past the cores, store and forward. Nothing flows back from the root to a leaf's cores, so that the levels can be
run one after the other: a leaf's results, with the cycles at which they left, are the root's packets.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pspin_model.flare.config import FlareConfig, Reduction, TreeConfig
from pspin_model.flare.dense_run import DenseRun, arrivals_of, random_rows
from pspin_model.flare.elements import Values
from pspin_model.flare.manager import ReductionRefused
from pspin_model.flare.traffic import Arrivals, Numbers
from pspin_model.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class TreeReport:
    """When what was done. Cycles are nanoseconds, counted from the first packet's arrival at a leaf."""

    leaves: int
    children: int
    message_bytes: int
    leaf_algorithm: str
    root_algorithm: str
    refused: str = ""
    exact: bool = False
    """Each switch's result is what it must be of what came to it; integers equal the sum over all hosts, too."""
    leaf_cycles: int = 0
    """Until the last leaf's last result left."""
    root_cycles: int = 0
    """Until the root's last result left."""
    cycles: int = 0
    """Until the last host had the last result."""
    block_latency_cycles: float = 0.0
    """Mean, from a block's first packet at a leaf to its result at the hosts."""
    host_gbps: float = 0.0
    """A host's message over the whole time."""
    faults: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return asdict(self)


def reduce_in_time(config: FlareConfig, tree: TreeConfig) -> list[TreeReport]:
    """Each reduction of a configuration through a tree of its own."""
    return [_reduce(config, tree, reduction) for reduction in config.reductions]


def _reduce(config: FlareConfig, tree: TreeConfig, reduction: Reduction) -> TreeReport:
    below = reduction.children // tree.leaves
    leaf = replace(reduction, children=below, line_rate_gbps=below * tree.link_gbps).chosen(config.machine)
    root = replace(reduction, children=tree.leaves, line_rate_gbps=tree.leaves * tree.link_gbps).chosen(config.machine)
    report = TreeReport(tree.leaves, reduction.children, reduction.message_bytes, leaf.algorithm, root.algorithm)
    rows, traffic = random_rows(reduction), arrivals_of(leaf)
    try:
        made = [_switch(config, leaf, traffic, rows[n * below : (n + 1) * below]) for n in range(tree.leaves)]
        up = [one.at for one in made]
        top = _switch(config, root, _uplinks(tree, up, root.packet_bytes), np.stack([one.rows for one in made]))
    except ReductionRefused as error:
        return replace(report, refused=str(error))
    faults = tuple(fault for one in (*made, top) for fault in one.faults)
    if any((one.at < 0).any() for one in (*made, top)):
        return replace(report, faults=faults)
    hosts_at = _through_link(tree, _through_link(tree, top.at, root.packet_bytes), root.packet_bytes)
    first = np.full(leaf.blocks, np.iinfo(np.int64).max)
    np.minimum.at(first, traffic.block, traffic.at)
    begin = int(traffic.at.min())
    cycles = int(hosts_at.max()) - begin
    return replace(
        report,
        exact=all(one.right for one in (*made, top)) and _sums_agree(rows, top.rows, reduction),
        leaf_cycles=max(int(one.at.max()) for one in made) - begin,
        root_cycles=int(top.at.max()) - begin,
        cycles=cycles,
        block_latency_cycles=float((hosts_at - first).mean()),
        host_gbps=reduction.message_bytes * 8 / cycles,
        faults=faults,
    )


@dataclass(frozen=True, slots=True)
class _Result:
    rows: Values
    at: Numbers
    right: bool
    faults: tuple[str, ...]


def _switch(config: FlareConfig, reduction: Reduction, traffic: Arrivals, rows: Values) -> _Result:
    machine = Machine(config.machine, config.costs)
    made = DenseRun(machine, reduction, given=(traffic, rows))
    machine.inject(made.context, **made.packets())
    run = machine.run()
    result, at = made.results(run)
    return _Result(result, at, made.is_right(result), tuple(fault.text for fault in run.faults))


def _uplinks(tree: TreeConfig, sent_at: list[Numbers], packet_bytes: int) -> Arrivals:
    """The leaves' results at the root: a link each."""
    came = [_through_link(tree, at, packet_bytes) for at in sent_at]
    at = np.concatenate(came)
    block = np.concatenate([np.arange(len(each)) for each in came])
    child = np.repeat(np.arange(len(came)), [len(each) for each in came])
    whole = at >= 0
    order = np.lexsort((child[whole], at[whole]))
    return Arrivals(at[whole][order], block[whole][order], child[whole][order])


def _through_link(tree: TreeConfig, sent_at: Numbers, packet_bytes: int) -> Numbers:
    """When packets that leave at these cycles are there whole, one after the other in order of time."""
    took = packet_bytes * 8 / tree.link_gbps
    came = np.full(len(sent_at), -1, np.int64)
    free = 0.0
    for place in np.argsort(sent_at, kind="stable"):
        if sent_at[place] >= 0:
            free = max(free, float(sent_at[place])) + took
            came[place] = int(np.ceil(free)) + tree.latency_cycles
    return came


def _sums_agree(rows: Values, result: Values, reduction: Reduction) -> bool:
    if rows.dtype.kind != "i" or reduction.operator != "sum":
        return True
    return bool((rows.sum(axis=0, dtype=rows.dtype) == result).all())
