"""Built-in schedules on live ranks around a live switch: sums, and the bytes at its ports; and with frames lost."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_diabetes

from emulator.network.schedule.files import write_schedule
from emulator.network.schedule.generators import halving_doubling, switch_allreduce
from emulator.network.schedule.grids import line_switches, rings, torus
from emulator.network.topology.builders import leaf_spine
from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from hostagent.cli.schedule.boosted_trees import binned, boosted, explained
from hostagent.launch.aggregators import running_aggregator, running_switches
from hostagent.protocol.wire import full_frame_bytes
from tests.labs.torch_jobs import run_forked

RANKS, LANES = 4, 64


@pytest.mark.parametrize("impairments", ["", "loss=0.02&duplicate=0.02&seed=5"])
def test_every_schedule(impairments, tmp_path):
    """The ranks check that the bytes at their ports are the schedule's, what was sent again apart."""
    with running_aggregator(RANKS, lanes=LANES, impairments=impairments, folder=tmp_path) as aggregator:
        output = run_forked(RANKS, aggregator.address, "schedules.py", str(LANES))
    lines = [line for line in output.splitlines() if "is_wrong=False" in line]
    assert len(lines) == 7, output
    if impairments:
        assert not all("repeated=0)" in line for line in lines), output


def test_a_probed_order_of_ranks_is_the_same_everywhere_and_changes_no_sum(tmp_path):
    with running_aggregator(RANKS, lanes=LANES, folder=tmp_path) as aggregator:
        output = run_forked(RANKS, aggregator.address, "reordered.py")
    assert output.count("equal=True") == RANKS, output


def test_ranks_grow_the_same_boosted_trees_as_one_does_alone(tmp_path):
    algorithms = ("switch", "ring")
    with running_aggregator(RANKS, lanes=LANES, folder=tmp_path) as aggregator:
        output = run_forked(RANKS, aggregator.address, "boosted.py", *algorithms)
    rows = [line.split()[1:] for line in output.splitlines() if line.startswith("trees ")]
    assert sorted(row[0] for row in rows) == sorted(RANKS * algorithms), output
    data, target = load_diabetes(return_X_y=True)
    alone = explained(boosted(binned(data), target, lambda values: values))
    assert [float(row[1]) for row in rows] == pytest.approx([alone] * len(rows), abs=1e-4), output
    assert len({row[2] for row in rows}) == 1, output


@pytest.mark.parametrize(
    ("build", "mesh"), [(line_switches, hamming_mesh((1, 1))), (halving_doubling, hamming_mesh((2, 2), (1, 1)))]
)
def test_rows_and_columns_of_a_hamming_mesh_have_switches_of_their_own(build, mesh, tmp_path):
    """Two rows and two columns, a live switch each, for sums or messages; every rank is at two."""
    schedule = build(mesh, 8 * 4_000)
    write_schedule(schedule, tmp_path / "lines.json")
    lines = ["row0", "row1", "column0", "column1"]
    with running_switches([2] * 4, LANES) as switches:
        places = [f"{name}={switch.address}" for name, switch in zip(lines, switches, strict=True)]
        words = ("schedule_rank.py", str(tmp_path / "lines.json"), str(LANES), "1", *places)
        output = run_forked(RANKS, switches[0].address, *words)
    assert f"{schedule.name}: {len(schedule)} tasks, all sums right" in output
    assert "measured bytes: equal" in output
    rows = [line.replace(",", "").split() for line in output.splitlines() if " at " in line]
    ends = {(rank, line) for line, ranks in zip(lines, ("01", "23", "02", "13"), strict=True) for rank in ranks}
    assert {(row[0], row[2]) for row in rows} == ends
    assert all(int(row[3]) == int(row[4]) > 8 * 4_000 / 2 for row in rows), output


def run_schedule(*words):
    command = [sys.executable, "-m", "hostagent.cli.main", "schedule", "run", *words, "--lanes", str(LANES)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize(("build", "switches"), [(line_switches, ["--all-switches"]), (rings, []), (torus, [])])
def test_allreduces_of_a_hamming_mesh_on_16_live_ranks(build, switches, tmp_path):
    """Two by two boards of two by two; a live switch for each of four rows and four columns, or one that forwards."""
    write_schedule(build(hamming_mesh((2, 2)), 64 * 1024), tmp_path / "mesh.json")
    run = run_schedule(str(tmp_path / "mesh.json"), *switches)
    assert ("8 switches start, then 16 ranks" if switches else "16 ranks and a switch start") in run.stderr
    assert "all sums right" in run.stdout, run
    assert "measured bytes: equal" in run.stdout, run


def test_a_tree_of_switches_sums_what_one_tree_of_the_schedule_does(tmp_path):
    write_schedule(switch_allreduce(leaf_spine(2, 2, 1), 40_000), tmp_path / "tree.json")
    run = run_schedule(str(tmp_path / "tree.json"), "--all-switches")
    assert "a tree of switches starts (2x2), then 4 ranks" in run.stderr
    assert "switch-4: 1 task, all sums right" in run.stdout, run
    assert "measured bytes: equal" in run.stdout
    rows = [line.replace(",", "").split()[-4:] for line in run.stdout.splitlines() if " to root " in line]
    frames = -(-40_000 // (4 * LANES))
    assert "sent again" in run.stdout or rows == [[str(frames * full_frame_bytes(LANES))] * 4] * 2, run.stdout
