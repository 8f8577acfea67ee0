"""Quantities over time, as steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pspin_model.flare.traffic import Numbers
from pspin_model.machine.machine import Run


@dataclass(frozen=True, slots=True)
class Series:
    """``value[i]`` holds from cycle ``at[i]`` to ``at[i + 1]``."""

    at: Numbers
    value: Numbers

    @property
    def peak(self) -> int:
        return int(self.value.max(initial=0))

    @property
    def mean(self) -> float:
        """Over the time from the first step to the last."""
        if len(self.at) < 2 or self.at[-1] == self.at[0]:
            return float(self.value.max(initial=0))
        return float((self.value[:-1] * np.diff(self.at)).sum() / (self.at[-1] - self.at[0]))


class HasBuffers(Protocol):
    """A reduction that reports its memory use."""

    def memory_steps(self) -> tuple[Numbers, Numbers]:
        """(cycles in any order, bytes more or less from then on)."""


def steps(at: Any, change: Any) -> Series:
    """The running sum of changes, one step for each cycle at which there are any."""
    at, change = np.asarray(at, np.int64), np.asarray(change, np.int64)
    cycles, place = np.unique(at, return_inverse=True)
    totals = np.zeros(len(cycles), np.int64)
    np.add.at(totals, place, change)
    return Series(cycles, np.cumsum(totals))


def input_bytes(run: Run) -> Series:
    """Packets from their arrival to their feedback."""
    packets = run.packets
    released = packets["released"].astype(bool)  # a packet that also serves a completion handler counts once
    arrival, feedback, size = (packets[name][released] for name in ("arrival", "feedback", "bytes"))
    return steps(np.concatenate([arrival, feedback]), np.concatenate([size, -size]))


def working_bytes(runs: Iterable[HasBuffers]) -> Series:
    """Buffers of blocks from their first use to the block's result."""
    parts = [run.memory_steps() for run in runs]
    return steps(np.concatenate([at for at, _ in parts]), np.concatenate([change for _, change in parts]))


def busy_cores(run: Run, start: int, end: int, bins: int) -> tuple[Any, Any]:
    """(bin's first cycle, mean number of cores in handlers) between two cycles."""
    packets = run.packets
    edges = np.linspace(start, end, bins + 1)
    begun, ended = np.sort(packets["dispatch"]), np.sort(packets["doorbell"])

    def passed(times: Any, edge: Any) -> Any:
        """Sum over all times before each edge of how long ago they were."""
        count = np.searchsorted(times, edge)
        return count * edge - np.concatenate([[0], np.cumsum(times)])[count]

    area = passed(begun, edges) - passed(ended, edges)
    return edges[:-1], np.diff(area) / np.diff(edges)
