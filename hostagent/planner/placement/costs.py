"""Costs of messages between hosts, and their file: what a probe writes and the solver reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.network.topology.check import guess
from emulator.network.topology.files import parse_topology, topology_json
from emulator.network.topology.parts import Place, TopologyError
from emulator.network.topology.topology import Topology

Matrix: TypeAlias = NDArray[np.float64]
FIELDS = ("names", "latency_ns", "byte_ns", "network")
MOST_NS = 1e12
"""Of a message, or a byte."""


class PlacementError(TopologyError):
    """Costs, an order or an algorithm cannot be as described."""


@dataclass(frozen=True, eq=False)
class Costs:
    """A message of s bytes between hosts i and j takes latency_ns[i, j] + s byte_ns[i, j]: alone on its way, or, as
    probes measure it, while the pairs of a round of the tournament exchange theirs.

    Raises PlacementError with the field where a matrix is not symmetric, or a pair has no cost.
    """

    names: tuple[str, ...]
    """Of the hosts, in the order in which they were given: one rank is on each."""
    latency_ns: Matrix
    """[hosts, hosts], symmetric; the diagonal does not count."""
    byte_ns: Matrix
    """[hosts, hosts], the same; zeros where only latencies are known."""
    network: Topology | None = None
    """The links that the hosts share, as far as a probe knows them: `infer_network`."""

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise PlacementError(f"{len(self.names)} hosts: there are at least 2", ("names",))
        for index, name in enumerate(self.names):
            if name in self.names[:index]:
                raise PlacementError(f"{name!r} is there twice: one rank is on each host", ("names", index))
        self._check("latency_ns", self.latency_ns)
        self._check("byte_ns", self.byte_ns)
        if self.network is not None and {*self.network.hosts} != {*self.names}:
            raise PlacementError("its hosts are not those of the names", ("network",))

    def _check(self, field: str, matrix: Matrix) -> None:
        count = len(self.names)
        if matrix.shape != (count, count):
            raise PlacementError(f"a matrix of {matrix.shape}, for {count} hosts", (field,))
        off = ~np.eye(count, dtype=bool)
        for wrong, text in (
            (np.isnan(matrix), "no probe between {} and {}: probe again, or write a cost"),
            (~((matrix >= 0) & (matrix <= MOST_NS)), f"the cost between {{}} and {{}} is not from 0 to {MOST_NS:g}"),
            (matrix != matrix.T, "{} to {} does not cost what the way back costs: a cost is half a round trip"),
        ):
            for i, j in np.argwhere(wrong & off).tolist():
                raise PlacementError(text.format(self.names[i], self.names[j]), (field, i, j))

    def message_ns(self, size_bytes: float) -> Matrix:
        """[hosts, hosts]; zeros on the diagonal."""
        found: Matrix = self.latency_ns + size_bytes * self.byte_ns
        np.fill_diagonal(found, 0.0)
        return found


def read_costs(path: str | Path) -> Costs:
    """``{"names": [..], "latency_ns": [[..], ..], "byte_ns": [[..], ..], "network": {..}}``; null: a probe has failed.

    All but latency_ns may be left out; the network is a topology. Raises TopologyError with file and field.
    """
    found = read_object(path, FIELDS, "latency_ns")
    try:
        rows = found["latency_ns"]
        count = len(rows) if isinstance(rows, list) else 0
        names = found.get("names", [f"host{index}" for index in range(count)])
        if not isinstance(names, list) or not all(
            isinstance(name, str) and name.strip() == name != "" for name in names
        ):
            raise PlacementError("this has to be a list of hosts' names", ("names",))
        zeros = [[0] * len(names)] * len(names)
        latency_ns = _matrix("latency_ns", rows, len(names))
        byte_ns = _matrix("byte_ns", found.get("byte_ns", zeros), len(names))
        network = parse_topology(json.dumps(found["network"]), f"{path}: network") if "network" in found else None
        return Costs(tuple(names), latency_ns, byte_ns, network)
    except PlacementError as error:
        raise PlacementError(f"{path}: {error}") from None


def write_costs(costs: Costs, path: str | Path) -> None:
    """Raises PlacementError."""
    document: dict[str, Any] = {"names": list(costs.names), "latency_ns": costs.latency_ns.tolist()}
    if costs.byte_ns.any():
        document["byte_ns"] = costs.byte_ns.tolist()
    if costs.network is not None:
        document["network"] = json.loads(topology_json(costs.network))
    write_text(path, json.dumps(document).replace("], ", "],\n ").replace("}, ", "},\n ") + "\n")


def read_object(path: str | Path, fields: Sequence[str], *required: str) -> Mapping[str, Any]:
    """A JSON object with these fields only. Raises PlacementError with file, and line or field."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PlacementError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    except json.JSONDecodeError as error:
        raise PlacementError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    if not isinstance(found, dict):
        raise PlacementError(f"{path}: this has to be an object with the fields {', '.join(fields)}")
    for name in found:
        if name not in fields:
            hint = f"{guess(name, fields)}; the fields are {', '.join(fields)}"
            raise PlacementError(f"{path}: {name}: unknown field{hint}")
    for name in required:
        if name not in found:
            raise PlacementError(f"{path}: {name} is missing")
    return found


def write_text(path: str | Path, text: str) -> None:
    """Raises PlacementError."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlacementError(f"{path}: {error.strerror}") from None


def _matrix(field: str, rows: Any, count: int) -> Matrix:
    """[count, count]; NaN for null, off the diagonal."""
    if not isinstance(rows, list) or len(rows) != count:
        given = f"{len(rows)} rows" if isinstance(rows, list) else "not a list of rows"
        raise PlacementError(f"{given}, for {count} hosts", (field,))
    found = np.zeros((count, count))
    for i, row in enumerate(rows):
        place: Place = (field, i)
        if not isinstance(row, list) or len(row) != count:
            raise PlacementError(f"{len(row) if isinstance(row, list) else 'no'} costs, for {count} hosts", place)
        for j, value in enumerate(row):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise PlacementError("this has to be a number, or null for a probe that failed", (*place, j))
            found[i, j] = np.nan if value is None and i != j else value or 0
    return found
