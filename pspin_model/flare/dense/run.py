"""A dense reduction on the machine: its context and packets, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.context_run import ContextRun
from pspin_model.flare.dense.handlers import add_multi, add_single, add_tree
from pspin_model.flare.dense.reference import reduce_tree
from pspin_model.flare.elements import Values, agree, random_values
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.placement import PlaceLayout, Placement, place_blocks, place_layout
from pspin_model.flare.records import A_PACKET_BYTES, A_ROW_BYTES, A_WORDS
from pspin_model.flare.traffic import Arrivals, Numbers, arrivals
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Run

HANDLERS = {Algorithm.SINGLE: add_single, Algorithm.MULTI: add_multi, Algorithm.TREE: add_tree}


@dataclass(slots=True)
class DenseRun(ContextRun):
    """Set up on a machine; give it the packets with `packets`, and the run's records with `results`."""

    traffic: Arrivals = field(init=False)
    rows: Values = field(init=False)
    """Children x blocks x elements: what they send."""

    def __post_init__(self) -> None:
        reduction = self.reduction
        placement = place_dense(self.machine.config, reduction, self.machine.free_scratchpad_bytes, self.first_group)
        assert isinstance(placement.layout, PlaceLayout)
        own = {A_ROW_BYTES: placement.layout.row_bytes, A_PACKET_BYTES: reduction.packet_bytes}
        self._install(HANDLERS[Algorithm(reduction.algorithm)], placement, own, A_WORDS)
        if self.role is None:
            self.traffic, self.rows = arrivals_of(reduction), random_rows(reduction)

    def packets(self) -> dict[str, Any]:
        """Arguments of `Machine.inject` for this reduction."""
        traffic = self.traffic
        placed = self.placement.addressed(self.context.index, traffic.at, traffic.block, traffic.child)
        return {**placed, "data": self.rows[traffic.child, traffic.block].view(np.uint8)}

    @property
    def payload_bytes(self) -> int:
        """Bytes that come in, from all children."""
        return self.reduction.blocks * self.reduction.children * self.reduction.packet_bytes

    def results(self, run: Run) -> tuple[Values, Numbers]:
        """(blocks x elements, the cycle at which each block's result left; -1: it did not)."""
        reduction = self.reduction
        dtype = reduction.element_type
        rows = np.zeros((reduction.blocks, reduction.elements), dtype)
        at = np.full(reduction.blocks, -1, np.int64)
        mine = np.flatnonzero(run.sent["context"] == self.context.index)
        block = run.sent["tag"][mine]
        at[block] = run.sent["cycle"][mine]
        offsets = run.sent["offset"][mine]
        for number, offset in zip(block, offsets, strict=True):
            rows[number] = run.sent_data[offset : offset + reduction.packet_bytes].view(dtype)
        return rows, at

    def expected(self) -> Values:
        """What a result must be: for the tree bit for bit, for integers too; for floats of the others about."""
        if self.reduction.algorithm == Algorithm.TREE:
            return reduce_tree(self.rows, self.operator.rows)
        total = self.rows[0]
        for row in self.rows[1:]:
            total = self.operator.rows(total, row)
        return np.asarray(total)

    def is_right(self, rows: Values) -> bool:
        """Whether results are what they must be."""
        bitwise = self.reduction.algorithm == Algorithm.TREE
        return agree(rows, self.expected(), self.reduction.element_kind, bitwise=bitwise)


def place_dense(machine: MachineConfig, reduction: Reduction, free_bytes: int, first_group: int = 0) -> Placement:
    """Where a dense reduction's blocks are. Raises ReductionRefused where they need more of each L1."""
    layout = place_layout(Algorithm(reduction.algorithm), reduction.children, reduction.packet_bytes, reduction.buffers)
    return place_blocks(reduction, machine, layout, free_bytes, first_group)


def arrivals_of(reduction: Reduction) -> Arrivals:
    """Arrivals of a child's packets at its own pace."""
    return arrivals(
        reduction.blocks,
        reduction.children,
        reduction.interval_cycles,
        staggered=reduction.staggered,
        exponential=reduction.arrivals == "exponential",
        seed=reduction.seed,
        start=reduction.start_cycles,
    )


def random_rows(reduction: Reduction) -> Values:
    """Children x blocks x elements."""
    shape = (reduction.children, reduction.blocks, reduction.elements)
    return random_values(shape, reduction.element_kind, reduction.seed)
