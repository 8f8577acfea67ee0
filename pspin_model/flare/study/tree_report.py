"""What came of reductions through trees of switches: times, levels, how a sparse result fills up on its way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pspin_model.flare.config import FlareConfig
from pspin_model.flare.models.dense import host_bytes
from pspin_model.flare.records import TAG_REQUEST
from pspin_model.flare.sparse.run import SparseFigures, SparseRun
from pspin_model.flare.study.series import input_bytes, steps
from pspin_model.flare.study.simulate import machine_as_json
from pspin_model.flare.tree.config import TreeConfig
from pspin_model.flare.tree.simulation import MOST_FRUITLESS_ROUNDS, TimedNetwork, TimedReduction
from pspin_model.flare.tree.switch import Switch
from pspin_model.machine.machine import Run


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One level of a reduction's tree. Of several switches sums, where it does not say otherwise."""

    level: int
    """0: the hosts' switches."""
    switches: int
    children: int
    """Most children of a switch."""
    algorithm: str
    done_cycles: int
    """Cycles until the last result left it."""
    packets: int
    repeats: int
    """Packets that were in already."""
    sent_again: int
    """Packets that were lost on their way up, or, from the root, down."""
    service_cycles: float
    """Mean time that a core spends on a packet."""
    core_use: float
    """Part of the cores' time in handlers while the level had packets, of all reductions on it."""
    input_peak_bytes: int
    """The most on a switch, of all reductions on it."""
    working_peak_bytes: int
    """The most on a switch, of this reduction."""
    booked_bytes: int
    """Most bytes of an L1 that a switch books."""
    sparse: SparseFigures | None = None
    """``result_density``: the mean of the switches."""


@dataclass(frozen=True, slots=True)
class TreeReport:
    """One reduction. Cycles are nanoseconds, counted from the first packet that leaves a host."""

    name: str
    algorithm: str
    message_bytes: int
    children: int
    dtype: str
    density: float = 0.0
    refused: str = ""
    fallback_cycles: int = 0
    """Least cycles of a ring of the hosts where it was refused, each sending 2 (P-1)/P of its message on its link."""
    root: str = ""
    exact: bool = False
    """Every host has the right result; integers exactly, floats of trees bit for bit, other floats about."""
    cycles: int = 0
    """Cycles until the last host had the last result."""
    block_latency_cycles: float = 0.0
    """Mean over blocks and hosts, from a host's first packet of a block to its result."""
    host_gbps: float = 0.0
    """A host's message over the whole time, a sparse one with its zeros."""
    sent_again: int = 0
    """Packets that hosts sent again."""
    requests: int = 0
    """Requests by which hosts asked for what was lost."""
    levels: tuple[LevelFigures, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class TreeOutcome:
    """All reductions of a configuration, and the network that they ran on."""

    reports: list[TreeReport]
    network: TimedNetwork

    @property
    def lost(self) -> int:
        """Packets that links have lost."""
        return self.network.lost

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and text."""
        config = self.network.config
        return {
            "machine": machine_as_json(config.machine, config.costs.name),
            "tree": asdict(self.network.tree),
            "lost": self.lost,
            "reductions": [asdict(report) for report in self.reports],
        }


def reduce_in_time(config: FlareConfig, tree: TreeConfig) -> TreeOutcome:
    """Run all reductions of a configuration through trees that the manager builds."""
    network = TimedNetwork(config, tree)
    network.play()
    runs = {name: switch.run for name, switch in network.switches.items() if switch.passes}
    return TreeOutcome([_report(network, runs, one) for one in network.reductions], network)


def _report(network: TimedNetwork, runs: dict[str, Run], one: TimedReduction) -> TreeReport:
    reduction = one.reduction
    report = TreeReport(
        f"reduction{one.number}", reduction.kind, reduction.message_bytes, reduction.children, reduction.dtype,
        reduction.density,
    )  # fmt: skip
    if one.tree is None:
        sent = host_bytes(reduction.message_bytes, reduction.children)["ring"]
        ring = math.ceil(sent * 8 / network.tree.link_gbps)
        return replace(report, refused=one.refused, fallback_cycles=ring)
    names = sorted(one.tree.plans, key=lambda name: (network.switches[name].level, name))
    switches = [network.switches[name] for name in names]
    kinds = {switch.name: switch.members[one.number].run.reduction.algorithm for switch in switches}
    ready = np.array([[min(times) for times in sender.ready] for sender in one.senders])
    begin = int(ready.min())
    levels = tuple(
        _level(network, runs, one, [switch for switch in switches if switch.level == level], begin)
        for level in sorted({switch.level for switch in switches})
    )
    faults = tuple(str(fault) for switch in switches for fault in runs[switch.name].faults
                   if fault.handler.startswith(f"reduction{one.number}."))  # fmt: skip
    report = replace(report, root=one.tree.root, levels=levels, faults=faults, algorithm=_kinds(levels),
                     sent_again=sum(sender.repeated for sender in one.senders),
                     requests=sum(sender.requests for sender in one.senders))  # fmt: skip
    missing = sum(sender.missing for sender in one.senders)
    if missing:
        return replace(report, faults=(*faults, _unfinished(network, missing)))
    done = np.array([sender.done_at for sender in one.senders])
    cycles = int(done.max()) - begin
    return replace(
        report,
        exact=one.data.is_right([sender.results for sender in one.senders], one.tree, one.hosts, kinds),
        cycles=cycles,
        block_latency_cycles=float((done - ready).mean()),
        host_gbps=reduction.message_bytes * 8 / cycles,
    )


def _unfinished(network: TimedNetwork, missing: int) -> str:
    why = (
        f"gave up after {MOST_FRUITLESS_ROUNDS} rounds of requests that brought nothing"
        if network.tree.loss
        else "see the switches' faults"
    )
    return f"hosts miss {missing} results of blocks: {why}"


def _kinds(levels: Sequence[LevelFigures]) -> str:
    return ", ".join(dict.fromkeys(level.algorithm for level in levels))


def _level(
    network: TimedNetwork, runs: dict[str, Run], one: TimedReduction, switches: Sequence[Switch], begin: int
) -> LevelFigures:
    assert one.tree is not None
    members = [switch.members[one.number] for switch in switches]
    mine = [_of_context(runs[switch.name], member.run.context.index)
            for switch, member in zip(switches, members, strict=True)]  # fmt: skip
    service = np.concatenate([packets["doorbell"] - packets["dispatch"] for packets in mine])
    sparse = [
        member.run.figures(runs[switch.name])
        for switch, member in zip(switches, members, strict=True)
        if isinstance(member.run, SparseRun)
    ]
    return LevelFigures(
        level=switches[0].level,
        switches=len(switches),
        children=max(len(member.children) for member in members),
        algorithm=members[0].run.reduction.kind,
        done_cycles=max(_last_sent(runs[switch.name], member.run.context.index)
                        for switch, member in zip(switches, members, strict=True)) - begin,
        packets=len(service),
        repeats=sum(member.run.repeats for member in members),
        sent_again=sum(member.run.sent_again for member in members),
        service_cycles=float(service.mean()) if len(service) else 0.0,
        core_use=_core_use([runs[switch.name] for switch in switches]),
        input_peak_bytes=max(input_bytes(runs[switch.name]).peak for switch in switches),
        working_peak_bytes=max(steps(*member.run.memory_steps()).peak for member in members),
        booked_bytes=max(one.tree.booked[switch.name] for switch in switches),
        sparse=_summed(sparse) if sparse else None,
    )  # fmt: skip


def _of_context(run: Run, context: int) -> dict[str, Any]:
    mine = run.packets["context"] == context
    return {name: column[mine] for name, column in run.packets.items()}


def _last_sent(run: Run, context: int) -> int:
    results = (run.sent["context"] == context) & (run.sent["tag"] & TAG_REQUEST == 0)
    return int(run.sent["cycle"][results].max(initial=0))


def _core_use(runs: Sequence[Run]) -> float:
    begin = min(int(run.packets["arrival"].min(initial=1 << 62)) for run in runs)
    end = max(int(run.packets["feedback"].max(initial=0)) for run in runs)
    cores = sum(len(run.busy_cycles) for run in runs)
    return float(sum(run.busy_cycles.sum() for run in runs) / (max(1, end - begin) * cores))


def _summed(figures: Sequence[SparseFigures]) -> SparseFigures:
    total = {name: sum(getattr(each, name) for each in figures) for name in SparseFigures.__dataclass_fields__}
    total["result_density"] /= len(figures)
    return SparseFigures(**total)


def level_rows(reports: Sequence[TreeReport]) -> list[dict[str, Any]]:
    """A row for each level of each reduction, for CSV."""
    rows = []
    for report in reports:
        whole = asdict(report)
        levels: list[dict[str, Any]] = list(whole.pop("levels"))
        whole["faults"] = len(report.faults)
        for level in levels or [{}]:
            sparse = level.pop("sparse", None) or {}
            rows.append({**whole, **{f"level_{name}": value for name, value in {**level, **sparse}.items()}})
    return rows
