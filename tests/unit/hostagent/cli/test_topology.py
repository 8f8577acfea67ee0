"""netsum topology build, show and draw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.network.topology.builders import BUILDERS, fat_tree, leaf_spine
from emulator.network.topology.files import parse_topology, read_topology, topology_yaml
from emulator.network.topology.parts import LinkClass
from tests.clients.command import netsum


def test_build_prints_yaml() -> None:
    result = netsum("topology", "build", "fat-tree", 4)
    assert (result.exit_code, result.stdout) == (0, topology_yaml(fat_tree(4)))


def test_build_takes_the_properties_of_links(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    words = "--spines 2 --rate 25Gbit --switch-rate 100Gbit --latency 2us --alpha 3us --queue 1MiB --mtu 9000"
    result = netsum("topology", "build", "leaf-spine", "2x4", *words.split(), "-o", path)
    assert (result.exit_code, result.output) == (0, "")
    host = LinkClass("host", 25 * 10**9, 2_000, 3_000, 1 << 20, 9_000)
    switch = LinkClass("switch", 100 * 10**9, 2_000, 3_000, 1 << 20, 9_000)
    assert read_topology(path) == leaf_spine(2, 4, 2, host_link=host, switch_link=switch)


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_kind_is_built_shown_and_drawn(kind: str, tmp_path: Path) -> None:
    options = ("--spines", 2) if kind == "leaf-spine" else ()
    size = "x".join("4" for _ in BUILDERS[kind].shape.split("x"))
    assert netsum("topology", "build", kind, size, *options, "-o", tmp_path / "net.yaml").exit_code == 0
    shown = netsum("topology", "show", tmp_path / "net.yaml")
    assert shown.stdout.startswith(kind)
    assert netsum("topology", "draw", tmp_path / "net.yaml", "-o", tmp_path / "net.png").exit_code == 0
    assert (tmp_path / "net.png").stat().st_size > 5_000


def test_show_has_a_table_of_nodes_and_links(tmp_path: Path) -> None:
    netsum("topology", "build", "tree", "2x4", "--switch-rate", "40Gbit", "-o", tmp_path / "net.yaml")
    lines = [line.split() for line in netsum("topology", "show", tmp_path / "net.yaml").stdout.splitlines()]
    assert lines == [
        ["tree-2x4"],
        ["nodes"],
        ["host", "8"],
        ["nic", "0"],
        ["switch", "3"],
        ["links", "of", "class", "rate", "latency", "alpha", "queue", "mtu"],
        ["switch", "4", "40Gbit", "1us", "0ns", "256KiB", "1500B"],
        ["host", "16", "10Gbit", "1us", "0ns", "256KiB", "1500B"],
        ["diameter", "4", "links,", "bisection", "40Gbit/s"],
    ]


def test_show_as_json(tmp_path: Path) -> None:
    netsum("topology", "build", "torus", "4x4", "-o", tmp_path / "net.yaml")
    found = json.loads(netsum("topology", "show", tmp_path / "net.yaml", "--json").stdout)
    assert found["nodes"] == {"host": 16, "nic": 0, "switch": 0}
    assert found["classes"]["host"]["links"] == 64
    assert (found["diameter"], found["bisection_bps"], found["planes"]) == (4, 80_000_000_000, 1)
    assert found["groups"]["column3"] == 4


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "build hypercube 3",
            "build: KIND: 'hypercube': choose one of star, tree, leaf-spine, fat-tree, torus, ring, hxmesh.",
        ),
        ("build torus 4", "build: SIZE: '4' is not ROWSxCOLUMNS, such as 4x4."),
        ("build star 4x4", "build: SIZE: '4x4' is not HOSTS, such as 4."),
        ("build star four", "build: SIZE: 'four' is not HOSTS"),
        ("build leaf-spine 4x4", "build: --spines: missing; leaf-spine needs it."),
        ("build star 4 --spines 2", "build: --spines: does not apply to star."),
        ("build torus 4x4 --switch-rate 1Gbit", "build: --switch-rate: does not apply to torus."),
        (
            "build star 4 --rate 10Gb",
            "build: --rate: '10Gb' is not a number with one of the units bit, kbit, Mbit, Gbit.",
        ),
        ("build tree 2x2 --switch-rate fast", "build: --switch-rate: 'fast' is not a number with one of the units"),
        ("build star 4 --rate 0Gbit", "build: classes.host.rate_bps: 0: a rate is positive"),
        ("build star 4 --mtu 20", "build: classes.host.mtu_bytes: 20: an MTU is 68 to 65,535 bytes"),
        ("build fat-tree 5", "build: fat-tree: a radix of 5; it is even"),
        ("build star 4 -o net.txt", "build: -o/--output: net.txt: a topology's name ends in .yaml, .yml, .json."),
        ("build star 4 -o /nowhere/net.yaml", "build: -o/--output: /nowhere/net.yaml: No such file or directory."),
        ("show /nowhere/net.yaml", "show: /nowhere/net.yaml: No such file or directory"),
        ("draw /nowhere/net.yaml -o net.png", "draw: /nowhere/net.yaml: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(words: str, text: str) -> None:
    result = netsum("topology", *words.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"netsum topology {text}" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_wrong_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(topology_yaml(fat_tree(4)).replace("destination: core3", "destination: core9", 1))
    line = path.read_text()[: path.read_text().index("core9")].count("\n") + 1
    result = netsum("topology", "show", path)
    assert result.exit_code == 2
    expected = "there is no node 'core9' (did you mean 'core"
    assert result.stderr.startswith(f"netsum topology show: {path}:{line}: links[")
    assert expected in result.stderr


def test_a_picture_in_a_folder_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(netsum("topology", "build", "star", 2).stdout)
    assert parse_topology(path.read_text()).name == "star-2"
    result = netsum("topology", "draw", path, "-o", tmp_path / "none" / "net.png")
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr
