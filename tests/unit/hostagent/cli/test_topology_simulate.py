"""netsum topology simulate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.network.topology.builders import fat_tree, star, tree
from emulator.network.topology.files import write_topology
from hostagent.protocol.wire import full_frame_bytes
from tests.clients.command import netsum

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop


@pytest.fixture(name="network")
def network_fixture(tmp_path: Path) -> Path:
    write_topology(tree((2, 2)), tmp_path / "net.yaml")
    return tmp_path / "net.yaml"


def test_json_has_every_call_and_link(network: Path) -> None:
    result = netsum("topology", "simulate", network, "--size", "64kB", "--lanes", 64, "--calls", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["hosts"], found["switches"], found["root"], found["size_bytes"]) == (4, 3, "root", 64_000)
    chunks = sum(call["chunks"] for call in found["calls"])
    assert len(found["links"]) == 12
    assert {each["bytes"] for each in found["links"].values()} == {chunks * full_frame_bytes(64)}


def test_the_table_says_what_happened(network: Path) -> None:
    result = netsum("topology", "simulate", network, "--size", "64kB", "--lanes", 64, "--loss", "0.01")
    assert result.exit_code == 0, result.output
    assert "4 hosts, a tree of 3 switches below root" in result.stdout
    assert "h0->s0" in result.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--window", 100), "--window: 100 is no power of two"),
        (("--lanes", 100), "--lanes: 100: choose one of 64, 256"),
        (("--loss", 1), "--loss: 1 is not below 1"),
        (("--hosts", 5), "--hosts: 5: tree-2x2 has 4 hosts"),
        (("--size", "3"), "--size: '3': a tensor has at least 4 bytes"),
        (("--root", "h1"), "h1 is a host"),
        (("--lanes", 2048), "use fewer lanes, or links with a larger MTU"),
    ],
)
def test_mistakes(network: Path, options: tuple[object, ...], text: str) -> None:
    result = netsum("topology", "simulate", network, *options)
    assert result.exit_code == 2
    assert text in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_hosts_are_the_first_ones(tmp_path: Path) -> None:
    write_topology(star(5), tmp_path / "net.yaml")
    result = netsum(
        "topology", "simulate", tmp_path / "net.yaml", "--hosts", 2, "--size", "4kB", "--lanes", 64, "--json"
    )
    assert set(json.loads(result.stdout)["links"]) == {"h0->s0", "s0->h0", "h1->s0", "s0->h1"}


def test_more_hosts_than_a_job_has_ranks(tmp_path: Path) -> None:
    write_topology(fat_tree(16), tmp_path / "net.yaml")
    result = netsum("topology", "simulate", tmp_path / "net.yaml")
    assert result.exit_code == 2
    assert "--hosts: 1024 hosts: a job has at most 1023 ranks" in " ".join(result.output.split())
