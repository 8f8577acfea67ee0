"""How fast sparse blocks are reduced: what their pairs (`sparse_fill`) cost; what bounds that: cores, locks, links.

Operation counts are those which the handlers declare (`sparse.handlers`, `sparse.units`), priced by a cost table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pspin_model.flare.element_cost import ElementPrice
from pspin_model.flare.models.dense import contenders
from pspin_model.flare.models.sparse_fill import Filling, filling
from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.sparse.units import WHOLE
from pspin_model.flare.traffic import core_group
from pspin_model.machine.costs import ELEMENT_UNIT, CostTable

HANDLER_CYCLES = 16
"""Dispatch, the handler's first cycle and its doorbell. [ours, from the machine's figures]"""


@dataclass(frozen=True, slots=True)
class SparseSetting:
    """One sparse reduction on one switch."""

    shape: SparseShape
    length: int
    """Elements of a message, zeros included."""
    density: float
    cores: int
    costs: CostTable
    unit_bytes: int
    """Bytes of a block's storage with its spill buffer."""
    price: ElementPrice
    buffers: int = 1
    cores_per_block: int = 8
    line_rate_gbps: float = 6_400.0
    staggered: bool = True
    summed: bool = True
    """The operator is a sum: arrays may be merged whole."""

    @property
    def blocks(self) -> int:
        return -(-self.length // self.shape.span)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """(number of blocks, indices of each): whole ones first, then the last if it is shorter."""
        whole, rest = divmod(self.length, self.shape.span)
        return [(count, span) for count, span in ((whole, self.shape.span), (1, rest)) if count and span]

    @property
    def groups(self) -> int:
        return max(1, self.cores // self.cores_per_block)


@dataclass(frozen=True, slots=True)
class SparsePrediction:
    """What the model says. Totals over all blocks, where it says pairs, bytes or packets."""

    bound: str
    """"cores", "locks" or "links"."""
    bound_by_a_hair: bool
    """Another of them is within a quarter of it."""
    cycles: float
    """Cycles from the first packet's arrival to the last result."""
    bandwidth_gbps: float
    """Rate of packets coming in, with headers."""
    dense_gbps: float
    """The messages with their zeros in that time."""
    service_cycles: float
    hold_cycles: float
    """L: for a packet, of a block's lock."""
    finish_cycles: float
    """What the last packet of a block adds: merging M storages, and sending."""
    latency_cycles: float
    """Cycles from a block's first packet to its result."""
    working_bytes: float
    pairs_in: float
    inserted: float
    merged: float
    spilled: float
    probes: float
    bytes_out: float
    extra_bytes: float
    result_density: float


def predict_sparse(setting: SparseSetting) -> SparsePrediction:
    """The model's figures for a setting.

    Three things take their time, and the longest of them is the whole's: the busiest group's cores with all packets of
    its blocks; a block's lock, which lets in as many packets at a time as there are buffers; the links.
    """
    shape, blocks, cores = setting.shape, setting.blocks, setting.cores_per_block
    fillings = [(count, filling(shape, setting.density, span)) for count, span in setting.parts]
    largest = fillings[0][1]
    packets = largest.packets
    hold, finish = hold_cycles(setting, largest), finish_cycles(setting, largest)
    alone = packet_cycles(setting) + hold + finish / packets
    dealt = np.bincount(core_group(np.arange(blocks), blocks, shape.children, setting.groups))
    bytes_in = _total(fillings, "bytes_in")
    bounds = {
        "cores": int(dealt.max()) * packets * alone / cores,
        "locks": packets * hold / setting.buffers + finish,
        "links": bytes_in * 8 / setting.line_rate_gbps + finish,
    }
    second, cycles = sorted(bounds.values())[-2:]
    bound = max(bounds, key=lambda name: bounds[name])
    gap = cycles / packets if setting.staggered else bytes_in / _total(fillings, "packets") * 8 / setting.line_rate_gbps
    contending = float(cores)
    if bound == "locks":
        # cores that wait are refilled: a lock has all of its block's part of the group, but at the beginning
        contending = max(1.0, cores * np.count_nonzero(dealt) / blocks / setting.buffers)
        service = alone + hold * (contending - 1) * (1 - contending * setting.buffers / 2 / packets)
    else:
        contending = contenders(shape.children, cores, hold, gap * setting.buffers) / setting.buffers
        service = alone + hold * max(0.0, contending - 1) / 2
    latency = min(cycles, (packets - 1) * gap + service + finish)
    return SparsePrediction(
        bound=bound,
        bound_by_a_hair=second > 0.75 * cycles,
        cycles=cycles,
        bandwidth_gbps=bytes_in * 8 / cycles,
        dense_gbps=setting.length * shape.dtype.itemsize * shape.children * 8 / cycles,
        service_cycles=service,
        hold_cycles=hold,
        finish_cycles=finish,
        latency_cycles=latency,
        working_bytes=min(setting.buffers, packets) * setting.unit_bytes * blocks * latency / cycles,
        pairs_in=_total(fillings, "pairs"),
        inserted=_total(fillings, "inserted"),
        merged=_total(fillings, "merged"),
        spilled=_total(fillings, "spilled"),
        probes=_total(fillings, "probes"),
        bytes_out=_total(fillings, "bytes_out"),
        extra_bytes=_total(fillings, "extra_bytes"),
        result_density=_total(fillings, "distinct") / setting.length,
    )


def _total(fillings: Sequence[tuple[int, Filling]], name: str) -> float:
    return float(sum(count * getattr(of, name) for count, of in fillings))


def packet_cycles(setting: SparseSetting) -> float:
    """What a packet costs outside of its block's lock: header, place, its child's bits and counts."""
    c = setting.costs
    return HANDLER_CYCLES + 21 * c.alu + 9 * c.load + 5 * c.load_use + 5 * c.branch + 2 * c.atomic + c.lock


def hold_cycles(setting: SparseSetting, of: Filling) -> float:
    """L: the mean time for which a packet's handler holds the lock."""
    c = setting.costs
    if not of.pairs:
        return float(c.lock)
    more = setting.price.more_words
    read = (2 + more) * c.load + c.load_use
    merge = c.alu + (1 + more) * (c.load + c.store) + c.load_use + setting.price.operation
    if setting.shape.storage == "array":
        find, insert, probe = 4 * c.alu + c.load + c.load_use + c.branch, 2 * c.alu + (2 + more) * c.store, 0
    else:
        find, insert = c.mul + 4 * c.alu + c.load + c.load_use + 2 * c.branch, c.alu + (2 + more) * c.store
        probe = 2 * c.alu + c.load + c.load_use + 2 * c.branch
    spill = c.load + c.load_use + 3 * c.alu + (3 + more) * c.store + c.branch
    work = of.pairs * (read + find) + of.inserted * insert + of.merged * merge + of.probes * probe + of.spilled * spill
    return c.lock + work / of.packets


def finish_cycles(setting: SparseSetting, of: Filling) -> float:
    """What the last packet of a block adds: moving the other buffers' pairs into the first, and sending all of it."""
    c, array = setting.costs, setting.shape.storage == "array"
    entries = setting.shape.entry_count
    # words of bits, or keys, each of which is looked at once
    words = entries / 32 if array else entries
    looks = words * (c.load + c.load_use + c.branch + (c.alu if array else 0))
    take = 4 * c.alu + c.branch if array else c.alu + c.store
    header = 6 * c.alu + 2 * c.load + c.load_use + 4 * c.store
    left = of.inserted + of.spilled - of.flushes * setting.shape.spill_room
    more = setting.price.more_words
    send = 44 * c.alu + looks
    send += left * (take + c.alu + (1 + more) * c.load + c.load_use + (2 + more) * c.store)
    send += (of.packets_out - of.flushes) * header
    move = (
        take
        + c.alu
        + (1 + more) * c.load
        + c.load_use
        + (hold_cycles(setting, of) - c.lock) * of.packets / max(1.0, of.pairs)
    )
    return send + (setting.buffers - 1) * _merge_cycles(setting, looks, move)


def _merge_cycles(setting: SparseSetting, looks: float, move: float) -> float:
    """Cycles of merging one buffer, with what its part of the children sent, into the first; ``move``: of a pair."""
    c, shape = setting.costs, setting.shape
    part = replace(shape, children=max(1, round(shape.children / setting.buffers)))
    held = filling(part, setting.density, setting.parts[0][1])
    if shape.storage == "array" and setting.summed and WHOLE * held.inserted > shape.entry_count:
        words = shape.entry_count / 32
        adding = setting.price.row.cycles * shape.entry_count / ELEMENT_UNIT
        return adding + words * (2 * c.load + c.store + 4 * c.alu)
    return looks + move * (held.inserted + held.spilled % shape.spill_room)
