"""A sparse reduction on the machine: its context and packets, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pspin_model.flare.config import Reduction
from pspin_model.flare.context_run import ContextRun, Role
from pspin_model.flare.elements import Values, agree
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.placement import Placement, place_blocks
from pspin_model.flare.records import A_BUFFERS, TAG_REQUEST
from pspin_model.flare.sparse.handlers import add_sparse
from pspin_model.flare.sparse.records import (
    A_ENTRIES,
    A_FRAGMENT_WORDS,
    A_KEPT,
    A_KEPT_AT,
    A_KEYS_AT,
    A_OUT_AT,
    A_OUT_BYTES,
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
from pspin_model.flare.sparse.reference import SparseShape, gather
from pspin_model.flare.sparse.traffic import (
    Vector,
    fragments_of,
    inbound,
    reduce_vectors,
    shape_of,
    vectors,
)
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES, IP_UDP_BYTES, Fragment, decode
from pspin_model.flare.traffic import Inbound, Numbers
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.machine import Run


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
class SparseRun(ContextRun):
    """Set up on a machine; give it the packets with `packets`, and the run's records with `results`."""

    vectors: list[Vector] = field(init=False)
    shape: SparseShape = field(init=False)
    traffic: Inbound = field(init=False)
    payload_bytes: int = field(init=False, default=0)
    """Bytes that came in, from all children, with headers."""

    def __post_init__(self) -> None:
        reduction = self.reduction
        role = self.role or self._alone()
        self.shape = shape_of(reduction, reduction.children)
        placement = place_sparse(
            self.machine.config, reduction, role, self.machine.free_scratchpad_bytes, self.first_group
        )
        self._install(add_sparse, placement, self._parameters(placement, role), SPARSE_WORDS)

    def _alone(self) -> Role:
        """Makes vectors and packets."""
        self.vectors = vectors(self.reduction)
        fragments = fragments_of(self.reduction, self.vectors)
        self.traffic = inbound(self.reduction, fragments)
        return Role(most_fragments=max(len(block) for child in fragments for block in child))

    def _parameters(self, placement: Placement, role: Role) -> dict[int, int]:
        shape, layout = self.shape, placement.layout
        assert isinstance(layout, SparseLayout)
        return {
            A_STORAGE: STORAGE_CODES[shape.storage],
            A_ENTRIES: shape.entry_count,
            A_PROBE: shape.probe,
            A_VALUE_BYTES: shape.dtype.itemsize,
            A_PER_PACKET: shape.per_packet,
            A_SPILL_ROOM: shape.spill_room,
            A_FRAGMENT_WORDS: fragment_words(role.most_fragments),
            A_BUFFERS: layout.units,
            A_UNITS_AT: layout.units_at,
            A_UNIT_BYTES: layout.unit_bytes,
            A_KEPT_AT: layout.kept_at,
            A_KEPT: role.kept,
            A_TABLE_AT: layout.table_at,
            A_KEYS_AT: layout.keys_at,
            A_SPILL_AT: layout.spill_at,
            A_OUT_AT: placement.places * layout.bytes,
            A_OUT_BYTES: out_bytes(shape.packet_bytes, 1) // OUT_ROWS,
        }

    def packets(self) -> dict[str, Any]:
        """Arguments of `Machine.inject` for this reduction."""
        return self.accept(self.traffic)

    def accept(self, inbound: Inbound) -> dict[str, Any]:
        """The same for what a network brings."""
        self.payload_bytes += sum(len(packet) for packet in inbound.data)
        return ContextRun.accept(self, inbound)

    def sent(self, run: Run) -> tuple[list[list[Fragment]], Numbers]:
        """(each block's fragments in the order in which they left first, the cycle of the last)."""
        made: list[dict[int, Fragment]] = [{} for _ in range(self.blocks)]
        at = np.full(self.blocks, -1, np.int64)
        for place in np.flatnonzero(run.sent["context"] == self.context.index):
            if run.sent["tag"][place] & TAG_REQUEST:
                continue
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
        expected = reduce_vectors(self.vectors, self.reduction.length, self.operator.rows)
        return agree(result, expected, self.reduction.element_kind)

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


def units_of(reduction: Reduction) -> int:
    """Buffers of each block: M, or one."""
    return reduction.buffers if reduction.algorithm == Algorithm.MULTI else 1


def place_sparse(
    machine: MachineConfig, reduction: Reduction, role: Role, free_bytes: int, first_group: int = 0
) -> Placement:
    """Where a sparse reduction's blocks are. Raises ReductionRefused where they need more of each L1."""
    shape = shape_of(reduction, reduction.children)
    layout = sparse_layout(shape, fragment_words(role.most_fragments), units_of(reduction), role.kept)
    shared = out_bytes(reduction.packet_bytes, machine.cores)
    return place_blocks(reduction, machine, layout, free_bytes, first_group, shared)
