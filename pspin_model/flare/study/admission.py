"""The reductions of a configuration on one machine: each set up, or refused, when it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.reduction_run import ReductionRun, inject_in_turns, join_runs, set_up
from pspin_model.flare.tree.manager import ReductionRefused
from pspin_model.machine.machine import Machine, Run


@dataclass(slots=True)
class Played:
    """What ran and what did not. Both by the reduction's number."""

    machine: Machine
    runs: dict[int, ReductionRun] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    passes: list[Run] = field(default_factory=list)
    _packets: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Arguments of `Machine.inject` that were not yet used."""
    _released: set[int] = field(default_factory=set)

    @property
    def run(self) -> Run:
        """All that happened."""
        return join_runs(self.passes)

    def admit(self, number: int, reduction: Reduction) -> None:
        """Set a reduction up, or note why that cannot be."""
        try:
            made = set_up(self.machine, reduction, f"reduction{number}", first_group=number)
        except ReductionRefused as error:
            self.refused[number] = str(error)
            return
        self.runs[number] = made
        self._packets[number] = made.packets()

    def work(self, until: int | None) -> None:
        """Let the machine work until a cycle, or to the end."""
        parts = []
        for number, packets in self._packets.items():
            due = np.asarray(packets["at"]) < (np.inf if until is None else until)
            if due.any():
                parts.append((self.runs[number].context, _chosen(packets, due)))
                self._packets[number] = _chosen(packets, ~due)
        inject_in_turns(self.machine, parts)
        self.passes.append(self.machine.run(until))

    def release_ended(self) -> None:
        """Release the memory of reductions with all results sent."""
        for number, made in self.runs.items():
            if number not in self._released and bool((made.results(self.run)[1] >= 0).all()):
                self.machine.release(made.context)
                self._released.add(number)


def play(config: FlareConfig) -> Played:
    """Run all. Each is taken or refused when it begins: those that ended before have given their memory back."""
    played = Played(Machine(config.machine, config.costs))
    for start in sorted({reduction.start_cycles for reduction in config.reductions}):
        if played.runs:
            played.work(start)
            played.release_ended()
        for number, reduction in enumerate(config.reductions):
            if reduction.start_cycles == start:
                played.admit(number, reduction.chosen(config.machine))
    if played.runs:
        played.work(None)
    return played


def _chosen(packets: dict[str, Any], which: Any) -> dict[str, Any]:
    """Some of the packets."""
    if which.all():
        return packets
    data = packets["data"]
    rest = {name: np.asarray(value)[which] for name, value in packets.items() if name not in ("data", "at")}
    chosen = data[which] if isinstance(data, np.ndarray) else [data[place] for place in np.flatnonzero(which)]
    return {**rest, "at": np.asarray(packets["at"])[which], "data": chosen}
