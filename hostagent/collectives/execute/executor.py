"""A schedule on live ranks: its messages are those of a process group, its collectives are summed in the switch.

Each rank goes through its own tasks in the order of the list: it finishes those that a task waits for, then starts it,
and goes on. All that a task waits for is earlier in every rank's list, so no rank waits for one that waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from emulator.network.schedule.columns import OPERATIONS, Kind
from emulator.network.schedule.parts import Collective, Compute, Operation, Reduce, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.parts import NodeKind
from hostagent.planner.placement.live import probed_order
from hostagent.protocol.tree import FanOut

Held: TypeAlias = dict[int, Tensor]
"""Chunks at a rank: one-dimensional tensors by number, of a chunk's bytes each."""
_Place: TypeAlias = tuple[tuple[int, ...], str]
"""Of a process group: its ranks, and its switch if ``switches`` are given."""
Call: TypeAlias = Callable[[Held], None]
"""What a Compute calls; it may read and change the chunks at its rank."""


@dataclass(slots=True)
class _Started:
    """A task of this rank that may not be finished yet."""

    work: Any
    """torch.distributed's handle, or None."""
    arrive: Callable[[], None] | None = None
    """What is left to do with what has arrived."""


class Executor:
    """Runs one schedule, any number of times, on the ranks of a group.

    Raises ScheduleError where the schedule does not fit the group, or where a task waits for one of which none of its
    own ranks knows. All ranks make their executors together: groups of a collective's members are made here.

    Rank r of the schedule is rank ``order[r]`` of the group. With ``reorder`` (None: if the group has the option
    ``reorder="probe"``) that is the cheapest order of an allreduce, by a probe of the group: `probed_order`.

    ``switches``: for each switch on links of tasks, by its node's name, what `torch.distributed.new_group` takes for a
    group there, such as ``{"row0": {"backend": "netsum", "pg_options": Options(controller="127.0.0.1:9000")}}``; empty:
    all messages and collectives are those of the group's own backend.
    """

    def __init__(
        self,
        schedule: Schedule,
        group: dist.ProcessGroup | None = None,
        calls: Mapping[str, Call] | None = None,
        switches: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        reorder: bool | None = None,
    ) -> None:
        self.schedule, self.group, self.calls = schedule, group, calls or {}
        self.switches = switches or {}
        if dist.get_world_size(group) != schedule.ranks:
            raise ScheduleError(
                f"{schedule.name} has {schedule.ranks} ranks, the process group {dist.get_world_size(group)}"
            )
        self.order = list(range(schedule.ranks))
        whole = dist.group.WORLD if group is None else group
        if whole is not None and (getattr(whole, "reorders", False) if reorder is None else reorder):
            self.order = probed_order(schedule, whole)
        self.rank = self.order.index(dist.get_rank(group))
        """Of the schedule."""
        self._global = [self._global_rank(rank) for rank in self.order]
        self._at = {
            switch: tuple(ranks_of(schedule, tasks))
            for switch, tasks in (tasks_of_switches(schedule) if self.switches else {}).items()
        }
        self._groups = self._made_groups()
        self._tasks = self._own_tasks()
        for number in self._tasks:
            task = schedule[number]
            if isinstance(task, Compute) and task.call and task.call not in self.calls:
                raise ScheduleError(f"no function is given for the call {task.call!r}", ("tasks", number, "call"))

    def run(self, held: Held) -> None:
        """``held``: the chunks of which this rank is a source, changed in place; what arrives besides is added.

        A chunk's tensor has its bytes, in any type that the group sums. Raises ScheduleError for a tensor that does
        not fit, and what the group raises where a rank is lost or late.
        """
        for chunk, tensor in held.items():
            wanted = int(self.schedule.chunk_bytes[chunk])
            if tensor.numel() * tensor.element_size() != wanted or not tensor.is_contiguous():
                raise ScheduleError(f"chunk {chunk} is not a contiguous tensor of {wanted} bytes")
        like = next(iter(held.values()), torch.empty(0))
        started: dict[int, _Started] = {}
        for number, waits in self._tasks.items():
            for earlier in waits:
                _finish(started.pop(earlier, None))
            started[number] = self._start(number, held, like)
        for each in started.values():
            _finish(each)

    def _start(self, number: int, held: Held, like: Tensor) -> _Started:
        match self.schedule[number]:
            case Compute(call=call):
                if call:
                    self.calls[call](held)
                return _Started(None)
            case Send(source=source, destination=destination, chunks=chunks):
                if source == self.rank:
                    return _Started(self._isend(number, _joined(held, chunks), destination))
                message = self._joined_or_new(held, chunks, like)
                return _Started(self._irecv(number, message, source), lambda: _spread(message, held, chunks))
            case Reduce(source=source, destination=destination, chunks=chunks):
                if source == self.rank:
                    return _Started(self._isend(number, _joined(held, chunks), destination))
                arriving = torch.empty_like(_joined(held, chunks))
                return _Started(self._irecv(number, arriving, source), lambda: _add(arriving, held, chunks))
            case Collective(operation=operation, group=members, chunks=chunks):
                group, root = self._groups[self._place(number)], self._global[members[0]]
                if operation is Operation.BROADCAST:
                    message = self._joined_or_new(held, chunks, like)
                    work = dist.broadcast(message, root, group=group, async_op=True)
                elif operation is Operation.REDUCE:
                    message = _joined(held, chunks)
                    if self.rank != members[0]:  # a backend may use the memory of others for partial sums
                        return _Started(dist.reduce(message.clone(), root, group=group, async_op=True))
                    work = dist.reduce(message, root, group=group, async_op=True)
                else:
                    message = _joined(held, chunks)
                    work = dist.all_reduce(message, group=group, async_op=True)
                return _Started(work, lambda: _spread(message, held, chunks))

    def _isend(self, number: int, tensor: Tensor, destination: int) -> Any:
        return dist.isend(tensor, self._global[destination], group=self._groups[self._place(number)])

    def _irecv(self, number: int, tensor: Tensor, source: int) -> Any:
        return dist.irecv(tensor, self._global[source], group=self._groups[self._place(number)])

    def _joined_or_new(self, held: Held, chunks: tuple[int, ...], like: Tensor) -> Tensor:
        """Memory for chunks of which the rank may hold none yet."""
        for chunk in chunks:
            if chunk not in held:
                count = int(self.schedule.chunk_bytes[chunk]) // like.element_size()
                held[chunk] = torch.empty(count, dtype=like.dtype, device=like.device)
        return _joined(held, chunks)

    def _global_rank(self, rank: int) -> int:
        return rank if self.group is None else dist.get_global_rank(self.group, rank)

    def _own_tasks(self) -> dict[int, list[int]]:
        """Tasks of this rank -> those of them that each waits for."""
        columns = self.schedule.columns
        own = (columns.source == self.rank) | (columns.destination == self.rank)
        own[columns.group.owners[columns.group.values == self.rank]] = True
        found: dict[int, list[int]] = {}
        for number in np.flatnonzero(own).tolist():
            waits = columns.after.row(number).tolist()
            for other in waits:
                if not own[other] and not {*ranks_of(self.schedule, [number])} & {*ranks_of(self.schedule, [other])}:
                    text = f"it waits for task {other}, which none of its ranks takes part in: they cannot know"
                    raise ScheduleError(text, ("tasks", number, "after"))
            found[number] = [other for other in waits if own[other]]
        return found

    def groups(self, switch: str = "") -> list[dist.ProcessGroup]:
        """Those at a switch that have this rank as a member, that of all ranks there first; no ``switches``: all."""
        own = [group for (members, at), group in self._groups.items() if self.rank in members and at == switch]
        return [group for group in (dist.group.WORLD if each is None else each for each in own) if group is not None]

    def _place(self, number: int) -> _Place:
        """Of a collective, or of messages, which are in one group for all ranks."""
        columns = self.schedule.columns
        switch = switch_of(self.schedule, number) if self.switches else ""
        if columns.kind[number] == Kind.COLLECTIVE:
            return tuple(ranks_of(self.schedule, [number])), switch
        return self._at.get(switch, tuple(range(self.schedule.ranks))), switch

    def _made_groups(self) -> dict[_Place, dist.ProcessGroup | None]:
        """All ranks make all of them, in the same order."""
        found: dict[_Place, dist.ProcessGroup | None] = {}
        if not self.switches:
            found[tuple(range(self.schedule.ranks)), ""] = self.group
        collectives = np.flatnonzero(self.schedule.columns.kind == Kind.COLLECTIVE).tolist()
        for members, switch in [
            *((ranks, switch) for switch, ranks in self._at.items()),
            *map(self._place, collectives),
        ]:
            if (members, switch) not in found:
                if switch and switch not in self.switches:
                    raise ScheduleError(f"nothing is said about switch {switch}", ("tasks",))
                ranks = [self._global[rank] for rank in members]
                found[members, switch] = dist.new_group(ranks, **self.switches.get(switch, {}))
        return found


def tasks_of_switches(schedule: Schedule) -> dict[str, list[int]]:
    """Messages and collectives of each switch. Raises ScheduleError, see `switch_of`, and where there is no switch."""
    found: dict[str, list[int]] = {}
    for number in np.flatnonzero(schedule.columns.kind != Kind.COMPUTE).tolist():
        found.setdefault(switch_of(schedule, number), []).append(number)
    if not found:
        raise ScheduleError("no message passes a switch, and none sums", ("tasks",))
    return found


def tree_of_switches(schedule: Schedule) -> FanOut:
    """The ranks below each switch, where all tasks are sums of all ranks in one tree of a root and such switches, each
    with ranks that follow each other. Empty: they are something else."""
    columns, links = schedule.columns, schedule.topology.links
    everybody = list(range(schedule.ranks))
    if any((columns.kind != Kind.COLLECTIVE) | (columns.label != OPERATIONS.index(Operation.ALLREDUCE))):
        return ()
    trees = {tuple(columns.route.row(number).tolist()) for number in range(len(schedule))}
    if len(trees) != 1 or any(
        sorted(columns.group.row(number).tolist()) != everybody for number in range(len(schedule))
    ):
        return ()
    above = {links[link].source: links[link].destination for link in trees.pop()[::-1]}  # up links come first
    leaves = [above[place] for place in schedule.places]
    roots = {above.get(leaf) for leaf in leaves}
    counts = [len(list(part)) for _, part in groupby(leaves)]
    if len(counts) < 2 or len(counts) != len(set(leaves)) or len(roots) != 1 or roots & {*leaves, *schedule.places}:
        return ()
    return len(counts), counts[0] if len(set(counts)) == 1 else tuple(counts)


def switch_of(schedule: Schedule, number: int) -> str:
    """The switch of a collective's tree, or on a message's route. Raises ScheduleError for another number than one."""
    topology = schedule.topology
    ends: set[str] = {topology.links[link].destination for link in schedule.columns.route.row(number).tolist()}
    switches = [name for name in sorted(ends) if topology.node(name).kind is NodeKind.SWITCH]
    if len(switches) != 1:
        text = f"{len(switches)} switches are on its links; live, each message and each sum has one"
        raise ScheduleError(text, ("tasks", number, "route"))
    return switches[0]


def ranks_of(schedule: Schedule, tasks: Iterable[int]) -> list[int]:
    """All that take part in some of these messages and collectives, ascending."""
    columns = schedule.columns
    found: set[int] = set()
    for number in tasks:
        is_collective = columns.kind[number] == Kind.COLLECTIVE
        ends = (int(columns.source[number]), int(columns.destination[number]))
        found.update(columns.group.row(number).tolist() if is_collective else ends)
    return sorted(found)


def _finish(task: _Started | None) -> None:
    if task is not None:
        if task.work is not None:
            task.work.wait()
        if task.arrive is not None:
            task.arrive()


def _joined(held: Held, chunks: Iterable[int]) -> Tensor:
    """One tensor for a message: the chunk itself where there is one, else a copy."""
    tensors = [held[chunk] for chunk in chunks]
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)


def _parts(message: Tensor, held: Held, chunks: tuple[int, ...]) -> Iterable[tuple[Tensor, Tensor]]:
    """(chunk at this rank, what has arrived for it)."""
    sizes = [held[chunk].numel() for chunk in chunks]
    return zip((held[chunk] for chunk in chunks), torch.split(message, sizes), strict=True)


def _spread(message: Tensor, held: Held, chunks: tuple[int, ...]) -> None:
    if len(chunks) > 1:  # a single chunk has arrived where it belongs
        for own, part in _parts(message, held, chunks):
            own.copy_(part)


def _add(message: Tensor, held: Held, chunks: tuple[int, ...]) -> None:
    for own, part in _parts(message, held, chunks):
        own.add_(part)
