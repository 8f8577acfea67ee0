"""Random topologies through files and networkx, and damaged files."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.network.topology.builders import leaf_spine
from emulator.network.topology.files import TopologyFileError, parse_topology, topology_json, topology_yaml
from emulator.network.topology.networkx_graph import from_networkx, to_networkx
from emulator.network.topology.parts import NodeKind
from emulator.network.topology.routes import FirstRoutes, bisection_bps, diameter, shortest_routes
from emulator.network.topology.topology import Topology
from tests.generators.topologies import topologies
from tests.labs.extent import tries

TEXTS = [write(leaf_spine(2, 2, 2)) for write in (topology_json, topology_yaml)]


@given(topologies())
def test_files_give_the_same_topology_and_json_the_same_bytes(topology: Topology) -> None:
    text = topology_json(topology)
    again = parse_topology(text)
    assert again == topology
    assert topology_json(again) == text
    assert json.loads(text)["name"] == topology.name
    assert parse_topology(topology_yaml(topology)) == topology


@given(topologies())
def test_networkx_gives_the_same_topology(topology: Topology) -> None:
    assert from_networkx(to_networkx(topology)) == topology


@given(topologies())
def test_ports_and_routes_agree_with_links(topology: Topology) -> None:
    for node in topology.nodes:
        ports = topology.ports(node.name)
        assert sorted(link.name for links in ports for link in links) == sorted(
            link.name for link in (*topology.out_links(node.name), *topology.in_links(node.name))
        )
        assert [topology.port(node.name, links[0]) for links in ports] == list(range(1, len(ports) + 1))
    hosts = topology.names(NodeKind.HOST)
    lengths, first = [0], FirstRoutes(topology)
    for source in hosts:
        for destination in set(hosts) - {source}:
            routes = shortest_routes(topology, source, destination)
            assert first.route(source, destination) == routes[0]
            lengths.append(len(routes[0]) - 1)
            for route in routes:
                assert (route[0], route[-1], len(set(route))) == (source, destination, len(routes[0]))
                assert all(topology.links_between(*hop) for hop in pairwise(route))
    assert diameter(topology) == max(lengths)
    assert (bisection_bps(topology) > 0) == (len(hosts) > 1)


@settings(max_examples=tries(100, 300))
@given(st.sampled_from(TEXTS), st.data())
def test_a_damaged_file_gives_a_topology_or_an_error_with_its_line(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    put = data.draw(
        st.one_of(st.text(max_size=5), st.sampled_from(("[[", "}", "*a", "&a ", "~", "-1", "9" * 5000, "\t")))
    )
    damaged = text[:start] + put + text[end:]
    wrong: TopologyFileError | None = None
    try:
        parse_topology(damaged, "net.yaml")
    except TopologyFileError as error:
        wrong = error
    if wrong is not None:
        assert 1 <= wrong.line <= len(damaged.splitlines()) + 1
        assert str(wrong).startswith(f"net.yaml:{wrong.line}: ")
