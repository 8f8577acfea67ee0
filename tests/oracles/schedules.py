"""Schedules run in all orders, with numbers as data: slow, obvious, and without anything of the verifier.

A task begins (a message reads what it carries) and ends (it is written, or added); both are events, and any order of
events is possible in which a task begins after all that it waits for have ended. Explored are all states that can be
reached. The contribution of rank r to any chunk is 16**r, so that a sum tells how often each rank is in it.
"""

from __future__ import annotations

from typing import Any

from emulator.network.schedule.parts import Collective, Compute, Operation, Reduce, Send

MOST_STATES = 20_000


def goes_wrong(schedule, start_ns=None, finish_ns=None):
    """Why the schedule can end in wrong sums or cannot be run so; empty: every order ends in the right ones. None:
    too many states."""
    tasks = list(schedule)
    for number, task in enumerate(tasks):
        if why := _lost_way(schedule, task):
            return f"task {number}: {why}"
    parts = [part for part in schedule.chunks for _ in range(part.count)]
    written = {(t.rank, chunk) for t in tasks if isinstance(t, Compute) for chunk in t.writes}
    data = {
        (rank, chunk): 16**rank
        for chunk, part in enumerate(parts)
        for rank in part.sources
        if (rank, chunk) not in written
    }
    first: Any = (frozenset(), frozenset(), tuple(sorted(data.items())))  # (ended, what passes: (task, values), data)
    seen, waiting = {first}, [first]
    while waiting:
        ended, passing, held = waiting.pop()
        under_way = {number for number, _ in passing}
        found = []
        for number, task in enumerate(tasks):
            if number in ended or number in under_way or not set(task.after) <= ended:
                continue
            values = _read(task, dict(held))
            if values is None:
                return f"task {number} reads what is not there"
            found.append((ended, passing | {(number, values)}, held))
        for number, values in passing:
            later = _written(tasks[number], values, dict(held))
            if later is None:
                return f"task {number} adds to what is not there"
            found.append((ended | {number}, passing - {(number, values)}, tuple(sorted(later.items()))))
        if not found and len(ended) == len(tasks):
            for chunk, part in enumerate(parts):
                for rank in part.destinations:
                    if dict(held).get((rank, chunk)) != sum(16**source for source in part.sources):
                        return f"rank {rank} ends without the sum of chunk {chunk}"
        for state in found:
            if state not in seen:
                seen.add(state)
                waiting.append(state)
        if len(seen) > MOST_STATES:
            return None
    return _wrong_times(schedule, tasks, start_ns, finish_ns) if start_ns is not None else ""


def _lost_way(schedule, task):
    if isinstance(task, Compute):
        return ""
    links = {link.name: (link.source, link.destination) for link in schedule.topology.links}
    hops = [links[name] for name in task.route]
    if isinstance(task, Collective):
        carried: dict[str, list[str]] = {}  # node -> contributions there, as often as they are added
        members = [schedule.places[rank] for rank in task.group]
        for member in members[:1] if task.operation is Operation.BROADCAST else members:
            carried[member] = [member]
        everything = sorted(name for names in carried.values() for name in names)
        for source, destination in hops:
            arriving, there = carried.get(source, []), carried.get(destination, [])
            if not arriving:
                return "a link has nothing to carry"
            carried[destination] = arriving if set(there) <= set(arriving) else there + arriving
        receivers = members[:1] if task.operation is Operation.REDUCE else members
        return "" if all(sorted(carried.get(each, [])) == everything for each in receivers) else "a member goes without"
    at = schedule.places[task.source]
    for source, destination in hops:
        if source != at:
            return "a gap in the route"
        at = destination
    return "" if at == schedule.places[task.destination] else "the route ends elsewhere"


def _read(task, data):
    """Values that a task takes along, or None where there is nothing."""
    if isinstance(task, Compute):
        return () if all((task.rank, chunk) in data for chunk in task.reads) else None
    ranks = [task.source] if isinstance(task, Send | Reduce) else list(task.group)
    if isinstance(task, Collective) and task.operation is Operation.BROADCAST:
        ranks = ranks[:1]
    if any((rank, chunk) not in data for rank in ranks for chunk in task.chunks):
        return None
    return tuple(sum(data[rank, chunk] for rank in ranks) for chunk in task.chunks)


def _written(task, values, data: dict[Any, Any]):
    if isinstance(task, Compute):
        return data | {(task.rank, chunk): 16**task.rank for chunk in task.writes}
    ranks = [task.destination] if isinstance(task, Send | Reduce) else list(task.group)
    if isinstance(task, Collective) and task.operation is Operation.REDUCE:
        ranks = ranks[:1]
    for rank in ranks:
        for chunk, value in zip(task.chunks, values, strict=True):
            if isinstance(task, Reduce):
                if (rank, chunk) not in data:
                    return None
                value += data[rank, chunk]
            data[rank, chunk] = value
    return data


def _wrong_times(schedule, tasks, start_ns, finish_ns):
    """Two tasks on one resource at a time, or one before what it waits for."""
    links = {link.name: link for link in schedule.topology.links}
    taken: dict[str, list[tuple[int, int]]] = {}
    for number, task in enumerate(tasks):
        begin, size = int(start_ns[number]), int(schedule.task_bytes[number])
        if any(finish_ns[other] > begin for other in task.after) or begin < 0:
            return f"task {number} is too early"
        if isinstance(task, Compute):
            taken.setdefault(f"unit {task.rank}", []).append((begin, begin + task.duration_ns))
            continue
        for name in task.route:
            held_ns = links[name].alpha_ns - (-size * 8_000_000_000 // links[name].rate_bps)
            taken.setdefault(name, []).append((begin, begin + held_ns))
    for name, spans in taken.items():
        for first in range(len(spans)):
            for other in range(first):
                if spans[first][0] < spans[other][1] and spans[other][0] < spans[first][1]:
                    return f"two tasks on {name} at once"
    return ""
