"""Configuration of a simulation: the machine, and one or more reductions, read from TOML or given as a mapping.

[machine]                 # any field of MachineConfig; default: Flare's switch, 64 clusters of 8 cores
clusters = 64
costs = "flare"           # or "flare-remembered", "rtl"

[[reduction]]
message = "1MiB"          # of each child
children = 64             # the default; where [tree] has a fan_in, all of its hosts
type = "float32"          # int8, int16, int32, float16, float32, or "module:name"
operator = "sum"          # min, max, product, or "module:function"
algorithm = "auto"        # single, multi, tree
density = 0.01            # of non-zeros: makes it sparse
storage = "hash"          # or "array"

[tree]                    # levels of switches: see `tree.config`
fan_in = [8, 8]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from emulator.ports.units import size_bytes
from pspin_model.flare.elements import OPERATORS, ElementType
from pspin_model.flare.models.dense import LINE_RATE_GBPS, Algorithm, choose_algorithm
from pspin_model.flare.sparse.reference import STORAGES
from pspin_model.flare.sparse.wire import EMPTY_BYTES, block_span, pairs_per_packet
from pspin_model.flare.tree.config import MOST_CHILDREN, RATES_GBPS, TreeConfig, make_tree, usual_children
from pspin_model.flare.user_objects import element_kind
from pspin_model.machine.config import ConfigError, MachineConfig, unknown_field
from pspin_model.machine.costs import TABLES, CostTable

ALGORITHMS = ("auto", *Algorithm)
MOST_BYTES = 4 << 30
"""Most bytes of all children together: a simulation holds every packet. [ours]"""
MOST_CYCLES = 1 << 36
"""Cycles that sending may take: the machine counts to 2**39. [ours]"""
MOST_ELEMENT_CYCLES = 10_000
LEAST_SPARSE_PACKET = EMPTY_BYTES + 512
"""Size such that the pairs that block sizes leave free (`sparse.wire.SLACK`) are a part of a packet only."""

FLARE_MACHINE: Mapping[str, int] = {
    "clusters": 64,
    # Flare's switch has 64 ports of 100 Gbit/s; a packet of 1 KiB a cycle is the next whole number of beats
    "network_beats": 16,
    "copy_beats": 16,
    "send_beats": 16,
    # as many packets may wait as L2 packet memory holds, in a queue for each group of cores
    "message_queues": 1024,
    "queue_cells": 4096,
}
"""Where Flare's switch differs from PsPIN as built: 16 of its 4-cluster units, with the paths between them as wide."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One reduction on the machine."""

    message_bytes: int
    children: int = 64
    dtype: str = "float32"
    """One of ours, or "module:name" of the user's (`elements.ElementType`)."""
    operator: str = "sum"
    """One of ours, of the type's own, or "module:function" of two elements."""
    element_cycles: float = 0.0
    """Cycles that combining an element takes; 0: the cost table's for the type, or, for a function of the user's,
    derived from its code."""
    algorithm: str = "auto"
    buffers: int = 4
    """Buffers of a block, where the algorithm is multi."""
    packet_bytes: int = 1024
    cores_per_block: int = 8
    """Cores that may work on a block: a part of a cluster, or whole clusters."""
    staggered: bool = True
    arrivals: str = "steady"
    """Arrival process: "steady", or "exponential": random gaps of the same mean."""
    line_rate_gbps: float = LINE_RATE_GBPS
    """Rate of all children together."""
    reproducible: bool = False
    density: float = 0.0
    """Part of the elements that a child sends, as pairs of index and value; 0: all, without indices."""
    storage: str = "hash"
    """Storage of a sparse block: "hash" or "array"."""
    entries: int = 0
    """Entries of the hash table; 0: as Flare's handlers, by type."""
    probe: bool = True
    """Whether a pair looks at a second entry before it is spilled."""
    spill_pairs: int = 0
    """Room of a block's spill buffer; 0: a packet's worth."""
    start_cycles: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = self._problem()
        if wrong:
            raise ConfigError(f"reduction: {wrong}")

    def _problem(self) -> str:
        choices = {
            "algorithm": (self.algorithm, ALGORITHMS),
            "arrivals": (self.arrivals, ("steady", "exponential")),
            "storage": (self.storage, tuple(STORAGES)),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                return f"{name} = {value!r}: choose one of {', '.join(allowed)}"
        operators = tuple(self.element_kind.operators or OPERATORS)
        if self.operator not in operators and ":" not in self.operator:
            return f'operator = {self.operator!r}: choose one of {", ".join(operators)}, or "module:function"'
        whole = ("message_bytes", "children", "buffers", "packet_bytes", "cores_per_block")
        for name in whole:
            if getattr(self, name) < 1:
                return f"{name} = {getattr(self, name)}: must be at least 1"
        if self.children > MOST_CHILDREN or self.buffers > 62:
            return f"{self.children} children with {self.buffers} buffers: at most {MOST_CHILDREN}, and 62 buffers"
        if self.message_bytes * self.children > MOST_BYTES:
            return f"{self.children} messages of {self.message_bytes} bytes: a simulation holds at most {MOST_BYTES}"
        if self.packet_bytes % self.element_type.itemsize and not self.density:
            return f"packet_bytes = {self.packet_bytes} is not a whole number of {self.dtype}"
        if self.start_cycles < 0 or self.seed < 0:
            return "start_cycles and seed must not be negative"
        if not 0 <= self.element_cycles <= MOST_ELEMENT_CYCLES:
            return f"element_cycles = {self.element_cycles}: from 0 to {MOST_ELEMENT_CYCLES}"
        if not RATES_GBPS[0] <= self.line_rate_gbps <= RATES_GBPS[1]:
            return f"line_rate_gbps = {self.line_rate_gbps}: from {RATES_GBPS[0]:g} to {RATES_GBPS[1]:g}"
        cycles = self.start_cycles + self.message_bytes * self.children * 8 / self.line_rate_gbps
        if cycles > MOST_CYCLES:
            return f"line_rate_gbps = {self.line_rate_gbps}: sending takes {cycles:.1e} cycles, more than {MOST_CYCLES}"
        if self.reproducible and self.algorithm not in ("auto", "tree"):
            return f"reproducible = true needs the tree, not algorithm = {self.algorithm!r}"
        return self._sparse_problem() if self.density else ""

    def _sparse_problem(self) -> str:
        if not 0 < self.density <= 1:
            return f"density = {self.density}: a part of all elements, above 0 and at most 1"
        if self.reproducible or self.algorithm == "tree":
            return "a sparse block is summed as its pairs come: use algorithm single or multi, and not reproducible"
        if self.packet_bytes < LEAST_SPARSE_PACKET:
            return f"packet_bytes = {self.packet_bytes}: a sparse one has at least {LEAST_SPARSE_PACKET}"
        if self.entries < 0 or self.entries & (self.entries - 1):
            return f"entries = {self.entries}: a power of two"
        most = pairs_per_packet(self.element_type, self.packet_bytes)
        if not 0 <= self.spill_pairs <= most:
            return f"spill_pairs = {self.spill_pairs}: at most a packet's {most}"
        return ""

    @property
    def kind(self) -> str:
        """How blocks are reduced, in a word or two."""
        if not self.density:
            return self.algorithm
        return f"sparse {self.storage}" + (f", {self.buffers} buffers" if self.algorithm == "multi" else "")

    @property
    def element_kind(self) -> ElementType:
        """The type. Raises ConfigError where the user's is not found."""
        return element_kind(self.dtype)

    @property
    def element_type(self) -> np.dtype[Any]:
        """Type of an element's bytes in packets and buffers."""
        return self.element_kind.dtype

    @property
    def length(self) -> int:
        """Elements of a message; a dense one's last packet is full."""
        if not self.density:
            return self.blocks * self.elements
        return -(-self.message_bytes // self.element_type.itemsize)

    @property
    def span(self) -> int:
        """Elements of a block."""
        return block_span(self.element_type, self.density, self.packet_bytes) if self.density else self.elements

    @property
    def blocks(self) -> int:
        if self.density:
            return -(-self.length // self.span)
        return -(-self.message_bytes // self.packet_bytes)

    @property
    def elements(self) -> int:
        """Elements of a packet."""
        return self.packet_bytes // self.element_type.itemsize

    @property
    def interval_cycles(self) -> float:
        """Mean time between two packets at the switch, as the links allow it."""
        return self.packet_bytes * 8 / self.line_rate_gbps

    def chosen(self, machine: MachineConfig) -> Reduction:
        """Configuration with "auto" replaced by that machine's algorithm."""
        if self.algorithm != "auto":
            return self
        if self.density:
            return replace(self, algorithm=Algorithm.SINGLE.value)
        cores = machine.clusters * machine.cores
        found = choose_algorithm(
            self.message_bytes,
            reproducible=self.reproducible,
            cores=cores,
            packet_bytes=self.packet_bytes,
            buffers=self.buffers,
        )
        return replace(self, algorithm=found.value)


@dataclass(frozen=True, slots=True)
class FlareConfig:
    """A whole simulation."""

    machine: MachineConfig
    costs: CostTable
    reductions: tuple[Reduction, ...]
    tree: TreeConfig | None = None
    """None: one switch."""

    def __post_init__(self) -> None:
        for reduction in self.reductions:
            if reduction.packet_bytes > self.machine.max_packet_bytes:
                raise ConfigError(
                    f"reduction: packet_bytes = {reduction.packet_bytes}: the machine takes packets of at most "
                    f"max_packet_bytes = {self.machine.max_packet_bytes}"
                )
            if self.tree and reduction.message_bytes * 8 / self.tree.link_gbps > MOST_CYCLES:
                raise ConfigError(
                    f"tree: link_gbps = {self.tree.link_gbps}: sending takes more than {MOST_CYCLES} cycles"
                )


def flare_machine(**changes: int) -> MachineConfig:
    """Flare's switch, with fields changed. Raises ConfigError for an unknown field."""
    known = [field.name for field in fields(MachineConfig)]
    for name in changes:
        if name not in known:
            raise unknown_field("machine", name, ["costs", *known])
    return MachineConfig(**{**FLARE_MACHINE, **changes})


def cost_table(name: object) -> CostTable:
    """One of the named tables. Raises ConfigError."""
    if not isinstance(name, str) or name not in TABLES:
        raise ConfigError(f"costs = {name!r}: choose one of {', '.join(TABLES)}")
    return TABLES[name]


def parse_bytes(value: object) -> int:
    """``"1MiB"``, ``"512 KiB"`` or a number of bytes. Raises ConfigError."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return size_bytes(str(value))
    except ValueError as error:
        raise ConfigError(f"size {error}") from None


def read_config(path: str | Path) -> FlareConfig:
    """A TOML file's simulation. Raises ConfigError, naming the file, for anything wrong in it."""
    try:
        return make_config(tomllib.loads(Path(path).read_text()))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ConfigError) as error:
        raise ConfigError(f"{path}: {error}") from None


def make_config(given: Mapping[str, Any]) -> FlareConfig:
    """The simulation that a mapping of TOML's shape describes. Raises ConfigError."""
    unknown = set(given) - {"machine", "reduction", "tree"}
    if unknown:
        raise ConfigError(f"there is no table [{sorted(unknown)[0]}]: use [machine], [[reduction]] and [tree]")
    machine = dict(_table(given.get("machine", {}), "[machine]"))
    costs = cost_table(machine.pop("costs", "flare"))
    reductions = given.get("reduction", ())
    if isinstance(reductions, Mapping):
        reductions = [reductions]
    if not reductions:
        raise ConfigError("there is no [[reduction]]")
    if not isinstance(reductions, (list, tuple)):
        raise ConfigError(f"reduction = {reductions!r}: write [[reduction]] and its fields below")
    tree = _table(given["tree"], "[tree]") if "tree" in given else None
    usual = usual_children(tree) if tree is not None else {}
    made = tuple(make_reduction({**usual, **_table(each, "[[reduction]]")}) for each in reductions)
    levels = make_tree(tree, [reduction.children for reduction in made]) if tree is not None else None
    return FlareConfig(flare_machine(**machine), costs, made, levels)


def _table(given: object, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{given!r} is not a table: write {name} and its fields below")
    return given


def make_reduction(given: Mapping[str, Any]) -> Reduction:
    """One [[reduction]]. Raises ConfigError."""
    types = {field.name: str(field.type) for field in fields(Reduction)}
    known = [_IN_FILES.get(name, name) for name in types]
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = _RENAMED.get(name, name)
        if field not in types:
            raise unknown_field("reduction", name, known)
        values[field] = value = parse_bytes(value) if field in ("message_bytes", "packet_bytes") else value
        expected = {"int": int, "float": (int, float), "bool": bool, "str": str}[types[field]]
        if not isinstance(value, expected) or (isinstance(value, bool) and types[field] != "bool"):  # type: ignore[arg-type]
            raise ConfigError(f"reduction: {name} = {value!r} is not of type {types[field]}")
    if "message_bytes" not in values:
        raise ConfigError('reduction: message = "1MiB", what each child brings, is missing')
    return Reduction(**values)


_RENAMED = {"message": "message_bytes", "type": "dtype", "packet": "packet_bytes"}
"""A file's names of fields; the fields' own are known, too."""
_IN_FILES = {field: name for name, field in _RENAMED.items()}
