"""What can go wrong: one class for each kind of fault, and the script of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

CONTROLLER = "controller"
SLOW_PERIOD_NS = 40_000_000
"""A slow process is stopped once in this time, after its share of it."""


@dataclass(frozen=True, slots=True)
class Impair:
    """Links treat frames otherwise."""

    link: str
    """As written: ``h0-s0``, or one direction, ``h0->s0``."""
    links: tuple[str, ...]
    """Names of the directed links of the topology."""
    fields: tuple[tuple[str, float | int], ...]
    """Fields of `emulator.ports.spec.Impairments` with their values."""
    text: str
    """The fields as written, for people."""

    def __str__(self) -> str:
        return f"link {self.link}: {self.text}"


@dataclass(frozen=True, slots=True)
class Down:
    """A link loses all frames."""

    link: str
    links: tuple[str, ...]

    def __str__(self) -> str:
        return f"link {self.link} down"


@dataclass(frozen=True, slots=True)
class Partition:
    """All links between these nodes and the others lose all frames."""

    nodes: tuple[str, ...]
    links: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.nodes)} cut off from the rest"


@dataclass(frozen=True, slots=True)
class Slow:
    """The process of a host runs for a share of the time only: stopped and continued in turn."""

    host: str
    share: float
    """From 0, not at all, to 1."""

    def __str__(self) -> str:
        return f"{self.host} runs {100 * self.share:g} % of the time"


@dataclass(frozen=True, slots=True)
class Kill:
    """A host's process is killed, and does not come back."""

    host: str

    def __str__(self) -> str:
        return f"{self.host} killed"


@dataclass(frozen=True, slots=True)
class Restart:
    """A switch or the controller is killed, loses its state, and is started again when the fault ends."""

    node: str
    """Name of a switch, or `CONTROLLER`."""

    def __str__(self) -> str:
        return f"{self.node} killed"


Kind: TypeAlias = Impair | Down | Partition | Slow | Kill | Restart


@dataclass(frozen=True, slots=True)
class Fault:
    """One event of a script."""

    kind: Kind
    begin_ns: int
    """From the time when the network is first used."""
    end_ns: int | None = None
    """None: it does not end."""


@dataclass(frozen=True, slots=True)
class Script:
    """All events, in the order of the file."""

    faults: tuple[Fault, ...]
    seed: int = 0
    """Of what links draw."""


Names: TypeAlias = Mapping[str, tuple[str, ...]]
