"""A dense reduction on the machine: its context and packets, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.chosen import ChosenOperator, chosen_operator
from pspin_model.flare.config import Reduction
from pspin_model.flare.cost_model import Algorithm
from pspin_model.flare.dense import reduce_tree
from pspin_model.flare.dense_handlers import add_multi, add_single, add_tree
from pspin_model.flare.elements import ELEMENT_TYPES, Values, agree, random_values
from pspin_model.flare.placement import PlaceLayout, Placement, free_l1, place_blocks, place_layout
from pspin_model.flare.records import (
    A_BUFFERS,
    A_CHILDREN,
    A_CLUSTERS_PER_GROUP,
    A_CONTROL_WORDS,
    A_IS_ROOT,
    A_LOCKS_PER_PLACE,
    A_LOG,
    A_LOG_COUNT,
    A_OPERATOR,
    A_PLACE_BYTES,
    A_PLACES,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_ROW_BYTES,
    A_TYPE,
    A_WORDS,
    TYPE_CODES,
    WORD_BYTES,
)
from pspin_model.flare.role import Role
from pspin_model.flare.traffic import Arrivals, Inbound, Numbers, arrivals
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Context, Machine, Run

HANDLERS = {Algorithm.SINGLE: add_single, Algorithm.MULTI: add_multi, Algorithm.TREE: add_tree}

REMOTE_L1_CYCLES = 4
"""More for a word in another cluster's L1. Not in the measured figures; a crossing of the clusters' interconnect and
back, with several words under way. [ours]"""


@dataclass(slots=True)
class DenseRun:
    """Set up on a machine; give it the packets with `packets`, and the run's records with `results`."""

    machine: Machine
    reduction: Reduction
    name: str = "reduction"
    first_group: int = 0
    """Where its blocks begin: several reductions begin on different groups."""
    port: int = 0
    role: Role | None = None
    """In a tree of switches, where packets come by `accept`; None: it stands alone and makes its own."""
    placement: Placement = field(init=False)
    context: Context = field(init=False)
    operator: ChosenOperator = field(init=False)
    traffic: Arrivals = field(init=False)
    rows: Values = field(init=False)
    """Children x blocks x elements: what they send."""
    _log: Numbers = field(init=False)

    def __post_init__(self) -> None:
        config, reduction = self.machine.config, self.reduction
        self.operator = chosen_operator(reduction)
        self.placement = place_dense(config, reduction, free_l1(self.machine), self.first_group)
        self.context = self.machine.context(
            self.name,
            payload=HANDLERS[Algorithm(reduction.algorithm)],
            scratchpad_bytes=self.placement.scratchpad_bytes,
            handler_memory_bytes=A_WORDS * WORD_BYTES,
            locks=self.placement.locks(config.clusters),
        )
        if self.role is None:
            self.traffic, self.rows = arrivals_of(reduction), random_rows(reduction)
        self._log = np.zeros(2 * reduction.blocks * reduction.children + 2, np.int64)
        self._set_parameters(self.operator.code)

    def _set_parameters(self, operator_code: int) -> None:
        reduction, layout = self.reduction, self.placement.layout
        assert isinstance(layout, PlaceLayout)
        words = self.context.handler_memory.view(np.int64)
        words[A_CHILDREN] = reduction.children
        words[A_BUFFERS] = reduction.buffers
        words[A_ROW_BYTES] = layout.row_bytes
        words[A_CONTROL_WORDS] = layout.padded_control_words
        words[A_PLACES] = self.placement.places
        words[A_PLACE_BYTES] = layout.bytes
        words[A_LOCKS_PER_PLACE] = layout.locks
        words[A_CLUSTERS_PER_GROUP] = self.placement.groups.clusters
        words[A_TYPE] = TYPE_CODES[reduction.dtype]
        words[A_OPERATOR] = operator_code
        words[A_PORT] = self.port
        words[A_REMOTE_CYCLES] = REMOTE_L1_CYCLES
        words[A_LOG] = self._log.ctypes.data
        words[A_IS_ROOT] = self.role is None or self.role.is_root

    def packets(self) -> dict[str, Any]:
        """What `Machine.inject` wants of this reduction."""
        traffic = self.traffic
        placed = self.placement.addressed(self.context.index, traffic.at, traffic.block, traffic.child)
        return {**placed, "data": self.rows[traffic.child, traffic.block].view(np.uint8)}

    def accept(self, inbound: Inbound) -> dict[str, Any]:
        """The same for what a network brings."""
        placed = self.placement.addressed(self.context.index, inbound.at, inbound.block, inbound.child)
        return {**placed, "data": inbound.data}

    @property
    def repeats(self) -> int:
        """Packets that were in already."""
        return int(self.context.handler_memory.view(np.int64)[A_REPEATS])

    @property
    def blocks(self) -> int:
        return self.reduction.blocks

    @property
    def payload_bytes(self) -> int:
        """That come in, from all children."""
        return self.reduction.blocks * self.reduction.children * self.reduction.packet_bytes

    def memory_steps(self) -> tuple[Numbers, Numbers]:
        """(cycles, bytes of buffers taken into use or given back then)."""
        log = self._log[: int(self.context.handler_memory.view(np.int64)[A_LOG_COUNT])]
        return log >> 1, np.where(log & 1, 1, -1) * self.placement.layout.unit_bytes

    def results(self, run: Run) -> tuple[Values, Numbers]:
        """(blocks x elements, the cycle at which each block's result left; -1: it did not)."""
        reduction = self.reduction
        dtype = ELEMENT_TYPES[reduction.dtype]
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
        return agree(rows, self.expected(), bitwise=self.reduction.algorithm == Algorithm.TREE)


def place_dense(machine: MachineConfig, reduction: Reduction, free_bytes: int, first_group: int = 0) -> Placement:
    """Where a dense reduction's blocks lie. Raises ReductionRefused where they need more of each L1."""
    layout = place_layout(Algorithm(reduction.algorithm), reduction.children, reduction.packet_bytes, reduction.buffers)
    return place_blocks(reduction, machine, layout, free_bytes, first_group)


def arrivals_of(reduction: Reduction) -> Arrivals:
    """Its packets at its own pace."""
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
    return random_values(shape, reduction.element_type, reduction.seed)
