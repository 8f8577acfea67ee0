"""YAML and JSON: round trips, and errors with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.network.topology.builders import BUILDERS, fat_tree, leaf_spine, ring_of_racks, star, torus
from emulator.network.topology.files import (
    TopologyFileError,
    parse_topology,
    read_topology,
    topology_json,
    topology_yaml,
    write_topology,
)
from emulator.network.topology.parts import LinkClass

PAIR = """\
name: pair
classes:
  host: {rate_bps: 100Mbit, latency_ns: 5us, queue_bytes: 64KiB}
nodes:
- {name: h0, kind: host}
- {name: h1, kind: host}
links:
- {source: h0, destination: h1, class: host, duplex: true}
groups:
  rack0: [h0, h1]
"""
BUILT = [
    star(3),
    BUILDERS["tree"].build((2, 2, 2)),
    leaf_spine(2, 2, 2, switch_link=LinkClass("switch", 2_500_000_000, 500, 30, 9_216, 9_000)),
    fat_tree(4),
    torus(2, 3),
    ring_of_racks(2, 2),
]


@pytest.mark.parametrize("topology", BUILT, ids=lambda topology: topology.name)
def test_round_trips(topology) -> None:
    text = topology_json(topology)
    assert parse_topology(text) == topology == parse_topology(topology_yaml(topology))
    assert topology_json(parse_topology(text)) == text


def test_a_file_by_hand_has_units_and_defaults() -> None:
    topology = parse_topology(PAIR)
    assert topology.classes == {"host": LinkClass("host", 100_000_000, 5_000, 0, 65_536, 1_500)}
    assert [link.name for link in topology.links] == ["h0->h1", "h1->h0"]
    assert topology.groups == {"rack0": ("h0", "h1")}


def test_yaml_is_written_with_units_and_json_without() -> None:
    topology = parse_topology(PAIR)
    expected = "host: {rate_bps: 100Mbit, latency_ns: 5us, alpha_ns: 0ns, queue_bytes: 64KiB, mtu_bytes: 1500B}"
    assert expected in topology_yaml(topology)
    assert json.loads(topology_json(topology))["classes"]["host"]["rate_bps"] == 100_000_000
    assert "- {source: h0, destination: h1, class: host, duplex: true}\n" in topology_yaml(topology)


@pytest.mark.parametrize("suffix", ["yaml", "yml", "json"])
def test_the_ending_of_a_name_says_the_form(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"net.{suffix}"
    write_topology(BUILT[0], path)
    assert path.read_text().startswith("{") == (suffix == "json")
    assert read_topology(path) == BUILT[0]


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ("name: pair", "name:", "net.yaml:1: name: this has to be a single value"),
        ("name: pair", "name: a b", "net.yaml:1: name: 'a b': a name has letters"),
        ("name: pair", "nmae: pair", "net.yaml:1: nmae: unknown field 'nmae' (did you mean 'name'?);"),
        ("100Mbit", "100 apples", "net.yaml:3: classes.host.rate_bps: '100 apples' is not a number with one of the"),
        ("100Mbit", "0", "net.yaml:3: classes.host.rate_bps: 0: a rate is positive"),
        ("100Mbit", "9" * 30, "net.yaml:3: classes.host.rate_bps: '999"),
        ("rate_bps: 100Mbit, ", "", "net.yaml:3: classes.host: rate_bps is missing"),
        ("5us", "-5", "net.yaml:3: classes.host.latency_ns: -5: a time is not negative"),
        ("5us", "[5us]", "net.yaml:3: classes.host.latency_ns: this has to be a single value"),
        ("64KiB", "1000", "net.yaml:3: classes.host.queue_bytes: 1000: a queue holds at least a packet of 1500 bytes"),
        ("64KiB", "64KiB, mtu_bytes: 20", "net.yaml:3: classes.host.mtu_bytes: 20: an MTU is 68 to"),
        ("latency_ns", "latency", "net.yaml:3: classes.host.latency: unknown field 'latency' (did you mean 'latency"),
        ("latency_ns: 5us", "rate_bps: 5", "net.yaml:3: classes.host.rate_bps: 'rate_bps' is there twice"),
        ("h1, kind: host", "h1, kind: router", "net.yaml:6: nodes[1].kind: 'router' is none of host, nic, switch"),
        ("h1, kind: host", "h0, kind: host", "net.yaml:6: nodes[1].name: there are two nodes 'h0'"),
        ("h1, kind: host", "h1, kind: host, coordinates: [x]", "net.yaml:6: nodes[1].coordinates[0]: 'x' is not a"),
        ("- {name: h1, kind: host}", "- h1", "net.yaml:6: nodes[1]: this has to be fields with values"),
        ("- {source", "  {source", "net.yaml:7: links: this has to be a list"),
        ("destination: h1", "destination: h9", "net.yaml:8: links[0].destination: there is no node 'h9'"),
        ("class: host", "class: hots", "net.yaml:8: links[0].class: there is no class 'hots' (did you mean 'host'?)"),
        ("duplex: true", "duplex: 1", "net.yaml:8: links[0].duplex: '1' is neither true nor false"),
        ("duplex: true", "number: one", "net.yaml:8: links[0].number: 'one' is not a whole number"),
        (", duplex: true", "", "net.yaml:6: nodes[1]: host 'h1': no links lead from h1 to h0"),
        ("[h0, h1]", "[h0, h2]", "net.yaml:10: groups.rack0[1]: there is no node 'h2'"),
        ("[h0, h1]", "h0", "net.yaml:10: groups.rack0: this has to be a list"),
        ("[h0, h1]", "&a [*a]", "net.yaml:10: groups.rack0[0]: an alias (*name) cannot be used here"),
        ("[h0, h1]", "[h0, h1", "net.yaml:11: neither YAML nor JSON: did not find expected ',' or ']'"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_line_and_field(before: str, after: str, error: str) -> None:
    assert before in PAIR
    with pytest.raises(TopologyFileError) as caught:
        parse_topology(PAIR.replace(before, after, 1), "net.yaml")
    assert str(caught.value).startswith(error)


def test_the_entry_of_a_link_is_counted_as_in_the_file() -> None:
    """Entry 1 is the second in the file, though the first makes two links."""
    with pytest.raises(TopologyFileError, match=r"^net:9: links\[1\]: there are two links h1->h0; give one of them"):
        parse_topology(PAIR.replace("groups:", "- {source: h1, destination: h0, class: host}\ngroups:"), "net")


def test_errors_in_json_have_lines_too() -> None:
    text = topology_json(star(2)).replace('"kind": "host"', '"kind": "hots"', 1)
    line = text[: text.index("hots")].count("\n") + 1
    with pytest.raises(TopologyFileError, match=rf"^net.json:{line}: nodes\[1\].kind: 'hots' is none of"):
        parse_topology(text, "net.json")


@pytest.mark.parametrize(("content", "text"), [(b"", "empty"), (b"\xff\xfe\xfa", "not UTF-8 text"), (b"- a", "fields")])
def test_what_is_no_description_at_all(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "net.yaml"
    path.write_bytes(content)
    with pytest.raises(TopologyFileError, match=text):
        read_topology(path)


def test_a_topology_without_a_name_has_its_files(tmp_path: Path) -> None:
    (tmp_path / "my net.v2.yaml").write_text(PAIR.replace("name: pair\n", ""))
    with pytest.raises(TopologyFileError, match=r"'my net.v2': a name has letters"):
        read_topology(tmp_path / "my net.v2.yaml")
    (tmp_path / "net.yaml").write_text(PAIR.replace("name: pair\n", ""))
    assert read_topology(tmp_path / "net.yaml").name == "net"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopologyFileError, match=r"none\.yaml: No such file or directory"):
        read_topology(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "&a [*a]"])
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(TopologyFileError):
        parse_topology(text)
