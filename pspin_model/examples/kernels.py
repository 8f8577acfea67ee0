"""Handlers that go over the payload: aggregate, reduce, histogram, in both forms of their inner loops, and their
instructions by class: what gcc makes of them for rv32imac, and with hardware loops.

The counts of each handler's parts add up to the instructions that the public RTL retires for it
(`handler_instructions`), and at the `rtl` table's cycles to the cycles it takes undisturbed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pspin_model.handlers import (
    Handler,
    atomic_add,
    atomic_add_elements,
    charge,
    cluster,
    clusters,
    handler,
    helper,
    memory,
    packet,
    packet_bytes,
    scratchpad,
    write_to_host,
    yield_core,
)

HISTOGRAM_SIZE = 1024
CLUSTERS = 4


class Loop(NamedTuple):
    """Per word of payload: instructions of each class."""

    load: int
    load_use: int
    alu: int
    atomic: int
    branch: int


class Kernel(NamedTuple):
    """A loop over the payload and the instructions around it: loads from L1, own registers, arithmetic, jumps, .."""

    loop: Loop
    load: int
    load_use: int
    register: int
    alu: int
    atomic: int
    jump: int
    code_bytes: int
    store: int = 0
    mul: int = 0
    branch_taken: int = 0
    branch: int = 0


HEADER_BYTES = 28
"""IP and UDP headers before the payload."""

AGGREGATE = Kernel(Loop(1, 0, 2, 0, 1), 4, 1, 3, 15, 1, 2, 72)
REDUCE = Kernel(Loop(1, 1, 2, 1, 1), 3, 0, 4, 14, 0, 1, 80)
HISTOGRAM = Kernel(Loop(1, 0, 3, 1, 1), 4, 0, 4, 19, 0, 1, 96)
AGGREGATE_XP = Kernel(Loop(1, 1, 1, 0, 0), 4, 1, 3, 12, 1, 1, 80)
REDUCE_XP = Kernel(Loop(1, 1, 1, 1, 0), 3, 0, 4, 13, 0, 1, 80)
HISTOGRAM_XP = Kernel(Loop(1, 1, 2, 1, 0), 4, 0, 4, 17, 0, 1, 96)


@helper
def payload(h: int) -> Any:
    """The packet's words behind its headers."""
    words = (packet_bytes(h) - HEADER_BYTES) // 4
    return packet(h, np.int32)[HEADER_BYTES // 4 : HEADER_BYTES // 4 + words]


@helper
def charge_kernel(h: int, k: Kernel, turns: int) -> None:
    """A kernel's instructions for that number of iterations of its loop."""
    loop = k.loop
    charge(
        h,
        alu=k.alu + turns * loop.alu,
        load=k.load + turns * loop.load,
        load_use=k.load_use + turns * loop.load_use,
        register=k.register,
        atomic=k.atomic + turns * loop.atomic,
        jump=k.jump,
        store=k.store,
        mul=k.mul,
        branch_taken=k.branch_taken + loop.branch * (turns - 1),
        branch=k.branch + loop.branch,
    )


def aggregate(kernel: Kernel) -> Handler:
    """Payload handler: the sum of the packet's words, added to the cluster's sum at once."""

    @handler(code_bytes=kernel.code_bytes)
    def aggregate_global_ph(h: int) -> None:
        words = payload(h)
        total = np.int32(0)
        for word in words:
            total += word
        charge_kernel(h, kernel, words.size)
        yield_core(h)
        sums = scratchpad(h, cluster(h), np.int32)
        sums[0] += total

    return aggregate_global_ph


def reduce(kernel: Kernel) -> Handler:
    """Payload handler: each word added to the cluster's vector by its own atomic."""

    @handler(code_bytes=kernel.code_bytes)
    def reduce_l1_ph(h: int) -> None:
        words = payload(h)
        charge_kernel(h, kernel, words.size)
        atomic_add_elements(h, scratchpad(h, cluster(h), np.int32), words)

    return reduce_l1_ph


def histogram(kernel: Kernel) -> Handler:
    """Payload handler: an atomic increment at the place that each word but the last names."""

    @handler(code_bytes=kernel.code_bytes)
    def histogram_l1_ph(h: int) -> None:
        words = payload(h)
        charge_kernel(h, kernel, words.size - 1)
        yield_core(h)
        counts = scratchpad(h, cluster(h), np.int32)
        for word in words[: words.size - 1]:
            counts[word] += 1

    return histogram_l1_ph


def aggregate_completion(code_bytes: int) -> Handler:
    """Completion handler: the clusters' sums, added and written to the host."""

    @handler(code_bytes=code_bytes)
    def aggregate_global_th(h: int) -> None:
        total = 0
        for number in range(clusters(h)):
            total += scratchpad(h, number, np.int32)[0]
        charge(h, load=CLUSTERS, register=3, alu=7)
        write_to_host(h, 0, total)
        charge(h, alu=3, jump=1)

    return aggregate_global_th


@handler(code_bytes=48)
def reduce_l1_th(h: int) -> None:
    """Completion handler: notify the host that the result can be read."""
    charge(h, register=2, alu=6)
    write_to_host(h, 0, 1)
    charge(h, alu=3, jump=1)


@handler(code_bytes=48)
def histogram_l1_th(h: int) -> None:
    """Completion handler: notify the host that the result can be read."""
    charge(h, register=2, alu=6)
    write_to_host(h, 0, 1)
    charge(h, alu=3, jump=1)


def aggregate_stock_completion() -> Handler:
    """Completion handler of the stock aggregate: it calls what is not there, and is ended by memory protection."""

    @handler(code_bytes=64)
    def aggregate_global_th(h: int) -> None:
        charge(h, load=CLUSTERS, register=3, alu=7)
        write_to_host(h, 0, 0)
        charge(h, alu=16, atomic=1)
        atomic_add(h, memory(h, 0, 1, np.int32), 0, 1)

    return aggregate_global_th


aggregate_th, aggregate_xp_th = aggregate_completion(80), aggregate_completion(48)
aggregate_orig_th = aggregate_stock_completion()
aggregate_ph, aggregate_xp_ph = aggregate(AGGREGATE), aggregate(AGGREGATE_XP)
reduce_ph, reduce_xp_ph = reduce(REDUCE), reduce(REDUCE_XP)
histogram_ph, histogram_xp_ph = histogram(HISTOGRAM), histogram(HISTOGRAM_XP)
