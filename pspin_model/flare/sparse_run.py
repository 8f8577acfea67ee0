"""A sparse reduction on the machine: its context and packets, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.chosen import ChosenOperator, chosen_operator
from pspin_model.flare.config import Reduction
from pspin_model.flare.cost_model import Algorithm
from pspin_model.flare.dense_run import REMOTE_L1_CYCLES
from pspin_model.flare.elements import Values, agree
from pspin_model.flare.placement import Placement, free_l1, place_blocks
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
    A_TYPE,
    TYPE_CODES,
    WORD_BYTES,
)
from pspin_model.flare.role import Role
from pspin_model.flare.sparse import SparseShape, gather
from pspin_model.flare.sparse_handlers import add_sparse
from pspin_model.flare.sparse_records import (
    A_ENTRIES,
    A_FRAGMENT_WORDS,
    A_KEPT,
    A_KEPT_AT,
    A_KEYS_AT,
    A_OUT_AT,
    A_OUT_BYTES,
    A_OWN_NUMBER,
    A_PER_PACKET,
    A_PROBE,
    A_SPILL_AT,
    A_SPILL_ROOM,
    A_STORAGE,
    A_TABLE_AT,
    A_UNIT_BYTES,
    A_UNITS_AT,
    A_VALUE_BYTES,
    N_FLUSHES,
    N_INSERTED,
    N_MERGED,
    N_PAIRS,
    N_PROBES,
    N_SPILLED,
    OUT_ROWS,
    SPARSE_WORDS,
    STORAGE_CODES,
    SparseLayout,
    fragment_words,
    out_bytes,
    sparse_layout,
)
from pspin_model.flare.sparse_traffic import (
    Vector,
    fragments_of,
    inbound,
    reduce_vectors,
    shape_of,
    vectors,
)
from pspin_model.flare.sparse_wire import EMPTY_BYTES, INDEX_BYTES, IP_UDP_BYTES, Fragment, decode
from pspin_model.flare.traffic import Inbound, Numbers
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Context, Machine, Run


@dataclass(frozen=True, slots=True)
class SparseFigures:
    """What became of a sparse reduction's pairs on one switch."""

    pairs_in: int
    inserted: int
    merged: int
    probes: int
    """Second looks into the hash table."""
    spilled: int
    flushes: int
    """Fragments that a full spill buffer made before its block was complete."""
    bytes_in: int
    bytes_out: int
    extra_bytes: int
    """Sent beyond what every index once, in packets as full as can be, would have taken."""
    result_density: float
    """Part of all elements that are in the result."""


@dataclass(slots=True)
class SparseRun:
    """Set up on a machine; give it the packets with `packets`, and the run's records with `results`."""

    machine: Machine
    reduction: Reduction
    name: str = "reduction"
    first_group: int = 0
    port: int = 0
    role: Role | None = None
    """In a tree of switches, where packets come by `accept`; None: it stands alone and makes its own."""
    vectors: list[Vector] = field(init=False)
    shape: SparseShape = field(init=False)
    placement: Placement = field(init=False)
    context: Context = field(init=False)
    operator: ChosenOperator = field(init=False)
    traffic: Inbound = field(init=False)
    payload_bytes: int = field(init=False, default=0)
    """That came in, from all children, with headers."""
    _log: Numbers = field(init=False)

    def __post_init__(self) -> None:
        config, reduction = self.machine.config, self.reduction
        self.operator = chosen_operator(reduction)
        role = self.role or self._alone()
        self.shape = shape_of(reduction, reduction.children)
        self.placement = place_sparse(config, reduction, role, free_l1(self.machine), self.first_group)
        self.context = self.machine.context(
            self.name,
            payload=add_sparse,
            scratchpad_bytes=self.placement.scratchpad_bytes,
            handler_memory_bytes=SPARSE_WORDS * WORD_BYTES,
            locks=self.placement.locks(config.clusters),
        )
        self._log = np.zeros(2 * reduction.blocks * units_of(reduction) + 2, np.int64)
        self._set_parameters(self.operator.code, role)

    def _alone(self) -> Role:
        """Makes vectors and packets."""
        self.vectors = vectors(self.reduction)
        fragments = fragments_of(self.reduction, self.vectors)
        self.traffic = inbound(self.reduction, fragments)
        return Role(most_fragments=max(len(block) for child in fragments for block in child))

    def _set_parameters(self, operator_code: int, role: Role) -> None:
        shape, placement = self.shape, self.placement
        layout = placement.layout
        assert isinstance(layout, SparseLayout)
        words = self.context.handler_memory.view(np.int64)
        words[A_CHILDREN] = shape.children
        words[A_CONTROL_WORDS] = layout.control_words
        words[A_PLACES] = placement.places
        words[A_PLACE_BYTES] = layout.bytes
        words[A_LOCKS_PER_PLACE] = layout.locks
        words[A_CLUSTERS_PER_GROUP] = placement.groups.clusters
        words[A_TYPE] = TYPE_CODES[self.reduction.dtype]
        words[A_OPERATOR] = operator_code
        words[A_PORT] = self.port
        words[A_REMOTE_CYCLES] = REMOTE_L1_CYCLES
        words[A_LOG] = self._log.ctypes.data
        words[A_STORAGE] = STORAGE_CODES[shape.storage]
        words[A_ENTRIES] = shape.entry_count
        words[A_PROBE] = shape.probe
        words[A_VALUE_BYTES] = shape.dtype.itemsize
        words[A_PER_PACKET] = shape.per_packet
        words[A_SPILL_ROOM] = shape.spill_room
        words[A_FRAGMENT_WORDS] = fragment_words(role.most_fragments)
        words[A_OWN_NUMBER] = role.number
        words[A_IS_ROOT] = role.is_root
        words[A_BUFFERS] = layout.units
        words[A_UNITS_AT] = layout.units_at
        words[A_UNIT_BYTES] = layout.unit_bytes
        words[A_KEPT_AT] = layout.kept_at
        words[A_KEPT] = role.kept
        words[A_TABLE_AT] = layout.table_at
        words[A_KEYS_AT] = layout.keys_at
        words[A_SPILL_AT] = layout.spill_at
        words[A_OUT_AT] = placement.places * layout.bytes
        words[A_OUT_BYTES] = out_bytes(shape.packet_bytes, 1) // OUT_ROWS

    def packets(self) -> dict[str, Any]:
        """What `Machine.inject` wants of this reduction."""
        return self.accept(self.traffic)

    def accept(self, inbound: Inbound) -> dict[str, Any]:
        """The same for what a network brings."""
        self.payload_bytes += sum(len(packet) for packet in inbound.data)
        placed = self.placement.addressed(self.context.index, inbound.at, inbound.block, inbound.child)
        return {**placed, "data": inbound.data}

    @property
    def repeats(self) -> int:
        """Packets that were in already."""
        return self._word(A_REPEATS)

    @property
    def blocks(self) -> int:
        return self.reduction.blocks

    def memory_steps(self) -> tuple[Numbers, Numbers]:
        """(cycles, bytes of blocks taken into use or given back then)."""
        log = self._log[: self._word(A_LOG_COUNT)]
        return log >> 1, np.where(log & 1, 1, -1) * self.placement.layout.unit_bytes

    def sent(self, run: Run) -> tuple[list[list[Fragment]], Numbers]:
        """(each block's fragments in the order in which they left first, the cycle of the last)."""
        made: list[dict[int, Fragment]] = [{} for _ in range(self.blocks)]
        at = np.full(self.blocks, -1, np.int64)
        for place in np.flatnonzero(run.sent["context"] == self.context.index):
            _, fragment = decode(run.payload(int(place)).tobytes()[IP_UDP_BYTES:], self.shape.dtype)
            if fragment.fragment not in made[fragment.block]:
                made[fragment.block][fragment.fragment] = fragment
                at[fragment.block] = max(at[fragment.block], run.sent["cycle"][place])
        return [list(block.values()) for block in made], at

    def results(self, run: Run) -> tuple[Values, Numbers]:
        """(the dense result, the cycle at which each block's last fragment left; -1: the block is not whole)."""
        made, at = self.sent(run)
        rows = np.zeros((self.blocks, self.shape.span), self.shape.dtype)
        for number, fragments in enumerate(made):
            total = max((fragment.fragments for fragment in fragments), default=0)
            if total == 0 or {fragment.fragment for fragment in fragments} != set(range(total)):
                at[number] = -1
                continue
            rows[number] = gather(tuple(fragments), self.shape.span, self.operator.rows)
        return rows.reshape(-1)[: self.reduction.length], at

    def is_right(self, result: Values) -> bool:
        """Whether it is what scatter-add makes of the vectors."""
        return agree(result, reduce_vectors(self.vectors, self.reduction.length, self.operator.rows))

    def figures(self, run: Run) -> SparseFigures:
        """What became of the pairs."""
        made, _ = self.sent(run)
        least, once_all = 0, 0
        for fragments in made:
            once = len(np.unique(np.concatenate([f.indices for f in fragments]))) if fragments else 0
            packets = max(1, -(-once // self.shape.per_packet))
            least += packets * EMPTY_BYTES + once * (INDEX_BYTES + self.shape.dtype.itemsize)
            once_all += once
        out = sum(fragment.wire_bytes for fragments in made for fragment in fragments)
        return SparseFigures(
            pairs_in=self._word(N_PAIRS),
            inserted=self._word(N_INSERTED),
            merged=self._word(N_MERGED),
            probes=self._word(N_PROBES),
            spilled=self._word(N_SPILLED),
            flushes=self._word(N_FLUSHES),
            bytes_in=self.payload_bytes,
            bytes_out=out,
            extra_bytes=out - least,
            result_density=once_all / self.reduction.length,
        )

    def _word(self, place: int) -> int:
        return int(self.context.handler_memory.view(np.int64)[place])


def units_of(reduction: Reduction) -> int:
    """Of each block: M buffers, or one."""
    return reduction.buffers if reduction.algorithm == Algorithm.MULTI else 1


def place_sparse(
    machine: MachineConfig, reduction: Reduction, role: Role, free_bytes: int, first_group: int = 0
) -> Placement:
    """Where a sparse reduction's blocks lie. Raises ReductionRefused where they need more of each L1."""
    shape = shape_of(reduction, reduction.children)
    layout = sparse_layout(shape, fragment_words(role.most_fragments), units_of(reduction), role.kept)
    shared = out_bytes(reduction.packet_bytes, machine.cores)
    return place_blocks(reduction, machine, layout, free_bytes, first_group, shared)
