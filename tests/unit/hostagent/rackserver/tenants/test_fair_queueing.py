"""Tenants share the cores as their weights tell, whoever floods or stalls: by counted work, in turns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from emulator.ports.batch import FrameBatch
from emulator.ports.loop.turns import PER_PORT as MOST_FRAMES
from hostagent.protocol.wire import LANES_AT, Operator
from hostagent.protocol.worker.header import OPERATOR_AT
from hostagent.rackserver.frames.validate import SERVED
from hostagent.rackserver.tenants.fair_queueing import (
    SERVED_WORK,
    FairQueues,
    count_frames,
    is_served,
    set_allowances,
)

PORTS = 40


def frame_of(operator: int) -> bytes:
    frame = bytearray(LANES_AT)
    frame[OPERATOR_AT] = operator
    return bytes(frame)


SUM_FRAME, SERVED_FRAME = frame_of(Operator.SUM), frame_of(SERVED)
WORK = {SUM_FRAME: 1, SERVED_FRAME: SERVED_WORK}


@dataclass
class Sender:
    """A tenant's queues, one for each port, each as long as told."""

    weight: int
    ports: range
    frame: bytes = SUM_FRAME
    waiting: int = 1 << 30
    frames: list[int] = field(default_factory=list)
    """By turn."""

    @property
    def work(self) -> int:
        return sum(self.frames) * WORK[self.frame]


def play(senders: list[Sender], turns: int) -> None:
    """As the live loop: from each port as many frames as it has and may give, then the server's word for the next."""
    shares = FairQueues()
    shares.arrange((sender.weight, set(sender.ports)) for sender in senders)
    for _ in range(turns):
        batch = FrameBatch(PORTS * MOST_FRAMES)
        for sender in senders:
            taken = 0
            for port in sender.ports:
                count = min(int(shares.allowances[port]), sender.waiting - sum(sender.frames) - taken)
                for _ in range(count):
                    batch.append(sender.frame, port)
                taken += count
            sender.frames.append(taken)
        for index in range(batch.count):
            served = bool(is_served(int(batch.address[index]), LANES_AT))
            count_frames(shares.address, int(batch.port[index]), 1, served)
        set_allowances(shares.address)


def test_work_is_shared_as_the_weights_tell() -> None:
    senders = [Sender(3, range(4)), Sender(1, range(4, 8)), Sender(2, range(8, 12))]
    play(senders, 60)
    done = np.array([sender.work for sender in senders]) / sum(sender.work for sender in senders)
    assert np.abs(done - np.array([3, 1, 2]) / 6).max() < 0.02


def test_more_ports_are_not_a_larger_share() -> None:
    flood, quiet = Sender(1, range(16)), Sender(1, range(16, 17))
    play([flood, quiet], 40)
    # the first turn is before anybody was known; from then on each turn is shared
    assert sum(quiet.frames[1:]) == 39 * MOST_FRAMES
    assert abs(sum(flood.frames[1:]) - sum(quiet.frames[1:])) <= 16 * 2


def test_steps_of_optimizers_are_work_too() -> None:
    sums, steps = Sender(1, range(2)), Sender(1, range(2, 4), SERVED_FRAME)
    play([sums, steps], 60)
    assert abs(sums.work / steps.work - 1) < 0.05
    assert abs(sum(sums.frames) / sum(steps.frames) - SERVED_WORK) < 0.1


def test_nobody_waits_for_a_tenant_that_stalls() -> None:
    stalled, goes_on = Sender(1, range(4), waiting=300), Sender(1, range(4, 8))
    play([stalled, goes_on], 20)
    assert sum(stalled.frames) == 300
    assert goes_on.frames[-10:] == [4 * MOST_FRAMES] * 10


def test_the_lightest_tenant_is_not_starved() -> None:
    light, heavy = Sender(1, range(1)), Sender(1000, range(1, 2))
    play([light, heavy], 30)
    assert min(light.frames) == 1
    assert set(heavy.frames) == {MOST_FRAMES}


def test_tenants_with_a_port_in_common_share_one_share() -> None:
    shares = FairQueues()
    assert shares.arrange([(1, {1, 2}), (1, {3}), (5, {2, 4}), (1, {4, 6})]) == 2
    assert shares.arrange([(1, {1}), (1, {3})]) == 2
