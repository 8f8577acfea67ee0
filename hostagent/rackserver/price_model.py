"""Throughput for money: a rack with a server of its own against one whose workers are the servers too.

n workers have a model of M bytes. *Colocated* every worker also serves a share of the keys: out of each machine go
M (n-1) / n of gradients, and as many bytes of answers for its share; so do as many in. *Served* it is M each way, and
n M at the server. So a server costs a machine and its links, and lets every worker's link be half as fast.

Communication overlaps with computing, and processors keep up. Prices are the caller's, in any unit: none are known
here. The published 25 % come out where the links that a colocated rack needs cost a third of a worker more than those
that a served one needs, and the server costs less than one worker (`test_rack_price_model.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained, on how many machines."""

    workers: int
    model_bytes: float
    compute_s: float
    """Of a step, if nothing had to be sent."""
    worker_price: float
    """Without its link."""


@dataclass(frozen=True, slots=True)
class Link:
    """One machine's: interface, cable and the switch's port together."""

    bps: float
    """Each way."""
    price: float


@dataclass(frozen=True, slots=True)
class Server:
    """A machine that only serves; its links are as the workers'."""

    links: int
    price: float
    """Without its links."""


def colocated_step_s(training: Training, link: Link) -> float:
    """Time of a step where every worker serves a share of the keys."""
    others = (training.workers - 1) / training.workers
    return max(training.compute_s, 8 * 2 * training.model_bytes * others / link.bps)


def served_step_s(training: Training, link: Link, server: Server) -> float:
    """Time of a step with a server: the slowest of computing, a worker's link and the server's links."""
    a_worker_s = 8 * training.model_bytes / link.bps
    return max(training.compute_s, a_worker_s, training.workers * a_worker_s / server.links)


def colocated_price(training: Training, link: Link) -> float:
    """Of all machines and links."""
    return training.workers * (training.worker_price + link.price)


def served_price(training: Training, link: Link, server: Server) -> float:
    """Of all machines and links, the server's too."""
    return colocated_price(training, link) + server.price + server.links * link.price


def advantage(training: Training, colocated: Link, served: Link, server: Server) -> float:
    """Steps for the same money, of a served rack over those of a colocated one, each with links of its own kind."""
    steps = colocated_step_s(training, colocated) / served_step_s(training, served, server)
    return steps * colocated_price(training, colocated) / served_price(training, served, server)
