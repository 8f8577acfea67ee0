"""Run a configuration on the machine and report the outcome, with the cost model's figures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.models.dense import Prediction, host_bytes
from pspin_model.flare.models.settings import prediction_of
from pspin_model.flare.models.sparse_rate import SparsePrediction
from pspin_model.flare.reduction_run import ReductionRun
from pspin_model.flare.sparse.run import SparseFigures, SparseRun
from pspin_model.flare.study.admission import play
from pspin_model.flare.study.series import Series, input_bytes, working_bytes
from pspin_model.flare.traffic import Numbers
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Run

CYCLE_NS = 1
"""Cycle time at the design's 1 GHz."""


def machine_as_json(machine: MachineConfig, costs: str) -> dict[str, Any]:
    """The machine's parameters in a document; cores are those of a cluster."""
    return {"clusters": machine.clusters, "cores": machine.cores, "costs": costs, "cycle_ns": CYCLE_NS}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One reduction's figures. Cycles are nanoseconds; Gbit/s are of payload that came in."""

    name: str
    algorithm: str
    """Name of the algorithm; of a sparse one "sparse" and its storage."""
    message_bytes: int
    children: int
    cores: int
    cores_per_block: int
    dtype: str
    refused: str = ""
    """Why the manager did not take it: the hosts reduce among themselves, and what the switch would measure is 0."""
    fallback_cycles: int = 0
    """Least cycles of a ring of the hosts where it was refused, each sending 2 (P-1)/P of its message on its link."""
    exact: bool = False
    """Every block's result is there and is what it must be."""
    packets: int = 0
    bandwidth_gbps: float = 0.0
    """Bandwidth from the first packet's arrival to the last result."""
    elements_per_ns: float = 0.0
    """Rate of incoming elements: a sparse reduction's pairs."""
    dense_gbps: float = 0.0
    """The messages' elements, zeros included, in the same time: what a dense reduction would need as bandwidth."""
    cycles: int = 0
    service_cycles: float = 0.0
    """Mean time that a core spends on a packet."""
    block_latency_cycles: float = 0.0
    """Mean, from a block's first packet's arrival to its result."""
    working_peak_bytes: int = 0
    working_mean_bytes: float = 0.0
    faults: int = 0
    repeats: int = 0
    density: float = 0.0
    """0: dense."""
    sparse: SparseFigures | None = None
    model: Prediction | SparsePrediction | None = None


@dataclass(slots=True)
class Report:
    """A simulation's outcome, and the records it was worked out from."""

    machine: MachineConfig
    costs: str
    outcomes: list[Outcome]
    core_use: float
    """Part of all cores' time in handlers, from the first arrival to the last feedback."""
    input_peak_bytes: int
    input_mean_bytes: float
    run: Run | None = None
    runs: list[ReductionRun] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return {
            "machine": machine_as_json(self.machine, self.costs),
            "core_use": self.core_use,
            "input_peak_bytes": self.input_peak_bytes,
            "input_mean_bytes": self.input_mean_bytes,
            "reductions": [asdict(outcome) for outcome in self.outcomes],
            "faults": self.faults,
        }

    def input_series(self) -> Series:
        """Bytes of packets in the machine over time."""
        assert self.run is not None, "nothing ran"
        return input_bytes(self.run)

    def working_series(self) -> Series:
        """Bytes of buffers in use over time."""
        return working_bytes(self.runs)


def simulate(config: FlareConfig) -> Report:
    """Run all reductions of a configuration, at once where their times overlap."""
    played = play(config)
    refused = {
        number: _refusal(config.machine, config.reductions[number].chosen(config.machine), number, why)
        for number, why in played.refused.items()
    }
    if not played.runs:
        return Report(config.machine, config.costs.name, [refused[number] for number in sorted(refused)], 0.0, 0, 0.0)
    run = played.run
    outcomes = [
        refused[number] if number in refused else _measure(config, played.runs[number], run, number)
        for number in range(len(config.reductions))
    ]
    packets = run.packets
    span = max(1, int(packets["feedback"].max(initial=0)) - _first(packets["arrival"]))
    series = input_bytes(run)
    return Report(
        machine=config.machine,
        costs=config.costs.name,
        outcomes=outcomes,
        core_use=float(run.busy_cycles.sum() / (span * len(run.busy_cycles))),
        input_peak_bytes=int(series.peak),
        input_mean_bytes=series.mean,
        run=run,
        runs=[played.runs[number] for number in sorted(played.runs)],
        faults=[str(fault) for fault in run.faults],
    )


def _first(cycles: Numbers) -> int:
    return int(cycles.min()) if len(cycles) else 0


def _outline(machine: MachineConfig, reduction: Reduction, number: int) -> Outcome:
    return Outcome(
        name=f"reduction{number}",
        algorithm=reduction.kind,
        message_bytes=reduction.message_bytes,
        children=reduction.children,
        cores=machine.clusters * machine.cores,
        cores_per_block=reduction.cores_per_block,
        dtype=reduction.dtype,
        density=reduction.density,
    )


def _refusal(machine: MachineConfig, reduction: Reduction, number: int, why: str) -> Outcome:
    link_gbps = reduction.line_rate_gbps / reduction.children
    sent = host_bytes(reduction.message_bytes, reduction.children)["ring"]
    return replace(_outline(machine, reduction, number), refused=why, fallback_cycles=math.ceil(sent * 8 / link_gbps))


def _measure(config: FlareConfig, made: ReductionRun, run: Run, number: int) -> Outcome:
    reduction, packets = made.reduction, run.packets
    mine = packets["context"] == made.context.index
    rows, result_at = made.results(run)
    arrival, service = packets["arrival"][mine], (packets["doorbell"] - packets["dispatch"])[mine]
    whole = bool((result_at >= 0).all())
    ends = int(result_at.max(initial=0)) if whole else int(packets["feedback"][mine].max(initial=0))
    cycles = max(1, ends - _first(arrival))
    first = np.full(made.blocks, np.iinfo(np.int64).max)
    np.minimum.at(first, packets["tag"][mine] & 0xFFFFFFFF, arrival)
    working = working_bytes([made])
    payload = made.payload_bytes
    itemsize = reduction.element_type.itemsize
    dense_bytes = reduction.length * itemsize * reduction.children
    sparse = made.figures(run) if isinstance(made, SparseRun) else None
    return replace(
        _outline(config.machine, reduction, number),
        exact=whole and made.is_right(rows),
        packets=int(mine.sum()),
        bandwidth_gbps=payload * 8 / cycles,
        elements_per_ns=(sparse.pairs_in if sparse else payload / itemsize) / cycles,
        dense_gbps=dense_bytes * 8 / cycles,
        cycles=cycles,
        service_cycles=float(service.mean()) if len(service) else 0.0,
        block_latency_cycles=float((result_at - first).mean()) if whole else 0.0,
        working_peak_bytes=int(working.peak),
        working_mean_bytes=working.mean,
        faults=sum(1 for fault in run.faults if fault.handler.startswith(made.context.name)),
        repeats=made.repeats,
        sparse=sparse,
        model=prediction_of(reduction, config),
    )
