"""A reduction set up on a machine, whatever its kind."""

from __future__ import annotations

from typing import TypeAlias

from pspin_model.flare.config import Reduction
from pspin_model.flare.dense_run import DenseRun
from pspin_model.flare.sparse_run import SparseRun
from pspin_model.machine.machine import Machine

ReductionRun: TypeAlias = DenseRun | SparseRun


def set_up(machine: Machine, reduction: Reduction, name: str, first_group: int = 0) -> ReductionRun:
    """Memory, handlers and packets of a reduction. Raises ReductionRefused where the machine has no room for it."""
    kind = SparseRun if reduction.density else DenseRun
    return kind(machine, reduction, name, first_group)
