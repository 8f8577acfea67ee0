"""Routes of partial sums between racks, by chunk: for every chunk the racks form a tree.

Chunk c of r racks is finished at rack c mod r, its *home*, the root of its tree:

- *ring*: a path. The rack after the home begins; each adds its sum and passes it on, until the home has the total,
  which goes back along the path. So partial sums go round one way and totals the other.
- *sharded*: a star. Each rack sends its sum to the home, and the home the total to each.
- *tree*: a star whose home is always the first rack; the others are its leaves.

In the first two, (r - 1) M / r bytes of partial sums leave each rack and as many of totals: 2 (r - 1) M / r, however
many workers it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.protocol.services.aggregator import MOST_RACKS

RACK_MAC = 0x026E_7200_0000
RACK_IP = 0x0A4F_0000
"""Addresses between servers: locally administered MACs and 10.79.0.0/16, with the rack's number in the low bytes."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another rack's server, seen from ours."""

    rack: int
    port: int
    """The local port that leads to it."""
    zero_checksum_allowed: bool = False
    """As in ChildTerms."""

    def __post_init__(self) -> None:
        if not 0 <= self.rack < MOST_RACKS:
            raise ValueError(f"rack {self.rack}: racks are numbered from 0 to {MOST_RACKS - 1}")


@dataclass(frozen=True, slots=True)
class Place:
    """A server's rack and the other racks that it can reach."""

    rack: int
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """One rack's part in a chunk's tree, by the racks' positions in the job."""

    below: tuple[int, ...]
    """Racks that send partial sums here and get the total from here."""
    up: int | None
    """The rack that this rack's partial sum goes to; None: it is the total."""


def routes(way: str, position: int, racks: int) -> list[Route]:
    """Routes by chunk modulo ``racks``."""
    return [_route(way, position, racks, 0 if way == "tree" else home) for home in range(racks)]


def _route(way: str, position: int, racks: int, home: int) -> Route:
    if way != "ring":
        others = tuple(other for other in range(racks) if other != home)
        return Route(others, None) if position == home else Route((), home)
    begins = position == (home + 1) % racks
    below = () if begins else ((position - 1) % racks,)
    return Route(below, None if position == home else (position + 1) % racks)
