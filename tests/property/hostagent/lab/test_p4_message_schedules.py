"""The schedules of ``tests/property/hostagent/protocol/test_message_schedules.py`` with the compiled P4 program between
the ranks."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.reference import ReferenceJob
from tests.generators.message_schedules import draw
from tests.labs.extent import tries
from tests.labs.message_core import JOB, Schedule, explain, run
from tests.labs.p4_aggregator import P4Aggregator

LANES, SLOTS, PORTS = 64, 64, 5
BATCHES, BATCH = 4, tries(8, 25)


@cache
def program() -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(LANES), "SLOTS": str(SLOTS)})


class P4Forwarder:
    """A switch with the job's entries; see ``tests.labs.message_core.ReferenceForwarder``."""

    def __init__(self, schedule: Schedule, job: ReferenceJob) -> None:
        self._job = job
        self.aggregator = P4Aggregator(program(), PORTS)
        self.install(job.epoch)

    def receive(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return self.aggregator.receive(port, frame)

    def restart(self) -> None:
        self.aggregator.restart()

    def install(self, epoch: int) -> None:
        job = self._job
        children = tuple(
            Child(number, child.port, child.mac, child.ip, child.zero_checksum_allowed)
            for number, child in enumerate(job.children)
        )
        fields = (JOB, 0, epoch, 0, job.window, 0, True, job.switch_mac, job.switch_ip)
        self.aggregator.install(JobConfig(*fields, children))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_schedules(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        schedule = replace(draw(seed), lanes=random.Random(seed).choice((16, LANES)))
        if run(schedule, forwarder=P4Forwarder):
            pytest.fail(explain(schedule, forwarder=P4Forwarder))
