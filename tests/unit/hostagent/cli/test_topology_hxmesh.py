"""netsum topology cost, bandwidth and allocate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.network.topology.files import read_topology
from emulator.network.topology.hxmesh.hammingmesh import hamming_mesh
from tests.clients.command import netsum


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    path = tmp_path / "hx.yaml"
    assert netsum("topology", "build", "hxmesh", "2x2", "--board", "2x2", "-o", path).exit_code == 0
    assert read_topology(path) == hamming_mesh((2, 2), (2, 2))
    return path


def test_cost_has_a_row_for_each_network() -> None:
    lines = [line.split() for line in netsum("topology", "cost").stdout.splitlines()]
    assert len(lines) == 17
    assert lines[6] == ["Hx2Mesh", "16x16", "1,024", "4", "32", "1,024", "1,024", "5,411,840", "5.4", "4"]
    rows = json.loads(netsum("topology", "cost", "--json").stdout)
    assert [row["dollars"] for row in rows][5:8] == [5_411_840, 2_705_920, 2_469_888]


def test_bandwidth_of_patterns(mesh: Path, tmp_path: Path) -> None:
    result = netsum("topology", "bandwidth", mesh, "--pattern", "alltoall")
    assert result.stdout.startswith("alltoall: 18.75 Gbit/s of each host; mean 46.9%, least 46.9% of what")
    words = ("topology", "bandwidth", mesh, "--pattern", "permutation", "--seed", 2, "--json")
    assert json.loads(netsum(*words).stdout)["least_share"] > 0
    picture = tmp_path / "times.png"
    more = ("topology", "bandwidth", mesh, "--pattern", "allreduce", "--size", "64KiB", "--plot", picture, "--json")
    rows = json.loads(netsum(*more).stdout)
    assert [row["algorithm"] for row in rows] == ["grid-rings", "grid-torus", "line-switches"]
    assert picture.stat().st_size > 5_000


def one_job(folder: Path) -> Path:
    jobs = folder / "one.csv"
    jobs.write_text("name,rows,columns\na,3,3\n")
    return jobs


def test_a_mesh_has_its_boards_by_either_name(tmp_path: Path) -> None:
    outputs = [
        netsum("topology", "build", "hxmesh", *words, "--board", "1x2").stdout for words in (["3x2"], ["--grid", "3x2"])
    ]
    assert outputs[0] == outputs[1] != ""


def test_allocate_places_jobs_beside_failed_boards(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("name,rows,columns\na,3,3\nb,2,4\nc,1,1\n")
    result = netsum("topology", "allocate", "6x6", "--jobs", jobs, "--fail", 3)
    assert result.exit_code == 0
    found = json.loads(netsum("topology", "allocate", "6x6", "--jobs", jobs, "--fail", 3, "--json").stdout)
    failed = ", ".join(f"{row},{column}" for row, column in found["failed"])
    assert result.stdout.endswith(f"(54.5%); 0 jobs wait; failed (row, column): {failed}\n")
    assert "9 of 256" in netsum("topology", "allocate", "--jobs", one_job(tmp_path)).stdout
    found = json.loads(netsum("topology", "allocate", "2x2", "--jobs", jobs, "--json").stdout)
    assert (found["waiting"], found["utilization"]) == (["a", "b"], 0.25)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("build hxmesh 2x2 --board 2", "--board: '2' is not ROWSxCOLUMNS, such as 4x4"),
        ("build torus 2x2 --board 2x2", "build: --board: does not apply to torus."),
        ("build hxmesh 2x2 --grid 2x2", "--grid: is the SIZE of an hxmesh; here is hxmesh 2x2."),
        ("build star", "SIZE: missing; of star: HOSTS."),
        ("bandwidth NET --pattern incast", "--pattern: 'incast': choose one of alltoall, allreduce, permutation."),
        ("bandwidth NET --pattern alltoall --size 1MB", "--size: applies to --pattern allreduce."),
        ("bandwidth NET --pattern allreduce --seed 1", "--seed: applies to --pattern permutation."),
        ("bandwidth NET --pattern allreduce --size 1", "no allreduce for grids: grid-rings: 1 bytes are too few"),
        ("bandwidth NET --pattern allreduce --plot x.foo", "x.foo: a picture's name ends in .png, .svg or .pdf"),
        ("allocate 4", "'4' is not ROWSxCOLUMNS"),
        ("allocate 4x4 --fail 17", "fail: 17 failed boards; a grid of 4x4 has 16"),
        ("allocate 4x4 --jobs nowhere.csv", "nowhere.csv: No such file or directory"),
    ],
)
def test_mistakes(words: str, text: str, mesh: Path) -> None:
    result = netsum("topology", *(mesh if word == "NET" else word for word in words.split()))
    assert result.exit_code == 2
    assert text in result.output
