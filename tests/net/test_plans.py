"""Synthesized plans on live ranks around a live switch: every collective, with relays, joined messages, and loss."""

import json
from pathlib import Path

import pytest

from emulator.network.schedule.files import write_schedule
from emulator.network.topology.builders import star
from hostagent.launch.aggregators import running_aggregator
from hostagent.planner.synthesis import inputs
from hostagent.planner.synthesis.inputs import Machine, Sketch, read_machine, read_sketch
from hostagent.planner.synthesis.synthesize import COLLECTIVES, in_switches, synthesize
from tests.labs.torch_jobs import run_forked

LANES, SIZE = 64, 4_000
SKETCHES = Path(inputs.__file__).parent / "sketches"


def made_plans(tmp_path):
    """On one NDv2, on two nodes of four GPUs with a relay, and in a switch."""
    ndv2 = read_machine("NDv2", None, 1, SIZE)
    matrix = [[5] * 4] * 4
    profile = {"gpus_per_node": 4, "alpha": 1, "links": matrix, "betas": matrix, "remote_alpha": 9, "remote_beta": 9}
    file = tmp_path / "T.json"
    file.write_text(json.dumps(profile))
    relay = Sketch(nodes=2, relays={0: (1,)}, symmetry=((4, 8),), pieces=2)
    two_nodes = read_machine("custom", file, 2, SIZE)
    for machine, sketch in ((ndv2, Sketch()), (two_nodes, relay)):
        for collective in COLLECTIVES:
            yield synthesize(machine, sketch, collective, SIZE, time_limit_s=1).schedule
    yield in_switches(Machine(star(8), 8, 1, tuple(range(8)), {}, SIZE), "allreduce", SIZE)


@pytest.mark.parametrize("impairments", ["", pytest.param("loss=0.02&seed=5", marks=pytest.mark.slow)])
def test_every_plan_is_right_on_live_ranks(impairments, tmp_path):
    files = []
    for number, schedule in enumerate(made_plans(tmp_path)):
        files.append(str(tmp_path / f"{number}.json"))
        write_schedule(schedule, files[-1])
    with running_aggregator(8, lanes=LANES, impairments=impairments, folder=tmp_path) as aggregator:
        output = run_forked(8, aggregator.address, "plans.py", str(LANES), *files)
    assert output.count("is_wrong=False") == len(files) == 9, output


@pytest.mark.slow
def test_plans_of_two_ndv2_with_a_relay_are_right_on_16_live_ranks(tmp_path):
    machine, sketch = read_machine("NDv2", None, 2, SIZE), Sketch(nodes=2, relays={0: (1,)}, symmetry=((8, 16),))
    files = []
    for collective in COLLECTIVES:
        files.append(str(tmp_path / f"{collective}.json"))
        write_schedule(synthesize(machine, sketch, collective, SIZE, time_limit_s=20).schedule, files[-1])
    with running_aggregator(16, lanes=LANES, folder=tmp_path) as aggregator:
        output = run_forked(16, aggregator.address, "plans.py", str(LANES), *files, patience_s=400)
    assert output.count("is_wrong=False") == len(files) == 4, output


@pytest.mark.slow
def test_plans_of_two_dgx2_are_right_on_32_live_ranks(tmp_path):
    machine = read_machine("DGX2", None, 2, SIZE)
    files = []
    for collective, sketch in (("allgather", "pairs"), ("allreduce", "pairs"), ("alltoall", "direct")):
        files.append(str(tmp_path / f"{collective}.json"))
        plan = synthesize(machine, read_sketch(SKETCHES / f"dgx2-{sketch}.json"), collective, SIZE, time_limit_s=10)
        write_schedule(plan.schedule, files[-1])
    with running_aggregator(32, lanes=LANES, folder=tmp_path) as aggregator:
        output = run_forked(32, aggregator.address, "plans.py", str(LANES), *files, patience_s=400)
    assert output.count("is_wrong=False") == len(files) == 3, output
