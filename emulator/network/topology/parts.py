"""What a topology is made of: nodes, links and classes of links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""Of an element in a description: ("links", 3, "source") is field ``source`` of ``links[3]``."""


class NodeKind(StrEnum):
    """What a node does."""

    HOST = "host"
    """Sends and receives; forwards only where there is no route without it, as in a torus."""
    NIC = "nic"
    """Forwards between a host and the network."""
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Node:
    """A node by its name, which is unique in a topology."""

    name: str
    kind: NodeKind
    coordinates: tuple[int, ...] = ()
    """(row, column) in a grid, (position,) on a ring; empty elsewhere."""


@dataclass(frozen=True, slots=True)
class LinkClass:
    """The properties that all links of one class have, in each direction."""

    name: str
    rate_bps: int
    """Bits per second of frames; beta, the time of a byte, is 8e9 / rate_bps ns."""
    latency_ns: int = 1_000
    """From the last bit sent to the last bit received."""
    alpha_ns: int = 0
    """Of each message, besides latency: start-up cost at its ends."""
    queue_bytes: int = 256 << 10
    """Of frames that wait at the link's source."""
    mtu_bytes: int = 1_500
    """The largest IP packet, as of an interface."""


@dataclass(frozen=True, slots=True)
class Link:
    """One direction between two nodes."""

    source: str
    destination: str
    link_class: LinkClass
    number: int = 0
    """Keeps parallel links between the same nodes apart."""
    plane: int = 0
    """The one of several networks side by side, over the same hosts, to which the link belongs."""

    @property
    def name(self) -> str:
        """``h0->s0``; of parallel links ``h0->s0#1`` and so on, after the first."""
        return f"{self.source}->{self.destination}" + (f"#{self.number}" if self.number else "")

    @property
    def reverse(self) -> Link:
        """The other direction of the same cable."""
        return Link(self.destination, self.source, self.link_class, self.number, self.plane)

    @property
    def rate_bps(self) -> int:
        return self.link_class.rate_bps

    @property
    def latency_ns(self) -> int:
        return self.link_class.latency_ns

    @property
    def alpha_ns(self) -> int:
        return self.link_class.alpha_ns

    @property
    def queue_bytes(self) -> int:
        return self.link_class.queue_bytes

    @property
    def mtu_bytes(self) -> int:
        return self.link_class.mtu_bytes


class TopologyError(Exception):
    """A topology cannot be as described.

    ``place`` is where the fault is; empty: not at one element.
    """

    def __init__(self, text: str, place: Place = ()) -> None:
        super().__init__(text, place)
        self.text = text
        self.place = place

    def __str__(self) -> str:
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.place).lstrip(".")
        return f"{where}: {self.text}" if where else self.text
