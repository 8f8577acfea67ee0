"""A reduction set up on a machine, whatever its kind."""

from __future__ import annotations

from typing import TypeAlias

from pspin_model.flare.config import Reduction
from pspin_model.flare.context_run import Role
from pspin_model.flare.dense.run import DenseRun, place_dense
from pspin_model.flare.sparse.run import SparseRun, place_sparse
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Machine

ReductionRun: TypeAlias = DenseRun | SparseRun
ANY_SIZE = 1 << 62


def set_up(
    machine: Machine, reduction: Reduction, name: str, first_group: int = 0, role: Role | None = None
) -> ReductionRun:
    """Memory, handlers and, where it stands alone, packets of a reduction. Raises ReductionRefused where the machine
    has no room for it."""
    kind = SparseRun if reduction.density else DenseRun
    return kind(machine, reduction, name, first_group, role=role)


def bytes_needed(machine: MachineConfig, reduction: Reduction, first_group: int, role: Role) -> int:
    """Of each cluster's L1, on a switch with that role."""
    if reduction.density:
        return place_sparse(machine, reduction, role, ANY_SIZE, first_group).scratchpad_bytes
    return place_dense(machine, reduction, ANY_SIZE, first_group).scratchpad_bytes
