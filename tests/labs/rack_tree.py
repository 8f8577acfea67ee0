"""A rack server above leaves where tests expect a reference server of weights; cables in between lose and repeat."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from math import prod

from hostagent.protocol.reference import ReferenceJob
from hostagent.protocol.services.aggregator import ServiceTerms
from hostagent.rackserver.core import RackServer
from tests.labs.rack_aggregator import MEMORY_BYTES
from tests.labs.tree import Box, Boxes, CoreBox

MakeLeaf = Callable[[int, int], Box]


class RackTree:
    """Workers at the leaves of a regular tree, whose root is a rack server."""

    def __init__(self, lanes: int, fan_out: tuple[int, ...], make_leaf: MakeLeaf, *, loss: float, seed: int) -> None:
        """``make_leaf`` is given the lanes and the switch's index. ``loss``: of frames between switches; as many are
        doubled."""
        self.server = RackServer(lanes, slots=1024, cores=2)
        self._lanes, self._fan_out, self._make_leaf = lanes, fan_out, make_leaf
        self._loss, self._rng = loss, random.Random(f"rack tree {seed}")
        self._boxes: Boxes | None = None

    def install(self, number: int, job: ReferenceJob, service: str) -> None:
        """A new job of a service; an interrupted step of an earlier one is undone."""
        for other in self.server.installed():
            self.server.remove(other)
        ports = sorted(range(1, 1 + prod(self._fan_out)), key=lambda port: port % self._fan_out[-1])  # leaf by leaf
        children = tuple(replace(child, port=port) for child, port in zip(job.children, ports, strict=False))
        job = replace(job, children=children)
        if self._boxes is None:
            terms = ServiceTerms(service, workers=64, quota_bytes=MEMORY_BYTES)
            self._boxes = Boxes(self._fan_out, job, self._make, self._lanes, terms)
        else:
            self._boxes.job = job
            self._boxes.install_all(job.epoch, job.base)

    def _make(self, lanes: int, index: int) -> Box:
        return self._make_leaf(lanes, index) if index else CoreBox(lambda *_: self.server, lanes, self.server.ports)

    def receive(self, rank: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A worker's frame in; what leaves for workers."""
        assert self._boxes is not None, "a job was installed"
        inside, outside = [(-1 - rank, frame)], []
        while inside:
            for end, answer in self._boxes.receive(*inside.pop(0)):
                if 0 <= end < self._boxes.workers:
                    outside.append((end, answer))
                elif self._rng.random() >= self._loss:
                    inside += [(end, answer)] * (1 + (self._rng.random() < self._loss))
        return outside
