"""Topology files and communication sketches, in the JSON shape of TACCL (Shah et al., NSDI 2023, sections 3 and 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.network.topology.description import DescriptionError, DescriptionReader
from emulator.network.topology.machines import DOUBLE_CYCLE, Cost, dgx2, mesh, ndv2
from emulator.network.topology.parts import Place, TopologyError
from emulator.network.topology.topology import Topology

MOST_RANKS = 128
MOST = 1e9
"""Of a time in a file, in its unit."""
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|\.[0-9]+")


class SketchError(DescriptionError):
    """A sketch or a topology file is not what it should be."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A topology with what routing counts a chunk's way over each pair of GPUs."""

    topology: Topology
    gpus: int
    """Of each node: rank r is GPU r % gpus of node r // gpus."""
    nics: int
    """Of each node."""
    rings: tuple[int, ...]
    """The GPUs of a node in the order of a ring."""
    costs_ns: dict[tuple[int, int], int]
    """By (rank, rank) where a message can go without another rank: alpha + beta s, as rounded in the file (invbw)."""
    chunk_bytes: int
    """s: the size that the file's betas are for."""
    switches_sum: bool = True
    """Those of NDv2 and DGX-2, and the NICs on the way, do not."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a plan may use. Ranks are numbered over all nodes; those of relays are GPUs of a node."""

    nodes: int = 1
    policy: str = ""
    """uc-min: as few pairs of ranks as possible use a switch; uc-max: as many."""
    switches: tuple[tuple[int, ...], ...] = ()
    relays: dict[int, tuple[int, ...]] | None = None
    """Sender -> receivers on other nodes; None: every GPU to every one."""
    direct: bool = False
    """GPU i sends to GPUs i of other nodes only."""
    senders: dict[int, tuple[int, ...]] | None = None
    """Sender -> the GPUs whose chunks it sends to other nodes, the first ones first."""
    own_first: bool = False
    """The order of ``senders`` is kept."""
    symmetry: tuple[tuple[int, int], ...] = ()
    """(offset, size): the plan is the same when ranks move by offset within each group of size ranks."""
    pieces: int = 1
    """Into which each chunk is split (input_chunkup)."""
    file: str = "sketch"


# Published for NDv2 and DGX-2 with messages of 1 MB: alpha and beta in microseconds (TACCL, table 1 and its profiles).
PROFILES: dict[str, dict[str, Any]] = {
    "NDv2": {
        "gpus_per_node": "8",
        "nics_per_node": "1",
        "node_betas_list": ["23", "46"],
        "node_invbws_list": ["23", "46"],
    },
    "DGX2": {"gpus_per_node": "16", "nics_per_node": "8", "node_betas_list": ["8"], "node_invbws_list": ["8"]},
}
for _each in PROFILES.values():
    _each |= {"alpha": "0.3", "remote_alpha": "2.6", "remote_beta": "105", "remote_invbw": "107"}
MACHINES = (*PROFILES, "custom")


def read_sketch(path: Path) -> Sketch:
    """Raises SketchError with file, line and field."""
    reader = _Reader(str(path))
    return reader.sketch(reader.compose(reader.text_of(path), "nnodes"))


def read_machine(name: str, path: Path | None, nodes: int, size_bytes: int, unit_us: float = 1.0) -> Machine:
    """``path``: a topology file; none: the published profile of NDv2 or DGX2. Its times are in ``unit_us``, and of
    chunks of ``size_bytes``. Raises SketchError, TopologyError."""
    if path is None and name not in PROFILES:
        raise TopologyError(f"{name} has no profile of its own: add --topology T.json")
    reader = _Reader(str(path or name))
    text = reader.text_of(path) if path else json.dumps(PROFILES[name])
    values = reader.compose(text, "gpus_per_node and betas")
    return reader.machine(name, values, nodes, size_bytes, unit_us * 1000)


class _Reader(DescriptionReader):
    wrong = SketchError

    def sketch(self, value: Any) -> Sketch:
        top = self.record(
            value, (), ("nnodes",), ("intranode_sketch", "internode_sketch", "symmetry_offsets", "hyperparameters")
        )
        nodes = self._whole(top["nnodes"], ("nnodes",), 1)
        place: Place = ("intranode_sketch",)
        fields = ("strategy",), ("switches", "switch_hyperedge_strategy")
        inner = self.record(top.get("intranode_sketch", {"strategy": "none"}), place, *fields)
        strategy = self._one_of(inner["strategy"], (*place, "strategy"), ("none", "switch"))
        switches = self._rows(inner.get("switches", []), (*place, "switches"))
        if (strategy == "switch") != bool(switches):
            raise self.error("the strategy switch, and no other, names the GPUs of each switch", (*place, "switches"))
        policies = self.expect(list, inner.get("switch_hyperedge_strategy", []), (*place, "switch_hyperedge_strategy"))
        for index, each in enumerate(policies):
            self._one_of(each, (*place, "switch_hyperedge_strategy", index), ("uc-min", "uc-max"))
        if len(set(policies)) > 1:
            raise self.error("one policy for all switches", (*place, "switch_hyperedge_strategy"))
        between = self._internode(top.get("internode_sketch", {"strategy": "none"}), nodes)
        symmetry = self._rows(top.get("symmetry_offsets", []), ("symmetry_offsets",), 2)
        hyper = self.record(
            top.get("hyperparameters", {}), ("hyperparameters",), (), ("input_chunkup", "heuristic")
        )  # heuristic: the order to try; here all are
        pieces = self._whole(hyper.get("input_chunkup", "1"), ("hyperparameters", "input_chunkup"), 1)
        pairs = tuple((row[0], row[1]) for row in symmetry)
        policy = policies[0] if policies else ""
        return Sketch(nodes, policy, switches, *between, pairs, pieces, self.file)

    def _internode(self, value: Any, nodes: int) -> tuple[Any, bool, Any, bool]:
        """``relays`` to ``own_first`` of a sketch."""
        place: Place = ("internode_sketch",)
        options = ("internode_conn", "gpus_to_sender_rev_map", "enforce_ordering")
        given = self.record(value, place, ("strategy",), options)
        strategy = self._one_of(given["strategy"], (*place, "strategy"), ("none", "relay"))
        if strategy == "none" and nodes > 1:
            raise self.error(f"{nodes} nodes need a strategy between nodes: relay", (*place, "strategy"))
        if strategy == "none" and len(given) > 1:
            raise self.error("there are no relays without the strategy relay", (*place, list(given)[1]))
        if strategy == "relay" and "internode_conn" not in given:
            raise self.error("a relay strategy names senders and receivers: internode_conn is missing", place)
        connections, where = given.get("internode_conn"), (*place, "internode_conn")
        relays = None
        if isinstance(connections, str):
            self._one_of(connections, where, ("fully-connected", "direct-map"))
        else:
            relays = self._map(connections, where)
        senders = self._map(given.get("gpus_to_sender_rev_map"), (*place, "gpus_to_sender_rev_map"))
        for sender in senders or ():
            if relays is not None and sender not in relays:
                field = (*place, "gpus_to_sender_rev_map", str(sender))
                raise self.error(f"GPU {sender} is no sender of internode_conn", field)
        ordered = self._one_of(given.get("enforce_ordering", "false"), (*place, "enforce_ordering"), ("true", "false"))
        return relays, connections == "direct-map", senders, ordered == "true"

    def machine(self, name: str, value: Any, nodes: int, size_bytes: int, unit_ns: float) -> Machine:
        remote_fields = ("remote_alpha", "remote_beta", "remote_invbw")
        lists = ("links", "betas", "invbws") if name == "custom" else ("node_betas_list", "node_invbws_list")
        required = ("gpus_per_node", "alpha", lists[0], *(("betas",) if name == "custom" else ()))
        more = (each for each in lists if each not in required)
        given = self.record(value, (), required, ("name", "nics_per_node", *remote_fields, *more))
        gpus = self._whole(given["gpus_per_node"], ("gpus_per_node",), 1)
        nics = self._whole(given.get("nics_per_node", "1"), ("nics_per_node",), 1)
        if name in PROFILES and str(gpus) != PROFILES[name]["gpus_per_node"]:
            raise self.error(f"a node of {name} has {PROFILES[name]['gpus_per_node']} GPUs", ("gpus_per_node",))
        if nodes * gpus > MOST_RANKS:
            raise self.error(
                f"{nodes} nodes (nnodes of the sketch) of {gpus} GPUs are more than {MOST_RANKS} ranks", ()
            )
        if nodes > 1 and (missing := [each for each in remote_fields[:2] if each not in given]):
            raise self.error(f"{missing[0]} is missing: the sketch has {nodes} nodes", ())

        def cost(alpha: str, beta: Any, place: Place) -> Cost:
            beta_ns = round(self._number(beta, place) * unit_ns)
            if beta_ns < 1:
                raise self.error("a beta takes 1 ns at least", place)
            return Cost(round(self._number(given[alpha], (alpha,)) * unit_ns), beta_ns, size_bytes)

        remote = cost("remote_alpha", given["remote_beta"], ("remote_beta",)) if nodes > 1 else Cost(0, 1, size_bytes)
        count = {"NDv2": 2, "DGX2": 1}.get(name, 0)
        for each in (field for field in lists if count and field in given):
            if len(self.expect(list, given[each], (each,))) != count:
                raise self.error(f"{name} has {count} kinds of links, fastest first", (each,))
        rounded: dict[tuple[int, int], Any] = {}
        if name == "custom":
            betas = self._matrix(given["betas"], ("betas",), gpus)
            present = self._matrix(given["links"], ("links",), gpus)
            edges = [(b, a) for a in range(gpus) for b in range(gpus) if a != b and self._number(present[a][b], ())]
            links = []
            for source, destination in edges:  # as in MSCCL: row = destination, column = source
                made = cost("alpha", betas[destination][source], ("betas", destination, source))
                links.append((source, destination, made.link_class(f"beta-{made.beta_ns}")))
            topology = self._made(mesh, "custom", nodes, gpus, links, remote, nics)
            if "invbws" in given:
                matrix = self._matrix(given["invbws"], ("invbws",), gpus)
                rounded = {(a, b): (matrix[b][a], ("invbws", b, a)) for a, b in edges}
        else:
            kinds = [
                cost("alpha", beta, ("node_betas_list", index)) for index, beta in enumerate(given["node_betas_list"])
            ]
            make: Any = ndv2 if name == "NDv2" else dgx2
            topology = self._made(make, nodes, *kinds, remote, nics)
            if "node_invbws_list" in given:
                rounded = _by_kind(topology, gpus, given["node_invbws_list"])
        costs = {}
        for one in range(nodes * gpus):
            for other in range(nodes * gpus):
                pair = one % gpus, other % gpus
                if one // gpus != other // gpus:
                    entry = (given["remote_invbw"], ("remote_invbw",)) if "remote_invbw" in given else None
                else:
                    entry = rounded.get(pair)
                if entry is not None and one != other:
                    costs[one, other] = max(1, round(self._number(*entry) * unit_ns))
        order = DOUBLE_CYCLE if name == "NDv2" else tuple(range(gpus))
        return Machine(topology, gpus, nics, order, costs, size_bytes, switches_sum=False)

    def _made(self, make: Callable[..., Topology], *values: Any) -> Topology:
        try:
            return make(*values)
        except TopologyError as error:
            raise self.error(str(error), ()) from None

    def _number(self, value: Any, place: Place) -> float:
        text = self.expect(str, value, place)
        if not NUMBER.fullmatch(text) or text.startswith("-"):
            raise self.error(f"{text!r} is not a number from 0 on", place)
        if (found := float(text)) > MOST:
            raise self.error(f"{text[:20]} is more than {MOST:g}", place)
        return found

    def _whole(self, value: Any, place: Place, least: int) -> int:
        found = self.number(value, place, {})
        if not least <= found <= MOST:
            raise self.error(f"{str(found)[:20]} is not from {least} to {MOST:g}", place)
        return found

    def _one_of(self, value: Any, place: Place, known: Sequence[str]) -> str:
        text: str = self.expect(str, value, place)
        if text not in known:
            raise self.error(f"{text!r} is none of {', '.join(known)}", place)
        return text

    def _rows(self, value: Any, place: Place, length: int = 0) -> tuple[tuple[int, ...], ...]:
        rows = []
        for index, row in enumerate(self.expect(list, value, place)):
            numbers = enumerate(self.expect(list, row, (*place, index)))
            rows.append(tuple(self._whole(each, (*place, index, at), 0) for at, each in numbers))
            if length and len(rows[-1]) != length:
                raise self.error(f"{len(rows[-1])} numbers instead of {length}", (*place, index))
        return tuple(rows)

    def _matrix(self, value: Any, place: Place, size: int) -> list[list[Any]]:
        rows: list[list[Any]] = self.expect(list, value, place)
        for index, row in enumerate(rows):
            if len(self.expect(list, row, (*place, index))) != size:
                raise self.error(f"{len(row)} numbers for {size} GPUs", (*place, index))
        if len(rows) != size:
            raise self.error(f"{len(rows)} rows for {size} GPUs", place)
        return rows

    def _map(self, value: Any, place: Place) -> dict[int, tuple[int, ...]] | None:
        """JSON's keys are texts."""
        if value is None:
            return None
        found = {}
        for key, row in self.expect(dict, value, place).items():
            members = enumerate(self.expect(list, row, (*place, key)))
            sender = self._whole(key, (*place, key), 0)
            found[sender] = tuple(self._whole(each, (*place, key, at), 0) for at, each in members)
        return found


def _by_kind(topology: Topology, gpus: int, values: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """The list's number for each pair of GPUs of a node, by the class of the link between them."""
    kinds = {"nvlink-double": 0, "nvlink": 1}
    found = {}
    for one in range(gpus):
        for other in range(gpus):
            links = topology.links_between(f"h{one}", f"h{other}")
            index = kinds[links[0].link_class.name] if links else 0
            if index < len(values) and (links or len(values) == 1):
                found[one, other] = (values[index], ("node_invbws_list", index))
    return found
