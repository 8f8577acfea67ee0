"""torch's execution traces (``torch.profiler.ExecutionTraceObserver``) of a training step: a JSON file for each rank.

A trace is a tree of operators with the tensors they take, without times. Those are in the profiler's timeline
(``export_chrome_trace``), whose "Record function id" is a node's ``rf_id``. Operators that call no collective are
computes, one after the other, each with all that it calls. What is first to touch a collective's memory waits for it,
and so does what follows one that is not asynchronous.
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
PREFIX, GROUPS, ROOT = "c10d::", "## process_group:init ##", "[pytorch|profiler|execution_trace|"
NO_COMPUTES = (GROUPS, "gloo:", "nccl:", "record_param_comms")
"""Beginnings of names: what a collective itself does."""
IGNORED = ("barrier", "monitored_barrier_")


@dataclass(frozen=True, slots=True)
class Operator:
    """A compute, or a collective of all ranks of a group."""

    id: int
    name: str
    after: tuple[int, ...]
    """Ids."""
    duration_ns: int = 0
    """Of a compute; 0 without a timeline."""
    collective: int = -1
    """CollectiveCommType, -1: none."""
    bytes: int = 0
    """Of its largest argument: what is added up, or what all ranks have together."""
    group: str = ""


def read_operators(trace: Path, timeline: Path) -> list[Operator]:
    """In the order in which they began. ``timeline`` need not be there. Raises ScheduleError."""
    try:
        document = json.loads(trace.read_text(encoding="utf-8"))
        nodes = {node["id"]: node for node in sorted(document["nodes"], key=lambda each: each["id"])}
        groups = _groups(nodes)
        found = list(_operators(nodes, _times_ns(timeline) if timeline.is_file() else {}))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ScheduleError(f"{trace}: no execution trace of torch: {type(error).__name__}: {error}") from None
    if groups > 1 and any(each.collective >= 0 and not each.group for each in found):
        raise ScheduleError(f"{trace}: {groups} process groups, and collectives that do not say of which they are")
    return found


def _groups(nodes: Mapping[int, Any]) -> int:
    """How many process groups there are."""
    node = next((node for node in nodes.values() if node["name"] == GROUPS), None)
    if node is None:
        raise ValueError(f"no node {GROUPS!r}, as of a job without torch.distributed")
    return len(json.loads(node["inputs"]["values"][0]))


def _times_ns(timeline: Path) -> dict[int, tuple[int, int]]:
    """By record function id: begin and end."""
    events = json.loads(timeline.read_text(encoding="utf-8"))["traceEvents"]
    timed = [each for each in events if "dur" in each and "Record function id" in each.get("args", {})]
    begin_us = min((each["ts"] for each in timed), default=0)
    ends = [(round(1000 * (each["ts"] - begin_us)), round(1000 * each["dur"])) for each in timed]
    return {each["args"]["Record function id"]: (at, at + took) for each, (at, took) in zip(timed, ends, strict=True)}


def _operators(nodes: Mapping[int, Any], times_ns: Mapping[int, tuple[int, int]]) -> Iterator[Operator]:
    attributes = {number: {each["name"]: each["value"] for each in node["attrs"]} for number, node in nodes.items()}
    times = {number: times_ns.get(attributes[number]["rf_id"], (0, 0)) for number in nodes}
    roots = {number for number, node in nodes.items() if node["name"].startswith(ROOT)}
    # an operator that is open when the observer ends is not in the trace, but what it has called is
    above = {number: each if (each := node["ctrl_deps"]) in nodes else min(roots) for number, node in nodes.items()}
    for number in nodes:  # operators of other threads may keep one open for the observer that has ended
        while times[number][0] and 0 < times[above[number]][1] <= times[number][0]:
            above[number] = above[above[number]]
    below: dict[int, list[int]] = {}
    for number in nodes:
        below.setdefault(above[number], []).append(number)
    called = [number for number, node in nodes.items() if node["name"].startswith(PREFIX)]
    around = roots.union(called)
    for number in called:  # all that call a collective
        while (number := above[number]) not in roots:
            around.add(number)
    latest: set[int] = set()  # the compute before, and what else the next operator waits for
    moved: dict[int, int] = {}  # memory -> the collective that uses it
    for number, node in nodes.items():
        name, is_call = node["name"].removeprefix(PREFIX), node["name"].startswith(PREFIX)
        if not is_call and (number in around or above[number] not in around or name.startswith(NO_COMPUTES)):
            continue
        inside = [number] if is_call else list(_inside(below, number))
        touched = {memory for each in inside for memory, _ in _tensors(nodes[each]["inputs"]["values"])}
        waits = tuple(sorted(latest | {moved.pop(memory) for memory in touched if memory in moved}))
        if not is_call:
            yield Operator(number, name, waits, times[number][1] - times[number][0])
            latest = {number}
        elif name not in IGNORED:
            if name not in COLLECTIVES:
                raise ValueError(f"node {number}: {name} is none of {', '.join(COLLECTIVES)}")
            size = max(sum(count for _, count in _tensors(each)) for each in node["inputs"]["values"])
            group = next(
                (attributes[each]["pg_name"] for each in below.get(number, ()) if "pg_name" in attributes[each]), ""
            )
            yield Operator(number, name, waits, 0, COLLECTIVES[name], size, group)
            moved |= dict.fromkeys(touched, number)
            latest |= set() if _is_asynchronous(node, attributes[number]["op_schema"]) else {number}


def _inside(below: Mapping[int, list[int]], number: int) -> Iterator[int]:
    """A node and all that it calls."""
    yield number
    for each in below.get(number, ()):
        yield from _inside(below, each)


def _tensors(value: Any) -> Iterator[tuple[int, int]]:
    """(memory, bytes) of an argument's tensors, which are [id, memory, offset, elements, bytes of one, device]."""
    if isinstance(value, list) and len(value) == 6 and isinstance(value[5], str):
        yield value[1], value[3] * value[4]
    elif isinstance(value, list):
        for each in value:
            yield from _tensors(each)


def _is_asynchronous(node: Mapping[str, Any], schema: str) -> bool:
    """``schema``: as ``c10d::f(Tensor[] tensors, ..., bool async_op=True, int timeout=-1) -> ...``."""
    arguments = schema[schema.index("(") + 1 : schema.index(")")].split(", ")
    flags = (value for name, value in zip(arguments, node["inputs"]["values"], strict=False) if "bool async" in name)
    return bool(next(flags, True))
