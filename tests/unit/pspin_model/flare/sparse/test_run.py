"""The sparse handler on the machine: equal to the switch without time, and to dense scatter-add."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pspin_model.flare.config import FlareConfig, Reduction, flare_machine
from pspin_model.flare.elements import operator
from pspin_model.flare.reduction_run import join_runs
from pspin_model.flare.sparse.reference import SparseNode
from pspin_model.flare.sparse.run import SparseRun
from pspin_model.flare.sparse.wire import IP_UDP_BYTES, Fragment, decode, encode
from pspin_model.flare.study.simulate import Report, simulate
from pspin_model.machine.costs import FLARE_COSTS
from pspin_model.machine.machine import Machine, Run

MACHINE = flare_machine(clusters=2)
BASE = Reduction(16 << 10, children=6, dtype="int32", density=0.05)


def play(reduction: Reduction, repeat: bool = False) -> tuple[SparseRun, Run]:
    machine = Machine(MACHINE, FLARE_COSTS)
    made = SparseRun(machine, reduction.chosen(MACHINE))
    packets = made.packets()
    machine.inject(made.context, **packets)
    if repeat:
        machine.inject(made.context, **packets)
    return made, machine.run()


def without_time(made: SparseRun) -> tuple[SparseNode, list[list[Fragment]]]:
    """What `SparseNode` makes of the same packets in the order in which they came."""
    node = SparseNode(replace(made.shape, slots=made.blocks), operator(made.reduction.operator))
    up: list[list[Fragment]] = [[] for _ in range(made.blocks)]
    for packet in made.traffic.data:
        _, fragment = decode(packet[IP_UDP_BYTES:], made.shape.dtype)
        up[fragment.block] += node.take(fragment).up
    return node, up


def report(reduction: Reduction) -> Report:
    return simulate(FlareConfig(MACHINE, FLARE_COSTS, (reduction,)))


@pytest.mark.parametrize(
    "options",
    [
        {"storage": "array"},
        {"storage": "hash"},
        {"storage": "hash", "density": 0.3, "entries": 32, "probe": False, "spill_pairs": 20},
        {"storage": "hash", "dtype": "int8", "operator": "max"},
        {"storage": "array", "dtype": "float16", "density": 0.5},
    ],
)
def test_fragments_are_byte_for_byte_those_of_the_switch_without_time(options: dict[str, object]) -> None:
    # one core a block: its packets are worked on in the order in which they come
    made, run = play(replace(BASE, cores_per_block=1, **options))  # type: ignore[arg-type]
    node, expected = without_time(made)
    sent, at = made.sent(run)
    assert run.faults == []
    assert (at > 0).all()
    assert [[encode(f, 0) for f in block] for block in sent] == [[encode(f, 0) for f in block] for block in expected]
    figures, totals = made.figures(run), node.totals
    for name in ("inserted", "merged", "probes", "spilled", "flushes", "bytes_in", "bytes_out", "extra_bytes"):
        assert getattr(figures, name) == getattr(totals, name), name


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("storage", ["array", "hash"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float16", "float32"])
def test_timed_sparse_equals_dense_scatter_add(density: float, storage: str, dtype: str) -> None:
    found = report(replace(BASE, density=density, storage=storage, dtype=dtype, arrivals="exponential"))
    (outcome,) = found.outcomes
    assert outcome.exact
    assert found.faults == []
    assert outcome.sparse is not None
    assert outcome.sparse.pairs_in == outcome.sparse.inserted + outcome.sparse.merged + outcome.sparse.spilled
    if storage == "array":
        assert outcome.sparse.spilled == outcome.sparse.extra_bytes == 0


def test_repeated_fragments_cost_time_and_change_nothing() -> None:
    _, run_once = play(BASE)
    twice, run_twice = play(BASE, repeat=True)
    assert twice.repeats == len(twice.traffic.data)
    assert twice.is_right(twice.results(run_twice)[0])
    assert len(run_twice.sent["cycle"]) == len(run_once.sent["cycle"])


def test_a_lost_fragment_keeps_its_block_open_until_retransmission() -> None:
    machine = Machine(MACHINE, FLARE_COSTS)
    made = SparseRun(machine, replace(BASE, density=0.3).chosen(MACHINE))
    lost, child = int(made.traffic.block[0]), int(made.traffic.source[0])
    packets = made.packets()
    machine.inject(made.context, **{name: value[1:] for name, value in packets.items()})
    first = machine.run()
    _, at = made.results(first)
    assert np.flatnonzero(at < 0).tolist() == [lost]
    again = np.flatnonzero((made.traffic.block == lost) & (made.traffic.source == child))
    repeat: dict[str, Any] = {name: [value[place] for place in again] for name, value in packets.items()}
    repeat["at"] = machine.now
    machine.inject(made.context, **repeat)
    rows, at = made.results(join_runs([first, machine.run()]))
    assert (at > 0).all()
    assert made.is_right(rows)
    assert made.repeats == len(again) - 1


@pytest.mark.parametrize(
    ("storage", "density", "which"),
    [("array", 0.02, "sum"), ("array", 0.2, "sum"), ("array", 0.2, "min"), ("hash", 0.02, "sum")],
)
def test_several_buffers_of_a_block_give_the_same_sum_and_of_a_hash_sooner(
    storage: str, density: float, which: str
) -> None:
    # few wide blocks: their locks are the bottleneck. Of sparse arrays the merge takes as long as the waiting; those
    # that are a fifth full are summed whole
    alone = replace(BASE, message_bytes=32 << 10, children=16, density=density, storage=storage, operator=which)
    several = replace(alone, algorithm="multi", buffers=4)
    one, other = (report(each) for each in (alone, several))
    assert one.outcomes[0].exact
    assert other.outcomes[0].exact
    assert other.faults == []
    if storage == "hash":
        assert other.outcomes[0].bandwidth_gbps > 1.2 * one.outcomes[0].bandwidth_gbps
    assert other.outcomes[0].working_peak_bytes > one.outcomes[0].working_peak_bytes


def test_bytes_that_are_no_fragment_end_their_handler_alone() -> None:
    machine = Machine(MACHINE, FLARE_COSTS)
    made = SparseRun(machine, BASE.chosen(MACHINE))
    packets = made.packets()
    machine.inject(made.context, **{**{name: value[:1] for name, value in packets.items()}, "data": [bytes(50)]})
    machine.inject(made.context, **packets)
    run = machine.run()
    assert [fault.handler for fault in run.faults] == ["reduction.add_sparse"]
    assert made.is_right(made.results(run)[0])


def test_a_hash_needs_less_memory_than_an_array_where_blocks_are_wide() -> None:
    array, hashed = (report(replace(BASE, density=0.01, storage=name)).outcomes[0] for name in ("array", "hash"))
    assert hashed.working_peak_bytes < array.working_peak_bytes
    assert array.sparse is not None
    assert array.sparse.spilled == 0


def test_what_the_array_has_no_room_for_is_refused() -> None:
    wide = replace(BASE, message_bytes=8 << 20, density=0.001, storage="array")
    assert "sparse array" in report(wide).outcomes[0].refused
