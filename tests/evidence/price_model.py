"""Throughput for money: a rack with a separate server against one with the servers on the workers.

n workers have a model of M bytes. *Colocated* every worker also serves a share of the keys: out of each machine go
M (n-1) / n of gradients, and as many bytes of answers for its share; so do as many in. *Served* it is M each way, and
n M at the server. So a server costs a machine and its links, and lets every worker's link be half as fast.

Communication overlaps with computing, and processors keep up. Prices are the caller's, in any unit. Those of Parameter
Hub's authors are not known here. The published 25 % come out where the links that a colocated rack needs cost a
third of a worker more than those that a served one needs, and the server costs less than one worker
(`test_price_model.py`). `at_published_prices` takes what others have published of such parts, which is not all of
a rack: it brackets the 25 %, and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.evidence.model_keys import FLOAT_BYTES, PUBLISHED_PARAMETERS

PUBLISHED_ADVANTAGE = 1.25
"""The abstract of Parameter Hub (SoCC 2018): "25 % better throughput per dollar"."""
GPU_USD = 700
"""GeForce GTX 1080 Ti, released 1 March 2017 (Tom's Hardware of that day)."""
GPUS = 4
"""Of a worker; ours to choose, and all of its price, as none was found of boards, processors and memory."""
PORT_10_USD, CARD_10_USD = 188, 400
"""A port of Mellanox's SX1016, and its ConnectX EN card with two ports ("less than"): Network Computing, "Emulex and
Mellanox Drive Down 10 Gig Cost"."""
PORT_40_USD = 1500
"""Arista's 7050X ("under"), press release of 2 October 2013. No price of a card of 40 Gbit/s was found."""


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
    """Steps for the same money, of a served rack over those of a colocated one, each with its own kind of links."""
    steps = colocated_step_s(training, colocated) / served_step_s(training, served, server)
    return steps * colocated_price(training, colocated) / served_price(training, served, server)


def at_published_prices(workers: int) -> tuple[float, float]:
    """The advantage for ResNet-50 where computing takes so long that links of 10 Gbit/s are enough with a server, and
    of 40 are needed without; and where links of 10 Gbit/s are all that a step waits for. What no price was found of is
    free: the server's machine and the rest of a worker, which would lower both, and what a card of 40 Gbit/s costs more
    than one of 10, which would raise the first."""
    slow, fast = Link(10e9, PORT_10_USD + CARD_10_USD), Link(40e9, PORT_40_USD + CARD_10_USD)
    server, model_bytes = Server(links=workers, price=0.0), float(FLOAT_BYTES * PUBLISHED_PARAMETERS["resnet50"])
    computing = Training(workers, model_bytes, 8 * model_bytes / slow.bps, GPUS * GPU_USD)
    waiting = replace(computing, compute_s=0.0)
    return advantage(computing, fast, slow, server), advantage(waiting, slow, slow, server)
