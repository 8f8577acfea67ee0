"""Which processors a server's cores run on: of one NUMA node where they fit, else the same number of each.

A block's memory is touched first by the core that owns it, and the system gives it pages of that core's node. So cores
that stay where they are find their weights near them, and nothing else has to be placed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system")


@dataclass(frozen=True, slots=True)
class Node:
    """A NUMA node's processors that may be used, whole cores first: a second thread of a core comes after all others'
    first."""

    number: int
    processors: tuple[int, ...]


def parse_list(text: str) -> list[int]:
    """The kernel's lists: ``0-3,8,10-11``."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def read_nodes(allowed: Collection[int], system: Path = SYSTEM) -> list[Node]:
    """The machine's nodes. One of all processors where the kernel knows of none."""
    nodes = []
    for path in sorted(system.glob("node/node[0-9]*/cpulist")):
        listed = [cpu for cpu in parse_list(path.read_text()) if cpu in allowed]
        if listed:
            nodes.append(Node(int(path.parent.name.removeprefix("node")), _whole_first(listed, system)))
    left = sorted(set(allowed) - {cpu for node in nodes for cpu in node.processors})
    return sorted(nodes, key=lambda node: node.number) + ([Node(-1, _whole_first(left, system))] if left else [])


def _whole_first(processors: Sequence[int], system: Path) -> tuple[int, ...]:
    """Processors by the place among the threads of their core."""

    def place(processor: int) -> int:
        path = system / f"cpu/cpu{processor}/topology/thread_siblings_list"
        siblings = parse_list(path.read_text()) if path.exists() else [processor]
        return sorted(siblings).index(processor) if processor in siblings else 0

    return tuple(sorted(processors, key=lambda processor: (place(processor), processor)))


def choose(cores: int, nodes: Sequence[Node]) -> list[int]:
    """A processor for each core; none where there are fewer processors than cores.

    The smallest node that has enough; where none has, the nodes take turns.
    """
    if sum(len(node.processors) for node in nodes) < cores:
        return []
    fitting = [node for node in nodes if len(node.processors) >= cores]
    if fitting:
        return list(min(fitting, key=lambda node: len(node.processors)).processors[:cores])
    longest = max(len(node.processors) for node in nodes)
    turns = [node.processors[turn] for turn in range(longest) for node in nodes if turn < len(node.processors)]
    return sorted(turns[:cores])


def processors_for(cores: int) -> list[int]:
    """CPUs for the given number of worker threads, among those that this process may use; see ``choose``."""
    return choose(cores, read_nodes(os.sched_getaffinity(0)))
