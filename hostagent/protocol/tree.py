"""Trees of switches: which port leads where (PROTOCOL.md, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hostagent.protocol.window import MOST_CHILDREN

UP_PORT = 510
FIRST_DOWN_PORT = UP_PORT - MOST_CHILDREN
"""In regular trees: the port of a leaf that leads up, and the first one of a switch that leads down. v1model drops what
is sent to port 511. Workers have the numbers below."""


class TreeRefused(Exception):
    """The switches are no tree, or a job does not fit them; the text says why."""


@dataclass(frozen=True, slots=True)
class TreeSwitch:
    """A switch, and its cable to the one above."""

    ports: frozenset[int]
    """Numbers of its ports for workers; no two switches have the same number."""
    parent: int | None = None
    """Index of the switch above; None: it is the root."""
    up_port: int = 0
    """Its own port that leads there."""
    down_port: int = 0
    """The parent's port that leads here."""
    zero_checksum_allowed: bool = False
    """On that cable."""


def check_tree(switches: Sequence[TreeSwitch]) -> None:
    """Raises TreeRefused unless the switches are one tree with every port number once."""
    roots = [index for index, switch in enumerate(switches) if switch.parent is None]
    if len(roots) != 1:
        raise TreeRefused(f"a tree has one root; {len(roots)} of {len(switches)} switches have no parent")
    for index in range(len(switches)):
        path = [index]
        while (above := switches[path[-1]].parent) is not None:
            if above in path or not 0 <= above < len(switches):
                raise TreeRefused(f"switch {index} does not lead to the root: its path upwards is {[*path, above]}")
            path.append(above)
    ports = [port for switch in switches for port in switch.ports]
    twice = sorted(port for port in set(ports) if ports.count(port) > 1)
    if twice:
        raise TreeRefused(f"port {twice[0]} belongs to several switches: give every port a different number")


def regular_tree(fan_out: Sequence[int], *, zero_checksum_allowed: bool = False) -> tuple[TreeSwitch, ...]:
    """The tree in which the root has ``fan_out[0]`` switches below it, and so on; those of the last level but one have
    ``fan_out[-1]`` workers each, on ports from 1 on without gaps. A switch comes before those below it. Raises
    TreeRefused."""
    text = "x".join(map(str, fan_out))
    if not fan_out or not all(1 <= each <= MOST_CHILDREN for each in fan_out):
        raise TreeRefused(f"tree {text}: a switch has 1 to {MOST_CHILDREN} children")
    if prod(fan_out) >= FIRST_DOWN_PORT:
        raise TreeRefused(f"tree {text}: {prod(fan_out)} workers; there are ports for {FIRST_DOWN_PORT - 1}")
    switches: list[TreeSwitch] = []

    def grow(level: int, parent: int | None, place: int) -> None:
        index, is_lowest, first = len(switches), level == len(fan_out) - 1, 1 + sum(len(s.ports) for s in switches)
        ports = frozenset(range(first, first + fan_out[level])) if is_lowest else frozenset()
        up = (UP_PORT, FIRST_DOWN_PORT + place) if parent is not None else (0, 0)
        switches.append(TreeSwitch(ports, parent, *up, zero_checksum_allowed))
        if not is_lowest:
            for child in range(fan_out[level]):
                grow(level + 1, index, child)

    grow(0, None, 0)
    return tuple(switches)
