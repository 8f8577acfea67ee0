"""Reductions on a machine, dense or sparse: set-up of one, packets and records of several that share the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.context_run import Role
from pspin_model.flare.dense.run import DenseRun, place_dense
from pspin_model.flare.sparse.run import SparseRun, place_sparse
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Context, Machine, Run

ReductionRun: TypeAlias = DenseRun | SparseRun
ANY_SIZE = 1 << 62


def set_up(
    machine: Machine, reduction: Reduction, name: str, first_group: int = 0, role: Role | None = None
) -> ReductionRun:
    """Memory, handlers and, outside a tree, packets of a reduction. Raises ReductionRefused where the machine
    has no room for it."""
    kind = SparseRun if reduction.density else DenseRun
    return kind(machine, reduction, name, first_group, role=role)


def bytes_needed(machine: MachineConfig, reduction: Reduction, first_group: int, role: Role) -> int:
    """Bytes of each cluster's L1, on a switch with that role."""
    if reduction.density:
        return place_sparse(machine, reduction, role, ANY_SIZE, first_group).scratchpad_bytes
    return place_dense(machine, reduction, ANY_SIZE, first_group).scratchpad_bytes


def inject_in_turns(machine: Machine, parts: Sequence[tuple[Context, dict[str, Any]]]) -> None:
    """Queue the packets of several contexts, each given as arguments of `Machine.inject`, in order of time."""
    if len(parts) == 1:
        machine.inject(parts[0][0], **parts[0][1])
    if len(parts) < 2:
        return
    owner = np.concatenate([np.full(len(part["at"]), context.index) for context, part in parts])
    order = np.argsort(np.concatenate([part["at"] for _, part in parts]), kind="stable")
    rest = {
        name: np.concatenate([part[name] for _, part in parts])[order] for name in parts[0][1] if name != "data"
    }  # fmt: skip
    # none of them has a handler at the end of a message
    machine.inject(parts[0][0], data=_ordered([part["data"] for _, part in parts], order), **rest,
                   contexts=owner[order], last=0)  # fmt: skip


def _ordered(data: Sequence[Any], order: Any) -> Any:
    """Packets' bytes, given as arrays of a row each or as lists, in another order."""
    if all(isinstance(each, np.ndarray) and each.shape[1] == data[0].shape[1] for each in data):
        return np.concatenate(data)[order]
    flat = [bytes(packet) for each in data for packet in each]
    return [flat[place] for place in order]


def join_runs(runs: Sequence[Run]) -> Run:
    """Records in the order of the runs; what counts from the start is the last's. Raises ValueError for none."""
    if not runs:
        raise ValueError("no runs to join")
    if len(runs) == 1:
        return runs[0]
    begins = np.cumsum([0, *(len(run.sent_data) for run in runs[:-1])])
    sent = _joined([run.sent for run in runs])
    sent["offset"] = np.concatenate([run.sent["offset"] + begin for run, begin in zip(runs, begins, strict=True)])
    return replace(
        runs[-1],
        packets=_joined([run.packets for run in runs]),
        sent=sent,
        sent_data=np.concatenate([run.sent_data for run in runs]),
        host_writes=_joined([run.host_writes for run in runs]),
        faults=[fault for run in runs for fault in run.faults],
    )


def _joined(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
