"""Scripts of faults in virtual time: process groups over links that a random script impairs, cuts and partitions, and a
switch that it restarts. Every sum is right, and the job ends."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
import torch
from torch._C._distributed_c10d import HashStore

from emulator.network.faults.files import parse_faults
from emulator.network.topology.builders import star
from hostagent.torch_backend.group import NetsumProcessGroup
from tests.generators.fault_scripts import draw
from tests.labs.virtual_job import Faults, VirtualNetwork

RANKS, STEPS = 3, 12


def script_of(rng: random.Random) -> str:
    """Ten faults of links that overlap, and a switch that restarts."""
    script = draw(rng, RANKS, first_ms=0, last_ms=3000, count=10, longest_ms=1500)
    return f"{script}\n- {{at: {rng.randrange(3000)}ms, restart: s0}}"


@pytest.mark.parametrize("seed", range(16))
def test_every_sum_is_right_and_the_job_ends(seed: int) -> None:
    rng = random.Random(f"scripts {seed}")
    # corrupt: none as a rule, but checksums are computed
    network = VirtualNetwork(
        Faults(seed=seed, aggregator=rng.choice(("reference", "p4")), corrupt=1e-9, skew_ticks=400)
    )
    text = script_of(rng)
    network.play(parse_faults(text, star(RANKS)))
    hour = timedelta(hours=1)
    groups = [
        NetsumProcessGroup(HashStore(), rank, RANKS, hour, channel)
        for rank, channel in enumerate(network.join(range(RANKS)))
    ]
    sizes = [rng.choice((1, 500, 5000)) for _ in range(STEPS)]

    def body(rank: int) -> int:
        for step, size in enumerate(sizes):
            network.pause(rank)
            tensor = torch.arange(size, dtype=torch.float32) + rank
            groups[rank].allreduce([tensor]).wait()
            wanted = torch.arange(size, dtype=torch.float32) * RANKS + RANKS * (RANKS - 1) / 2
            assert torch.equal(tensor, wanted), (step, text)
        return STEPS

    results, problem = network.run([lambda rank=rank: body(rank) for rank in range(RANKS)])  # type: ignore[misc]
    assert not problem, text
    assert results == [STEPS] * RANKS
    assert network.changes > 5, "the faults came too late to matter"
