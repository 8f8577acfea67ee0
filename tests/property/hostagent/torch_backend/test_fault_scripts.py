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
from tests.labs.virtual_job import Faults, VirtualNetwork

RANKS, STEPS = 3, 12
KINDS = (
    "impair: {link}, loss: 30%",
    "impair: {link}, duplicate: 30%",
    "impair: {link}, reorder: 40%, reorder_by: 20ms",
    "impair: {link}, corrupt: 5%",
    "impair: {link}, delay: 30ms, jitter: 5ms",
    "impair: {link}, rate: 1Mbit",
    "down: {link}",
    "partition: [{host}]",
)


def script_of(rng: random.Random) -> str:
    """Faults of all kinds that overlap, each of which ends."""
    lines = [f"seed: {rng.randrange(1000)}", "faults:"]
    for _ in range(10):
        host = f"h{rng.randrange(RANKS)}"
        link = rng.choice((f"{host}-s0", f"{host}->s0", f"s0->{host}"))
        fault = rng.choice(KINDS).format(link=link, host=host)
        lines.append(f"- {{at: {rng.randrange(3000)}ms, {fault}, for: {rng.randrange(1, 1500)}ms}}")
    lines.append(f"- {{at: {rng.randrange(3000)}ms, restart: s0}}")
    return "\n".join(lines)


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
