"""Predicted and measured: orders solved from a probe of a simulated cloud, and the allreduce before and after."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.network.messages.simulate import Sharing, simulate
from hostagent.planner.placement.cloud import Cloud
from hostagent.planner.placement.costs import Costs
from hostagent.planner.placement.model import ALGORITHMS, allreduce_model
from hostagent.planner.placement.solve import Placement, solve


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Of one algorithm on one cloud, in ns."""

    placement: Placement
    given_ns: int
    """The allreduce in virtual time, with the given order of ranks."""
    reordered_ns: int

    @property
    def predicted(self) -> float:
        """How many times faster, by the model."""
        return self.placement.given_elapsed_ns / self.placement.elapsed_ns

    @property
    def measured(self) -> float:
        return self.given_ns / self.reordered_ns

    def step(self, compute_ns: float) -> float:
        """How many times faster a training step is that computes so long before the allreduce."""
        return (compute_ns + self.given_ns) / (compute_ns + self.reordered_ns)


def evaluate(cloud: Cloud, costs: Costs, algorithm: str, size_bytes: int) -> Evaluation:
    """``costs``: of a probe of the cloud. Messages share links fairly. Raises PlacementError."""
    placement = solve(allreduce_model(algorithm, costs, size_bytes))
    reordered = [cloud.places[host] for host in placement.order]
    given_ns, reordered_ns = (
        simulate(ALGORITHMS[algorithm](cloud.topology, size_bytes, places), Sharing.FAIR).elapsed_ns
        for places in (cloud.places, reordered)
    )
    return Evaluation(placement, given_ns, reordered_ns)
