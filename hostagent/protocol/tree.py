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


FanOut = Sequence[int | tuple[int, ...]]
"""How many each level of a tree has below it, from the root down: 2, 4 are two leaves with four workers each. The last
may say it for each of the lowest switches: 2, (3, 5) are leaves with three and five workers."""


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


def tree_text(fan_out: FanOut) -> str:
    """As people write it: 2x4, or 2x3+5."""
    return "x".join("+".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in fan_out)


def workers_of(fan_out: FanOut) -> tuple[int, ...]:
    """How many workers each of the lowest switches has. Raises TreeRefused."""
    text, above, last = tree_text(fan_out), [], fan_out[-1] if fan_out else 0
    for each in fan_out[:-1]:
        if isinstance(each, tuple):
            raise TreeRefused(f"tree {text}: only the last level says for each switch how many it has below it")
        above.append(each)
    workers = last if isinstance(last, tuple) else (last,) * prod(above)
    if not all(1 <= each <= MOST_CHILDREN for each in (*above, *workers)) or not fan_out:
        raise TreeRefused(f"tree {text}: a switch has 1 to {MOST_CHILDREN} children")
    if len(workers) != prod(above):
        raise TreeRefused(f"tree {text}: it has {prod(above)} lowest switches, and workers of {len(workers)} are given")
    if sum(workers) >= FIRST_DOWN_PORT:
        raise TreeRefused(f"tree {text}: {sum(workers)} workers; there are ports for {FIRST_DOWN_PORT - 1}")
    return workers


def regular_tree(fan_out: FanOut, *, zero_checksum_allowed: bool = False) -> tuple[TreeSwitch, ...]:
    """The tree in which the root has ``fan_out[0]`` switches below it, and so on; the lowest have `workers_of` it, on
    ports from 1 on without gaps. A switch comes before those below it. Raises TreeRefused."""
    workers = list(workers_of(fan_out))
    switches: list[TreeSwitch] = []

    def grow(level: int, parent: int | None, place: int) -> None:
        index, first, below = len(switches), 1 + sum(len(s.ports) for s in switches), fan_out[level]
        is_lowest = level == len(fan_out) - 1
        ports = frozenset(range(first, first + workers.pop(0))) if is_lowest else frozenset()
        up = (UP_PORT, FIRST_DOWN_PORT + place) if parent is not None else (0, 0)
        switches.append(TreeSwitch(ports, parent, *up, zero_checksum_allowed))
        if not is_lowest:
            assert isinstance(below, int), "workers_of has looked"
            for child in range(below):
                grow(level + 1, index, child)

    grow(0, None, 0)
    return tuple(switches)


def switch_names(switches: Sequence[TreeSwitch]) -> tuple[str, ...]:
    """Names as in the topology of a tree: root, s0, s1, ... below it, s1.0 for child 0 of s1. A switch comes before
    those below it."""
    names: list[str] = []
    for index, switch in enumerate(switches):
        place = sum(other.parent == switch.parent for other in switches[:index])
        above = "" if switch.parent is None else names[switch.parent]
        names.append("root" if not above else f"s{place}" if above == "root" else f"{above}.{place}")
    return tuple(names)
