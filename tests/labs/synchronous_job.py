"""A job of worker cores around any aggregator, without a network: every frame arrives, in order, at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import Operation
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.worker import CoreSettings
from tests.labs.worker_core import WorkerCore

JOB = 7
Receive = Callable[[int, bytes], list[tuple[int, bytes]]]
"""A frame that arrives at a port of the aggregator, to its answers, each with a port."""


def reference_job(workers: int, window: int) -> ReferenceJob:
    """The job as aggregators have to know it: child k at port k, in epoch 1."""
    children = (ReferenceChild(rank, 0x020000000001 + rank, 0x0A000001 + rank) for rank in range(workers))
    return ReferenceJob(1, window, tuple(children))


class SynchronousJob:
    """All ranks of a job."""

    def __init__(self, receive: Receive, job: ReferenceJob, lanes: int) -> None:
        self._receive = receive
        workers = len(job.children)
        self.cores = [
            WorkerCore(
                CoreSettings(
                    JOB,
                    rank,
                    workers,
                    1,
                    lanes,
                    job.window,
                    Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip),
                    checksum=False,
                    operation_ring=16,
                )
            )
            for rank, child in enumerate(job.children)
        ]

    def run(self, operations: Sequence[Operation]) -> int:
        """One operation, ``operations[r]`` at rank r, to its end; returns how many frames rank 0 has sent for it."""
        sent = self.cores[0].statistics()["frames_sent"]
        for core, operation in zip(self.cores, operations, strict=True):
            core.submit(operation)
        finished, now_ns = 0, 0
        while finished < len(self.cores):
            frames = [(rank, frame) for rank, core in enumerate(self.cores) for frame in core.transmit(now_ns)]
            if not frames:
                raise AssertionError(f"the job hangs: {self.cores[0].statistics()}")
            for rank, frame in frames:
                for port, answer in self._receive(rank, frame):
                    self.cores[port].receive(answer, now_ns)
            for core in self.cores:
                ends = core.completions()
                assert all(status == 0 for _, status in ends), ends
                finished += len(ends)
            now_ns += 1000
        return self.cores[0].statistics()["frames_sent"] - sent
