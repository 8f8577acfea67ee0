"""Flare's cost model: closed formulas for rate, contention, memory and latency of a dense reduction.

Symbols, with the names used here:

    K   cores                     cores that aggregate
    P   children                  packets of one block
    Z   message_bytes             what one child contributes
    N   packet_bytes              payload of one packet, a block's size
    d   interval_cycles           mean time between two packets at the switch
    dc  block_interval_cycles     mean time between two packets of the same block
    L   add_cycles                to add a packet where nobody is in the way
    t   service_cycles            mean time a core spends on a packet, waiting for the block's buffers included
    S   cores_per_block           cores on which a block's packets may run (hierarchical first-come scheduling)
    M   buffers                   buffers of a block
    C   contenders                packets that want a block's buffers at once

Cycles are floats here, because means are; the machine counts whole ones. Bytes are payload bytes. One cycle is one
nanosecond at the design's 1 GHz, so that bits a cycle are Gbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pspin_model.machine.config import ConfigError

LINE_RATE_GBPS = 6_400.0
"""64 ports of 100 Gbit/s: the switch that Flare models."""


class Algorithm(StrEnum):
    """How a block's packets are brought together."""

    SINGLE = "single"
    """One buffer a block, one packet at a time."""
    MULTI = "multi"
    """M buffers a block; a packet takes a free one; the last merges them."""
    TREE = "tree"
    """Pairs in a fixed order; nobody waits, and floats come out the same in every run."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One reduction on one switch."""

    cores: int
    children: int
    message_bytes: int
    add_cycles: float
    """Cycles to add a whole packet: 1,024 for 256 float32 at 4 cycles each."""
    packet_bytes: int = 1024
    algorithm: Algorithm = Algorithm.SINGLE
    buffers: int = 1
    """Buffers of a block; counts for MULTI only."""
    cores_per_block: int = 8
    line_rate_gbps: float = LINE_RATE_GBPS
    """Rate of all children together."""
    staggered: bool = True

    def __post_init__(self) -> None:
        for name in ("cores", "children", "message_bytes", "add_cycles", "packet_bytes", "buffers", "cores_per_block",
                     "line_rate_gbps"):  # fmt: skip
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} = {getattr(self, name)}: must be above 0")

    @property
    def blocks(self) -> int:
        return -(-self.message_bytes // self.packet_bytes)

    @property
    def interval_cycles(self) -> float:
        """d, as the links allow it."""
        return self.packet_bytes * 8 / self.line_rate_gbps


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says about a setting."""

    service_cycles: float
    packets_per_cycle: float
    bandwidth_gbps: float
    """Rate of payload coming in."""
    contenders: float
    block_interval_cycles: float
    latency_cycles: float
    """Cycles from a block's first packet to its result."""
    working_bytes: float
    input_bytes: float
    """Packets being worked on; where the links bring more than the cores do, input memory fills up, too."""


def packet_rate(cores: int, service_cycles: float, interval_cycles: float) -> float:
    """B = min(K/t, 1/d), packets a cycle."""
    return min(cores / service_cycles, 1 / interval_cycles)


def contenders(children: int, cores_per_block: int, add_cycles: float, block_interval_cycles: float) -> float:
    """C = min(P, L/dc + 1), and no more than the S cores that a block may use.

    From dc = L on a packet is done before the next of its block comes (hosts send at a steady pace): 1.
    """
    if block_interval_cycles >= add_cycles:
        return 1.0
    return min(float(children), float(cores_per_block), add_cycles / block_interval_cycles + 1)


def waiting_service(add_cycles: float, contending: float) -> float:
    """t = L (1 + (C-1)/2): on average half of the others go first."""
    return add_cycles * (1 + (contending - 1) / 2)


def block_interval(interval_cycles: float, blocks: int, children: int, staggered: bool) -> float:
    """dc: d where all children send the same block at the same time; staggered (child i starts i/P of the way through
    the message) up to d Z/N, the time in which all children together send a packet of every block."""
    return interval_cycles * max(1.0, float(blocks)) if staggered and children > 1 else interval_cycles


def input_packets(rate: float, service_cycles: float, queueing_cycles: float = 0.0) -> float:
    """Q = B (t + queueing), Little's law."""
    return rate * (service_cycles + queueing_cycles)


def working_memory(rate: float, children: int, lifetime_cycles: float, buffer_bytes: float, buffers: float) -> float:
    """R: blocks alive at once (a block starts every P/B cycles) times what each holds."""
    return buffers * buffer_bytes * lifetime_cycles * rate / children


def mean_tree_buffers(children: int) -> float:
    """Buffers that a block of a tree holds on average while its children come one after the other from any one on, as
    staggered ones do: the subtrees that make up such a run, half of log2 P at each of its two ends."""
    return float(max(1, (children - 1).bit_length()))


def crossovers(cores: int, packet_bytes: int, buffers: int) -> tuple[int, int]:
    """Message sizes from which M buffers, and one buffer, have no contention when the cores are the bottleneck.

    Then d = L/K, hence dc = (L/K)(Z/N) >= L/M from Z = K N/M on, whatever L is. With 512 cores, 1 KiB packets and
    4 buffers: 128 KiB and 512 KiB, which are the paper's.
    """
    return cores * packet_bytes // buffers, cores * packet_bytes


def choose_algorithm(
    message_bytes: int, *, reproducible: bool, cores: int = 512, packet_bytes: int = 1024, buffers: int = 4
) -> Algorithm:
    """The cheapest in memory that does not wait: tree for small messages, then M buffers, then one; a tree always where
    floats must come out the same in every run."""
    multi_from, single_from = crossovers(cores, packet_bytes, buffers)
    if reproducible or message_bytes < multi_from:
        return Algorithm.TREE
    return Algorithm.MULTI if message_bytes < single_from else Algorithm.SINGLE


def ceiling_gbps(cores: int, packet_bytes: int, add_cycles: float, line_rate_gbps: float = LINE_RATE_GBPS) -> float:
    """What K cores do when they only add: 512 cores, 1 KiB in 1,024 cycles: 4,096 Gbit/s."""
    return min(cores * packet_bytes * 8 / add_cycles, line_rate_gbps)


def host_bytes(message_bytes: int, hosts: int) -> dict[str, float]:
    """Bytes that a host sends for an allreduce, in the network and on a ring."""
    return {"in_network": float(message_bytes), "ring": 2 * (hosts - 1) / hosts * message_bytes}


def predict(setting: Setting) -> Prediction:
    """All of the above for one setting.

    The children are held back to the rate of the cores (back pressure), so d is never below t/K; t depends on d through
    the contention. The fixed point is reached from above: first without contention, then with what that gives.
    """
    interval = setting.interval_cycles
    service = _service(setting, 1.0)
    contending, block_gap = 1.0, interval
    for _ in range(50):
        paced = max(interval, service / setting.cores)
        block_gap = block_interval(paced, setting.blocks, setting.children, setting.staggered)
        contending = _contending(setting, block_gap)
        after = _service(setting, contending)
        if abs(after - service) < 1e-9:
            break
        service = (service + after) / 2
    rate = packet_rate(setting.cores, service, interval)
    lifetime = (setting.children - 1) * block_gap + service + _merge_cycles(setting)
    return Prediction(
        service_cycles=service,
        packets_per_cycle=rate,
        bandwidth_gbps=rate * setting.packet_bytes * 8,
        contenders=contending,
        block_interval_cycles=block_gap,
        latency_cycles=lifetime,
        working_bytes=working_memory(rate, setting.children, lifetime, setting.packet_bytes, _held(setting)),
        input_bytes=input_packets(rate, service) * setting.packet_bytes,
    )


def _contending(setting: Setting, block_gap: float) -> float:
    if setting.algorithm is Algorithm.TREE:
        return 1.0
    share = setting.buffers if setting.algorithm is Algorithm.MULTI else 1
    if block_gap >= setting.add_cycles / share:
        return 1.0
    found = contenders(setting.children, setting.cores_per_block, setting.add_cycles, block_gap)
    return max(1.0, found / share)


def _service(setting: Setting, contending: float) -> float:
    """Mean over a block's packets: additions with their waits (a first packet, copied, counts as one, as in the paper),
    and what merging adds to the last."""
    waited = waiting_service(setting.add_cycles, contending) - setting.add_cycles
    merged = _merge_cycles(setting) if setting.algorithm is Algorithm.MULTI else 0.0
    return (setting.children * setting.add_cycles + merged) / setting.children + waited


def _merge_cycles(setting: Setting) -> float:
    """What the last packet adds: M-1 buffers; on a tree the way from a leaf to the root."""
    if setting.algorithm is Algorithm.MULTI:
        return (min(setting.buffers, setting.children) - 1) * setting.add_cycles
    if setting.algorithm is Algorithm.TREE:
        return max(0, (setting.children - 1).bit_length() - 1) * setting.add_cycles
    return 0.0


def _held(setting: Setting) -> float:
    if setting.algorithm is Algorithm.MULTI:
        return float(min(setting.buffers, setting.children))
    return mean_tree_buffers(setting.children) if setting.algorithm is Algorithm.TREE else 1.0
