"""torch's execution traces (``torch.profiler.ExecutionTraceObserver``) of a training step: a JSON file for each rank.

A trace is a tree of operators with the tensors they take, without times. Those are in the profiler's timeline
(``export_chrome_trace``), whose "Record function id" is a node's ``rf_id``. Operators that call no collective are
computes, one after the other, each with all that it calls. What is first to touch the memory of a collective, or of a
message, waits for it, and so does what follows a collective that is not asynchronous.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.network.schedule.parts import ScheduleError

COLLECTIVES: Mapping[str, int] = {
    "allreduce_": 0,
    "reduce_": 1,
    "allgather_": 2,
    "_allgather_base_": 2,
    "broadcast_": 5,
    "alltoall_": 6,
    "alltoall_base_": 6,
    "reduce_scatter_": 7,
    "_reduce_scatter_base_": 7,
}
"""Names of c10d's operators -> Chakra's CollectiveCommType."""
MESSAGES = ("send", "recv_")
PREFIX, GROUPS, ROOT = "c10d::", "## process_group:init ##", "[pytorch|profiler|execution_trace|"
NO_COMPUTES = (GROUPS, "gloo:", "nccl:", "record_param_comms")
"""Beginnings of names: what a collective itself does."""
IGNORED = ("barrier", "monitored_barrier_")


@dataclass(frozen=True, slots=True)
class Operator:
    """A compute, a collective of all ranks of a group, or one end of a message."""

    id: int
    name: str
    after: tuple[int, ...]
    """Ids."""
    duration_ns: int = 0
    """Of a compute; 0 without a timeline."""
    collective: int = -1
    """CollectiveCommType, -1: none."""
    bytes: int = 0
    """Of its largest argument: what is added up, what all ranks have together, or what is sent."""
    group: str = ""
    peer: int = -1
    """Rank at the other end of a message; -1: it is none."""
    tag: int = 0


def read_operators(trace: Path, timeline: Path) -> list[Operator]:
    """In the order in which they began. ``timeline`` need not be there. Raises ScheduleError."""
    try:
        document = json.loads(trace.read_text(encoding="utf-8"))
        nodes = {node["id"]: node for node in sorted(document["nodes"], key=lambda each: each["id"])}
        groups = _groups(nodes)
        found = list(_Calls(nodes, _times_ns(timeline) if timeline.is_file() else {}).operators(groups))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ScheduleError(f"{trace}: no execution trace of torch: {type(error).__name__}: {error}") from None
    if len(groups) > 1 and any((each.collective >= 0 or each.peer >= 0) and not each.group for each in found):
        text = "process groups, and collectives or messages that do not say of which they are, as gloo's never do"
        raise ScheduleError(f"{trace}: {len(groups)} {text}")
    return found


def _groups(nodes: Mapping[int, Any]) -> dict[str, list[int]]:
    """The ranks of each process group by its name; none: all."""
    node = next((node for node in nodes.values() if node["name"] == GROUPS), None)
    if node is None:
        raise ValueError(f"no node {GROUPS!r}, as of a job without torch.distributed")
    return {each["pg_name"]: each["ranks"] for each in json.loads(node["inputs"]["values"][0])}


def _times_ns(timeline: Path) -> dict[int, tuple[int, int]]:
    """By record function id: begin and end."""
    events = json.loads(timeline.read_text(encoding="utf-8"))["traceEvents"]
    timed = [each for each in events if "dur" in each and "Record function id" in each.get("args", {})]
    begin_us = min((each["ts"] for each in timed), default=0)
    ends = [(round(1000 * (each["ts"] - begin_us)), round(1000 * each["dur"])) for each in timed]
    return {each["args"]["Record function id"]: (at, at + took) for each, (at, took) in zip(timed, ends, strict=True)}


class _Calls:
    """Who calls whom in a trace."""

    def __init__(self, nodes: Mapping[int, Any], times_ns: Mapping[int, tuple[int, int]]) -> None:
        self.nodes = nodes
        self.attributes = {
            number: {each["name"]: each["value"] for each in node["attrs"]} for number, node in nodes.items()
        }
        self.times_ns = {number: times_ns.get(self.attributes[number]["rf_id"], (0, 0)) for number in nodes}
        self.above = self._callers()
        self.below: dict[int, list[int]] = {}
        for number in nodes:
            self.below.setdefault(self.above[number], []).append(number)

    def operators(self, groups: Mapping[str, list[int]]) -> Iterator[Operator]:
        around = self._around()
        latest: set[int] = set()  # the compute before, and what else the next operator waits for
        moved: dict[int, int] = {}  # memory -> the collective or message that uses it
        for number, node in self.nodes.items():
            is_call = node["name"].startswith(PREFIX)
            is_inside = number in around or self.above[number] not in around
            if not is_call and (is_inside or node["name"].startswith(NO_COMPUTES)):
                continue
            inside = [number] if is_call else list(self._inside(number))
            touched = {memory for each in inside for memory, _ in _tensors(self.nodes[each]["inputs"]["values"])}
            waits = tuple(sorted(latest | {moved.pop(memory) for memory in touched if memory in moved}))
            if not is_call:
                begin_ns, end_ns = self.times_ns[number]
                yield Operator(number, node["name"], waits, end_ns - begin_ns)
                latest = {number}
            elif node["name"].removeprefix(PREFIX) not in IGNORED:
                yield self._call(number, waits, groups)
                moved |= dict.fromkeys(touched, number)
                latest |= set() if _is_asynchronous(node, self.attributes[number]["op_schema"]) else {number}

    def _callers(self) -> dict[int, int]:
        """Of each node the one that has called it; a root its own parent, which is no node."""
        roots = [number for number, node in self.nodes.items() if node["name"].startswith(ROOT)]
        # an operator that is open when the observer ends is not in the trace, but what it has called is
        found = {
            number: each if (each := node["ctrl_deps"]) in self.nodes else min(roots)
            for number, node in self.nodes.items()
        }
        for number in self.nodes:  # operators of other threads may keep one open for the observer that has ended
            while self.times_ns[number][0] and 0 < self.times_ns[found[number]][1] <= self.times_ns[number][0]:
                found[number] = found[found[number]]
        return found

    def _around(self) -> set[int]:
        """Roots, and all that call a collective or a message, themselves or by others."""
        roots = {number for number, node in self.nodes.items() if node["name"].startswith(ROOT)}
        found = set(roots)
        for number, node in self.nodes.items():
            if node["name"].startswith(PREFIX):
                found.add(number)
                while (number := self.above[number]) not in roots:
                    found.add(number)
        return found

    def _inside(self, number: int) -> Iterator[int]:
        """A node and all that it calls."""
        yield number
        for each in self.below.get(number, ()):
            yield from self._inside(each)

    def _call(self, number: int, waits: tuple[int, ...], groups: Mapping[str, list[int]]) -> Operator:
        """A collective, or an end of a message."""
        values = self.nodes[number]["inputs"]["values"]
        name = self.nodes[number]["name"].removeprefix(PREFIX)
        if name not in COLLECTIVES and name not in MESSAGES:
            raise ValueError(f"node {number}: {name} is none of {', '.join((*COLLECTIVES, *MESSAGES))}")
        size = max(sum(count for _, count in _tensors(each)) for each in values)
        called = (self.attributes[each] for each in self.below.get(number, ()))
        group = next((each["pg_name"] for each in called if "pg_name" in each), "")
        if name in COLLECTIVES:
            return Operator(number, name, waits, 0, COLLECTIVES[name], size, group)
        ranks = groups.get(group)
        return Operator(number, name, waits, 0, -1, size, group, ranks[values[2]] if ranks else values[2], values[3])


def _tensors(value: Any) -> Iterator[tuple[int, int]]:
    """(memory, bytes) of an argument's tensors, which are [id, memory, offset, elements, bytes of one, device]."""
    if isinstance(value, list) and list(map(type, value)) == [int, int, int, int, int, str]:
        yield value[1], value[3] * value[4]
    elif isinstance(value, list):
        for each in value:
            yield from _tensors(each)


def _is_asynchronous(node: Mapping[str, Any], schema: str) -> bool:
    """``schema``: as ``c10d::f(Tensor[] tensors, ..., bool async_op=True, int timeout=-1) -> ...``."""
    arguments = schema[schema.index("(") + 1 : schema.index(")")].split(", ")
    flags = (value for name, value in zip(arguments, node["inputs"]["values"], strict=False) if "bool async" in name)
    return bool(next(flags, True))
