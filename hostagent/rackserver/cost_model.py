"""When a hierarchy of rack servers pays: time and bytes of one step, from the rates of the links alone.

M bytes of model, n workers in each of r racks; b is a worker's link, B_P all of a server's links to its rack's workers,
B_x a rack's uplink, each one way, full duplex. Pushes and answers go opposite ways and overlap. Latency, headers and
processors are left out; `hostagent.lab.racks` plays the same with real aggregators in virtual time.

*Flat*: the servers of all racks share the keys, and every worker pushes to all of them. Of a rack's nM bytes a part
(r-1)/r crosses its uplink. The answers that its server owes the other racks' workers take the same way out, as many
again where each worker is sent its own copy; the published inequality leaves them out, as if others carried them
(`Answers`).

*Hierarchical*: a rack's server sums its own workers, then the servers exchange: 2M(r-1)/r out of each rack, (r-1)/r as
partial sums and as much as totals, round a ring or sharded alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Answers(Enum):
    """What the flat scheme's answers put on an uplink."""

    LEFT_OUT = "left out"
    """Nothing: the published inequality."""
    COPIES = "a copy for each worker"
    """As much as the pushes."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the model is about. Rates in bits per second."""

    model_bytes: float
    racks: int
    workers: int
    """Workers in each rack."""
    worker_bps: float
    server_bps: float
    uplink_bps: float

    @property
    def _crossing(self) -> float:
        return (self.racks - 1) / self.racks


def flat_bytes(cluster: Cluster, answers: Answers = Answers.LEFT_OUT) -> float:
    """Out of each rack, in one step: n M (r-1) / r, or twice that with the answers."""
    ways = 2 if answers is Answers.COPIES else 1
    return ways * cluster.workers * cluster.model_bytes * cluster._crossing


def hierarchical_bytes(cluster: Cluster) -> float:
    """Out of each rack, in one step: 2 M (r-1) / r."""
    return 2 * cluster.model_bytes * cluster._crossing


def flat_time_s(cluster: Cluster, answers: Answers = Answers.LEFT_OUT) -> float:
    """The slowest of workers' links, servers and uplinks."""
    return max(_inside_s(cluster), 8 * flat_bytes(cluster, answers) / cluster.uplink_bps)


def hierarchical_time_s(cluster: Cluster, *, pipelined: bool = True) -> float:
    """Pipelined: each chunk crosses as soon as its rack's sum is there. Else the exchange follows the whole push, and
    answers leave as totals come."""
    inside_s, exchange_s = _inside_s(cluster), 8 * hierarchical_bytes(cluster) / cluster.uplink_bps
    if pipelined:
        return max(inside_s, exchange_s)
    return inside_s + max(exchange_s, inside_s if cluster.racks > 1 else 0.0)


def _inside_s(cluster: Cluster) -> float:
    bits = 8 * cluster.model_bytes
    return max(bits / cluster.worker_bps, cluster.workers * bits / cluster.server_bps)


def pays(cluster: Cluster, answers: Answers = Answers.LEFT_OUT, *, pipelined: bool = True) -> bool:
    """Whether the hierarchy takes less time."""
    return hierarchical_time_s(cluster, pipelined=pipelined) < flat_time_s(cluster, answers)


def switch_over_bps(cluster: Cluster, answers: Answers = Answers.LEFT_OUT, *, pipelined: bool = True) -> float:
    """The uplink rate below which the hierarchy pays, everything else as it is; 0: at none.

    Pipelined it pays where the uplink is what holds the flat scheme up, so below n (r-1) / r times the rate inside a
    rack, if more crosses flat than hierarchical: with more than two workers in a rack, or one with the answers counted.
    """
    if flat_bytes(cluster, answers) <= hierarchical_bytes(cluster):
        return 0.0
    inside_s = _inside_s(cluster)
    if pipelined:
        return 8 * flat_bytes(cluster, answers) / inside_s
    # flat = inside + exchange, where the exchange is what the answers wait for; else flat = 2 inside
    with_exchange = 8 * (flat_bytes(cluster, answers) - hierarchical_bytes(cluster)) / inside_s
    candidate = replace(cluster, uplink_bps=with_exchange)
    if 8 * hierarchical_bytes(candidate) / with_exchange >= inside_s:
        return with_exchange
    return 8 * flat_bytes(cluster, answers) / (2 * inside_s)
