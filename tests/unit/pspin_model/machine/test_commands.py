"""Commands of handlers on the PsPIN model: their order, their way, and the hardware's wrong number."""

from __future__ import annotations

import numpy as np
import pytest

from pspin_model.handlers import copy_from_host, handler, now, packet, send_packet, wait
from pspin_model.machine import Machine, MachineConfig

SIZE = 2048


@handler
def fetch_and_send(h: int) -> None:
    """Fill the packet from the host, send it; the send's tag says how long the data took."""
    begun = now(h)
    handle = copy_from_host(h, packet(h, np.uint8), 0)
    wait(h, handle)
    send_packet(h, packet(h, np.uint8), now(h) - begun, 0)


def play(stale: int, cores: int = 1, packets: int = 4) -> tuple[list[int], list[bool]]:
    """Cycles each packet's data took, and whether what was sent is the host's."""
    machine = Machine(MachineConfig(clusters=1, cores=cores, stale_handles=stale))
    context = machine.context("fetch", payload=fetch_and_send, host_bytes=SIZE)
    context.host[:] = 7
    machine.inject(context, [0] * packets, np.zeros((packets, SIZE), np.uint8))
    run = machine.run()
    assert not run.faults
    return run.sent["tag"].tolist(), [bool((run.payload(i) == 7).all()) for i in range(packets)]


def test_a_wait_is_for_the_command_that_was_issued() -> None:
    waited, right = play(stale=0)
    assert all(right)
    assert min(waited) >= SIZE // 64


def test_as_built_a_command_behind_a_feedback_has_a_wrong_number() -> None:
    waited, right = play(stale=1)
    assert right[0]
    assert not all(right)
    assert min(waited) < min(play(stale=0)[0])


@pytest.mark.parametrize("cores", [2, 8])
def test_reads_and_writes_of_an_l1_take_turns(cores: int) -> None:
    alone = play(stale=0, packets=1)[0][0]
    together = play(stale=0, cores=cores, packets=16)[0]
    assert max(together) > alone + SIZE // 64
