"""Ranks of one process with real transport loops, over in-memory cables to the reference server of weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.torch_backend.rack import RackOptimizer, RackService
from hostagent.torch_backend.rack.client import RackClient
from hostagent.transport.channel import Channel
from hostagent.transport.job import JobChannel
from hostagent.transport.session.terms import Membership
from tests.labs.transport_network import LANES, Network, running
from tests.oracles.reference_server import ReferenceServer

SERVICE = RackService("test", "secret")
PATIENCE_S = 100.0
"""The first operation of a fresh machine waits until the loops have been compiled."""


class RackNetwork(Network):
    """A network with the jobs of one service. Every further job has the next epoch."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(size, aggregator=ReferenceServer(LANES), **options)
        self.together = threading.Barrier(size)

    def install_job(self) -> None:
        children = tuple(
            ReferenceChild(rank + 1, 0x020000000001 + rank, 0x0A000001 + rank) for rank in range(self.size)
        )
        self.server.install(5, ReferenceJob(self.epoch, self.window, children, self.base), "test")

    @property
    def server(self) -> ReferenceServer:
        assert isinstance(self.aggregator, ReferenceServer)
        return self.aggregator

    def join(self, rank: int) -> Channel:
        """A rank's end of the next job; waits for the others, as the controller does."""
        if self.together.wait() == 0:
            with self.lock:
                self.epoch += 1
                self.install_job()
                self.channels = []
        self.together.wait()
        channel = JobChannel(self.transports[rank], Membership(5, "test", rank, self.size), PATIENCE_S)  # type: ignore[arg-type]
        self.channels.append(channel)
        return channel

    def client(self, rank: int) -> RackClient:
        """Joined to a job of the service."""
        return RackClient(rank, self.size, SERVICE, PATIENCE_S, lambda: self.join(rank))


@contextmanager
def rack_network(size: int, **options: Any) -> Iterator[RackNetwork]:
    """A running network without a job."""
    made = RackNetwork(size, **options)
    with running(made):
        yield made


def on_ranks(size: int, body: Callable[[int], Any]) -> list[Any]:
    """``body(rank)`` on a thread each; what they return. Raises the first exception."""
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            results[rank] = body(rank)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def make_optimizer(network: RackNetwork, rank: int, parameters: Any, optim: Any, **options: Any) -> RackOptimizer:
    """A RackOptimizer of the network's service."""
    return RackOptimizer(parameters, optim, client=network.client(rank), **options)
