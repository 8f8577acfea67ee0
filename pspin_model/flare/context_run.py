"""What a dense and a sparse reduction share on a machine: a context, its parameters, packets to it, its instruments,
and the switch's role in a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.element_cost import element_price
from pspin_model.flare.operators import ChosenOperator, chosen_operator
from pspin_model.flare.placement import Placement
from pspin_model.flare.records import (
    A_ADDRESS,
    A_AGAIN,
    A_BUFFERS,
    A_CHILDREN,
    A_CLUSTERS_PER_GROUP,
    A_CONTROL_WORDS,
    A_ELEMENT_CYCLES,
    A_ELEMENT_INSTRUCTIONS,
    A_IS_ROOT,
    A_ITEM_BYTES,
    A_LOCKS_PER_PLACE,
    A_LOG,
    A_LOG_COUNT,
    A_MORE_WORDS,
    A_OPERATION,
    A_OPERATOR,
    A_OWN_NUMBER,
    A_PAUSE,
    A_PLACE_BYTES,
    A_PLACES,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_ROWS,
    WORD_BYTES,
)
from pspin_model.flare.traffic import Inbound, Numbers
from pspin_model.handlers import Handler
from pspin_model.machine.machine import Context, Machine


@dataclass(frozen=True, slots=True)
class Role:
    """What the manager sends a switch in addition to the reduction and its children."""

    number: int = 0
    """Its own among its parent's children."""
    is_root: bool = True
    address: int = 0
    """Its own among all members of the tree."""
    most_fragments: int = 1
    """Most fragments of a sparse block from a child."""
    kept: int = 0
    """Packets of a sparse block that it keeps, so that it can send them again; 0: a lost one is gone."""
    pause_cycles: int = 0
    """In which it asks for a block, or sends its packets up again, a bounded number of times, however often it is
    asked (`retransmission`)."""


REMOTE_L1_CYCLES = 4
"""More for a word in another cluster's L1, where a handler goes through a whole row with several words under way; one
word alone takes about 21, there and back (`pspin_model/README.md`). Neither is measured. [ours]"""


@dataclass(slots=True)
class ContextRun:
    """A reduction set up on a machine. The classes that go on from here say what is added and sent."""

    machine: Machine
    reduction: Reduction
    name: str = "reduction"
    first_group: int = 0
    """Where its blocks begin: several reductions begin on different groups."""
    port: int = 0
    role: Role | None = None
    """Role in a tree of switches, where packets come by `accept`; None: a single switch that makes its own."""
    placement: Placement = field(init=False)
    context: Context = field(init=False)
    operator: ChosenOperator = field(init=False)
    _log: Numbers = field(init=False)

    def _install(self, handler: Handler, placement: Placement, parameters: Mapping[int, int], words: int) -> None:
        """Make the context; ``parameters``: those of the handler's ``words`` that only this kind of reduction has."""
        reduction, config, layout, role = self.reduction, self.machine.config, placement.layout, self.role or Role()
        self.operator = chosen_operator(reduction)
        price = element_price(reduction, self.machine.costs)
        self.placement = placement
        self.context = self.machine.context(
            self.name,
            payload=handler,
            scratchpad_bytes=placement.scratchpad_bytes,
            handler_memory_bytes=words * WORD_BYTES,
            locks=placement.locks(config.clusters),
        )
        # a block takes into use, and gives back, its units, each once
        self._log = np.zeros(2 * reduction.blocks * max(reduction.children, reduction.buffers) + 2, np.int64)
        shared = {
            A_CHILDREN: reduction.children,
            A_BUFFERS: reduction.buffers,
            A_CONTROL_WORDS: layout.control_words,
            A_PLACES: placement.places,
            A_PLACE_BYTES: layout.bytes,
            A_LOCKS_PER_PLACE: layout.locks,
            A_CLUSTERS_PER_GROUP: placement.groups.clusters,
            A_ELEMENT_CYCLES: price.row.cycles,
            A_ELEMENT_INSTRUCTIONS: price.row.instructions,
            A_OPERATION: price.operation,
            A_MORE_WORDS: price.more_words,
            A_ITEM_BYTES: reduction.element_type.itemsize,
            A_OPERATOR: self.operator.code,
            A_ROWS: self.operator.address,
            A_PORT: self.port,
            A_REMOTE_CYCLES: REMOTE_L1_CYCLES,
            A_LOG: self._log.ctypes.data,
            A_IS_ROOT: role.is_root,
            A_OWN_NUMBER: role.number,
            A_ADDRESS: role.address,
            A_PAUSE: role.pause_cycles,
        }
        memory = self.context.handler_memory.view(np.int64)
        for place, value in {**shared, **parameters}.items():
            memory[place] = value

    def accept(self, inbound: Inbound) -> dict[str, Any]:
        """Arguments of `Machine.inject` for packets from a network."""
        placed = self.placement.addressed(self.context.index, inbound.at, inbound.block, inbound.source)
        return {**placed, "data": inbound.data}

    @property
    def repeats(self) -> int:
        """Packets that were in already."""
        return self._word(A_REPEATS)

    @property
    def sent_again(self) -> int:
        """Packets that were lost on their way up or down."""
        return self._word(A_AGAIN)

    @property
    def blocks(self) -> int:
        return self.reduction.blocks

    def memory_steps(self) -> tuple[Numbers, Numbers]:
        """(cycles, bytes of buffers taken into use or given back then)."""
        log = self._log[: self._word(A_LOG_COUNT)]
        return log >> 1, np.where(log & 1, 1, -1) * self.placement.layout.unit_bytes

    def _word(self, place: int) -> int:
        return int(self.context.handler_memory.view(np.int64)[place])
