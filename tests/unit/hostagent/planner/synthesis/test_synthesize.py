"""Plans of whole machines beside the published figures, and by inversion; every plan is verified in `synthesize`."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.msccl import read_msccl, write_msccl
from emulator.network.schedule.parts import Reduce, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star
from emulator.network.topology.machines import Cost, mesh
from emulator.network.topology.parts import LinkClass
from hostagent.planner import synthesis
from hostagent.planner.synthesis.inputs import Machine, Sketch, read_machine, read_sketch
from hostagent.planner.synthesis.ordering import Message
from hostagent.planner.synthesis.problem import sketched_problem
from hostagent.planner.synthesis.program import Solver
from hostagent.planner.synthesis.routing import Orbits, greedy_steps, route, routing_time_ns
from hostagent.planner.synthesis.synthesize import as_schedule, in_switches, rings, synthesize

NO_NIC = Cost(0, 1, 1)
PATH = ((0, 1, 10), (1, 0, 10), (1, 2, 20), (2, 1, 20))
FOLDER = Path(synthesis.__file__).parent / "sketches"
MB = 1_000_000


def test_ndv2_allgather_is_the_proven_optimum_on_links_that_take_one_message_at_a_time(tmp_path: Path) -> None:
    """69 us: three pieces over each double link, which no routing goes below; without alpha the plan takes as long."""
    file = tmp_path / "T.json"
    file.write_text(json.dumps({"gpus_per_node": 8, "alpha": 0, "node_betas_list": [23, 46]}))
    plan = synthesize(read_machine("NDv2", file, 1, MB), Sketch(), "allgather", MB, time_limit_s=60)
    assert (plan.routing.time_ns, plan.elapsed_ns, plan.bound_ns) == (69_000, 69_000, 69_000)
    assert plan.routing.gap == pytest.approx(0, abs=1e-6)


def test_an_allreduce_is_the_allgather_backwards_and_forwards() -> None:
    machine = read_machine("NDv2", None, 1, MB)
    times = {
        collective: synthesize(machine, Sketch(), collective, MB, time_limit_s=60, coalesce=False).elapsed_ns
        for collective in ("allgather", "reduce_scatter", "allreduce")
    }
    assert times["allgather"] == times["reduce_scatter"] == 69_900
    assert times["allreduce"] <= 2 * 69_900


def test_two_ndv2_with_a_relay_cross_once_and_beat_rings() -> None:
    sketch = read_sketch(FOLDER / "ndv2-relay.json")
    machine = read_machine("NDv2", None, 2, MB)
    plan = synthesize(machine, sketch, "allgather", MB, time_limit_s=4)
    ring = rings(machine, "allgather", MB)
    assert ring is not None
    assert simulate(ring).elapsed_ns == 15 * 107_600
    assert plan.elapsed_ns <= 960_000
    assert 842_600 < plan.bound_ns <= plan.elapsed_ns
    assert plan.routing.bound_ns == pytest.approx(8 * 107_000)
    moved = dict(
        zip((link.name for link in plan.schedule.topology.links), verify(plan.schedule).link_bytes, strict=True)
    )
    assert moved["nic0.0->ib"] == moved["nic1.0->ib"] == 8 * MB


def test_small_messages_cross_together(tmp_path: Path) -> None:
    """One message of 8 KB through the NIC takes 2.6 + 8 * 0.1025 us; eight of 1 KB take 21.62."""
    sketch = read_sketch(FOLDER / "ndv2-relay.json")
    machine = read_machine("NDv2", FOLDER.parent / "profiles" / "ndv2-1kb.json", 2, 1000, 0.01)
    plan = synthesize(machine, sketch, "allgather", 1000, time_limit_s=4)
    volume = verify(plan.schedule)
    names = [link.name for link in plan.schedule.topology.links]
    assert plan.separate_ns >= 8 * 2_702
    assert plan.elapsed_ns < 8_000
    assert volume.link_messages[names.index("nic0.0->ib")] <= 2


def test_rings_of_two_dgx2_take_a_nic_each() -> None:
    ring = rings(read_machine("DGX2", None, 2, MB), "allgather", MB)
    assert ring is not None
    assert simulate(ring).elapsed_ns == pytest.approx(31 * (2_600 + 105_000 / 8), rel=1e-3)


def test_what_symmetry_makes_equal_is_routed_alike() -> None:
    """And symmetry makes nothing faster than without."""
    machine = read_machine("NDv2", None, 1, MB)
    free = route(sketched_problem(machine, Sketch(), "allgather", MB), 20, Solver())
    problem = sketched_problem(machine, Sketch(symmetry=((4, 8),)), "allgather", MB)
    routing = route(problem, 20, Solver())
    assert routing.time_ns >= free.time_ns
    assert set(routing.steps) != set(greedy_steps(problem)), "the program's, as the greedy one knows no symmetry"
    same, chosen = Orbits(problem), set(routing.steps)
    alike = [step for number, each in enumerate(problem.allowed) for step in ((number, edge) for edge in each)]
    firsts = {same.step(step) for step in chosen}
    assert all((same.step(step) in firsts) == (step in chosen) for step in alike)


def test_alltoall_has_a_path_for_each_pair() -> None:
    machine = read_machine("NDv2", None, 1, MB)
    problem = sketched_problem(machine, Sketch(), "alltoall", MB)
    plan = synthesize(machine, Sketch(), "alltoall", MB, time_limit_s=4, coalesce=False)
    assert plan.routing.time_ns <= routing_time_ns(problem, greedy_steps(problem))
    assert plan.elapsed_ns >= plan.routing.bound_ns


def test_switches_that_sum_beat_the_best_plan_of_hosts_alone() -> None:
    topology = star(4)
    machine = Machine(topology, 4, 1, (0, 1, 2, 3), {}, 1 << 20)
    plan = synthesize(machine, Sketch(), "allreduce", 1 << 20, time_limit_s=4, coalesce=False)
    summed = in_switches(machine, "allreduce", 1 << 20)
    assert summed is not None
    verify(summed)
    assert plan.bound_ns == pytest.approx(plan.elapsed_ns, rel=0.02)
    assert simulate(summed).elapsed_ns < 0.75 * plan.elapsed_ns  # n rather than 2(n - 1) pieces on each link


def carried_out(schedule: Schedule) -> dict[tuple[int, int], int]:
    """(rank, chunk) -> a number, as messages copy and add it: rank r begins with r ** 2 + 1 in each of its chunks."""
    parts = [part for part in schedule.chunks for _ in range(part.count)]
    held = {(rank, chunk): rank**2 + 1 for chunk, part in enumerate(parts) for rank in part.sources}
    for task in schedule:
        assert isinstance(task, Send | Reduce)
        for chunk in task.chunks:
            added = held[task.destination, chunk] if isinstance(task, Reduce) else 0
            held[task.destination, chunk] = held[task.source, chunk] + added
    return held


def test_an_allreduce_of_16_ranks_by_inversion_sums_all_and_survives_msccl() -> None:
    """Eight live ranks: tests/net/test_plans.py."""
    machine = read_machine("NDv2", None, 2, MB)
    sketch = read_sketch(FOLDER / "ndv2-relay.json")
    plan = synthesize(machine, sketch, "allreduce", MB, time_limit_s=2, coalesce=False)
    schedule = plan.schedule
    assert plan.bound_ns == 2_600 + 16 * 105_000  # each node's sums of all 16 chunks, through its NIC
    assert set(carried_out(schedule).values()) == {sum(rank**2 + 1 for rank in range(16))}
    again = read_msccl(write_msccl(schedule), schedule.topology, 16 * MB)
    assert verify(again).link_bytes.tolist() == verify(schedule).link_bytes.tolist()
    assert set(carried_out(again).values()) == {sum(rank**2 + 1 for rank in range(16))}


def test_no_plan_of_three_ranks_is_below_the_bound() -> None:
    """All orders of a path of three, where a link is 10 us and the other 20."""
    topology = mesh("path", 1, 3, [(a, b, LinkClass(f"{a}{b}", 8_000_000 * 100 // us)) for a, b, us in PATH], NO_NIC, 1)
    machine = Machine(topology, 3, 1, (0, 1, 2), {}, 1_000)
    problem = sketched_problem(machine, Sketch(), "allgather", 1_000)
    steps = greedy_steps(problem)
    fastest = min(
        simulate(
            as_schedule(problem, [Message((piece,), edge) for piece, edge in order], "allgather", "any")
        ).elapsed_ns
        for order in permutations(steps)
        if all(
            problem.edges[edge].source == problem.pieces[piece].source
            or any(
                problem.edges[before].destination == problem.edges[edge].source
                for other, before in order[:at]
                if other == piece
            )
            for at, (piece, edge) in enumerate(order)
        )
    )
    plan = synthesize(machine, Sketch(), "allgather", 1_000, time_limit_s=2)
    assert plan.bound_ns <= fastest == plan.separate_ns
    assert plan.elapsed_ns >= plan.bound_ns
