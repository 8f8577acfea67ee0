from __future__ import annotations

import re
from pathlib import Path

import pytest

from emulator.network.topology.builders import leaf_spine, star, torus
from emulator.network.topology.draw import COLORS, MAX_NODES, draw
from emulator.network.topology.parts import LinkClass, TopologyError


def svg_of(tmp_path: Path, topology) -> str:
    draw(topology, tmp_path / "net.svg")
    return (tmp_path / "net.svg").read_text()


def test_a_picture_has_every_name_and_a_color_for_each_class(tmp_path: Path) -> None:
    topology = leaf_spine(2, 2, 2, switch_link=LinkClass("switch", 40_000_000_000))
    text = svg_of(tmp_path, topology)
    comments = set(re.findall(r"<!-- (.*?) -->", text))  # the text of each label, before its glyphs
    assert {node.name for node in topology.nodes} <= comments
    assert {"leaf-spine-2x2-2", "host (4)", "switch (4)"} <= comments
    assert {"host: 10Gbit/s, 1us, 8 links", "switch: 40Gbit/s, 1us, 8 links"} <= comments
    assert [text.count(f"stroke: {color}") for color in COLORS[:3]] == [4 + 1, 4 + 1, 0]  # cables and the legend


def test_links_around_a_torus_are_stubs_at_both_ends(tmp_path: Path) -> None:
    text = svg_of(tmp_path, torus(3, 3))
    assert "dotted: to the opposite edge" in text
    assert text.count(f"stroke: {COLORS[0]}") == 12 + 2 * 6 + 1


def test_a_png_is_written(tmp_path: Path) -> None:
    draw(star(2), tmp_path / "net.png")
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"net\.txt: a picture's name ends in \.png"):
        draw(star(2), tmp_path / "net.txt")
    with pytest.raises(TopologyError, match="star-512: 513 nodes; a picture has at most 512"):
        draw(star(MAX_NODES), tmp_path / "net.png")
