"""Bytes at ports are those of the formulas of hostagent/torch_backend/README.md."""

import pytest
import torch

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import ring, switch_allreduce
from emulator.network.schedule.parts import Chunks, Operation
from emulator.network.topology.builders import star
from hostagent.collectives.execute.port_bytes import expected_bytes
from tests.oracles.volumes import Volumes


@pytest.mark.parametrize("lanes", [64, 1024])
@pytest.mark.parametrize("elements", [1, 7, 57, 58, 1_017, 1_018, 5_000])
def test_messages_and_sums(elements, lanes):
    one, whole = (Volumes(3, lanes, count, torch.int32) for count in (elements, 3 * elements))
    assert expected_bytes(ring(star(3), 12 * elements), lanes) == ([4 * one.send(0, 0, 1)[0]] * 3,) * 2
    up, down = whole.all_reduce(0)
    assert expected_bytes(switch_allreduce(star(3), 12 * elements), lanes) == ([up] * 3, [down] * 3)


def test_of_some_tasks():
    schedule = ring(star(3), 12)
    one = Volumes(3, 64, 1, torch.int32).send(0, 0, 1)[0]
    assert expected_bytes(schedule, 64, [0, 3]) == ([2 * one, 0, 0], [0, 2 * one, 0])


def test_a_broadcast_in_a_group():
    volumes = Volumes(2, 64, 900, torch.int32)
    builder = Builder("part", star(3), [Chunks(1, 3600, (2,), (0, 2))])
    builder.collective(Operation.BROADCAST, (2, 0), [0])
    both = [volumes.broadcast(rank, 2) for rank in (0, 2)]
    assert expected_bytes(builder.build(), 64) == ([both[0][0], 0, both[1][0]], [both[0][1], 0, both[1][1]])
