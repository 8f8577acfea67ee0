"""What is wrong with a sketch or a topology file is said with its file, line and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.network.topology.parts import TopologyError
from hostagent.planner.synthesis.inputs import read_machine, read_sketch
from hostagent.planner.synthesis.problem import sketched_problem
from hostagent.planner.synthesis.routing import Orbits

RELAY = {"strategy": "relay", "internode_conn": {"0": [1]}}
PROFILE = {"gpus_per_node": 8, "alpha": 0.3, "node_betas_list": [23, 46], "remote_alpha": 2.6, "remote_beta": 105}


def planned(
    tmp_path: Path,
    sketch: dict[str, Any],
    profile: dict[str, Any] = PROFILE,
    machine: str = "NDv2",
    size_bytes: int = 1_000_000,
) -> None:
    for name, each in (("S.json", sketch), ("T.json", profile)):
        (tmp_path / name).write_text(json.dumps(each, indent=1))
    read = read_sketch(tmp_path / "S.json")
    model = read_machine(machine, tmp_path / "T.json", read.nodes, size_bytes)
    Orbits(sketched_problem(model, read, "allgather", size_bytes))


@pytest.mark.parametrize(
    ("sketch", "said"),
    [
        ({"nnodes": 2, "symetry_offsets": []}, "unknown field 'symetry_offsets'"),
        ({"nnodes": 0}, "nnodes: 0 is not from 1"),
        ({"nnodes": 10**10}, "nnodes: 10000000000 is not from 1"),
        (
            {"nnodes": 17, "internode_sketch": RELAY},
            "17 nodes (nnodes of the sketch) of 8 GPUs are more than 128 ranks",
        ),
        ({"nnodes": 1, "internode_sketch": {**RELAY, "strategy": "none"}}, "internode_conn: there are no relays"),
        ({"nnodes": 2, "internode_sketch": {**RELAY, "internode_conn": "ring"}}, "'ring' is none of fully-connected"),
        ({"nnodes": 1, "hyperparameters": {"input_chunkup": 250}}, "more than can be planned: take fewer nodes"),
        ({"nnodes": 1, "intranode_sketch": {"strategy": "switch"}}, "intranode_sketch.switches: the strategy switch"),
        ({"nnodes": 1, "intranode_sketch": {"strategy": "none", "switches": [[0, 1]]}}, "intranode_sketch.switches: "),
        (
            {"nnodes": 1, "intranode_sketch": {"strategy": "switch", "switches": [[0, 1]]}},
            "switches: links, not switches",
        ),
        ({"nnodes": 2}, "internode_sketch.strategy: 2 nodes need a strategy"),
        ({"nnodes": 2, "internode_sketch": {"strategy": "relay"}}, "internode_conn is missing"),
        (
            {"nnodes": 2, "internode_sketch": {**RELAY, "internode_conn": {"0": [9]}}},
            "internode_conn: there is no GPU 9",
        ),
        ({"nnodes": 2, "internode_sketch": {**RELAY, "internode_conn": {}}}, "internode_conn: nothing leads from rank"),
        (
            {"nnodes": 2, "internode_sketch": {**RELAY, "gpus_to_sender_rev_map": {"0": [0, 1, 2]}}},
            "gpus_to_sender_rev_map: nothing leads from rank 3",
        ),
        (
            {"nnodes": 2, "internode_sketch": {**RELAY, "gpus_to_sender_rev_map": {"3": [0]}}},
            "gpus_to_sender_rev_map.3: GPU 3 is no sender",
        ),
        ({"nnodes": 1, "symmetry_offsets": [[1, 5]]}, "symmetry_offsets: groups of 5 ranks do not divide 8"),
        ({"nnodes": 1, "symmetry_offsets": [[1, 8]]}, "symmetry_offsets: rank 0 sends to rank 1, but rank"),
        (
            {"nnodes": 1, "hyperparameters": {"input_chunkup": 3}},
            "not 3 equal pieces of int32: it has to be a multiple of 12, as 1000008 is",
        ),
    ],
)
def test_impossible_sketches(tmp_path: Path, sketch: dict[str, Any], said: str) -> None:
    with pytest.raises(TopologyError) as raised:
        planned(tmp_path, sketch)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gpus_per_node": 4}, "gpus_per_node: a node of NDv2 has 8 GPUs"),
        ({"node_betas_list": [23]}, "node_betas_list: NDv2 has 2 kinds of links"),
        ({"alpha": "fast"}, "alpha: 'fast' is not a number"),
        ({"alpha": 1e300}, "alpha: 1e+300 is more than 1e+09"),
        ({"beta": 1}, "unknown field 'beta'"),
    ],
)
def test_impossible_topology_files(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(TopologyError) as raised:
        planned(tmp_path, {"nnodes": 1}, PROFILE | change)
    assert said in str(raised.value)
    assert "T.json:" in str(raised.value)


def test_a_disconnected_custom_topology(tmp_path: Path) -> None:
    links = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    profile = {"gpus_per_node": 3, "alpha": 1, "links": links, "betas": [[5] * 3] * 3}
    with pytest.raises(TopologyError, match=r"T.json.*no links lead from h0 to h2"):
        planned(tmp_path, {"nnodes": 1}, profile, "custom")
    with pytest.raises(TopologyError, match=r"the fields are gpus_per_node, alpha, links, betas, name, .*, invbws$"):
        planned(tmp_path, {"nnodes": 1}, profile | {"beta": 1}, "custom")


ALL_16 = {"strategy": "switch", "switches": [[*range(16)]], "switch_hyperedge_strategy": ["uc-min"]}
PAIRS = {str(gpu + 1): [gpu] for gpu in range(0, 16, 2)}


def sketch_of(nodes: int, symmetry: list[list[int]], pieces: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "nnodes": nodes,
        "intranode_sketch": {"strategy": "none"},
        "symmetry_offsets": symmetry,
        "hyperparameters": {"input_chunkup": pieces},
        **more,
    }


def relay(connections: Any, **more: Any) -> dict[str, Any]:
    return {"strategy": "relay", "internode_conn": connections, **more}


@pytest.mark.parametrize(
    ("machine", "sketch"),
    [
        ("NDv2", sketch_of(1, [])),
        ("NDv2", sketch_of(1, [], 6)),
        ("NDv2", sketch_of(2, [[8, 16]], internode_sketch=relay({"0": [1]}))),
        ("NDv2", sketch_of(2, [[8, 16]], internode_sketch=relay("fully-connected"))),
        ("NDv2", sketch_of(2, [[8, 16]], internode_sketch=relay("direct-map"))),
        ("DGX2", sketch_of(1, [[2, 16]], intranode_sketch=ALL_16)),
        (
            "DGX2",
            sketch_of(
                2,
                [[2, 16], [16, 32]],
                2,
                intranode_sketch=ALL_16,
                internode_sketch=relay(
                    PAIRS,
                    gpus_to_sender_rev_map={key: [each[0], int(key)] for key, each in PAIRS.items()},
                    enforce_ordering=True,
                ),
            ),
        ),
        (
            "DGX2",
            sketch_of(
                2,
                [[2, 16], [16, 32]],
                intranode_sketch=ALL_16 | {"switch_hyperedge_strategy": ["uc-max"]},
                internode_sketch=relay("direct-map", gpus_to_sender_rev_map={str(gpu): [gpu] for gpu in range(16)}),
            ),
        ),
    ],
    ids=(
        "sk1-ndv2-n1",
        "cUp",
        "sk1-ndv2-n2",
        "sk2-ndv2-n2",
        "sk3-ndv2-n2",
        "sk1-dgx2-n1",
        "sk1-dgx2-n2",
        "sk2-dgx2-n2",
    ),
)
def test_the_shapes_of_published_sketches(tmp_path: Path, machine: str, sketch: dict[str, Any]) -> None:
    """Those of TACCL's repository, by its names; with four nodes they are the same but for nnodes."""
    profile = {
        "name": machine,
        "gpus_per_node": 8 if machine == "NDv2" else 16,
        "nics_per_node": 1 if machine == "NDv2" else 8,
        "alpha": 0.3,
        "node_betas_list": [23, 46] if machine == "NDv2" else [8],
        "node_invbws_list": [23, 46] if machine == "NDv2" else [8],
        "remote_alpha": 2.6,
        "remote_beta": 105,
        "remote_invbw": 107,
    }
    planned(tmp_path, sketch, profile, machine, 1_008_000)
