"""A schedule on live ranks: its messages are those of a process group, its collectives are summed in the switch.

Each rank goes through its own tasks in the order of the list: it finishes those that a task waits for, then starts it,
and goes on. All that a task waits for is earlier in every rank's list, so no rank waits for one that waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from emulator.network.schedule.columns import Kind
from emulator.network.schedule.parts import Collective, Compute, Operation, Reduce, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.parts import NodeKind
from hostagent.planner.placement.live import probed_order

Held: TypeAlias = dict[int, Tensor]
"""Chunks at a rank: one-dimensional tensors by number, of a chunk's bytes each."""
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

    ``switches``: for each switch that sums, by its node's name, what `torch.distributed.new_group` takes for a group
    there, such as ``{"row0": {"backend": "netsum", "pg_options": Options(controller="127.0.0.1:9000")}}``; empty: all
    collectives are those of the group's own backend.
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
                    return _Started(self._isend(_joined(held, chunks), destination))
                message = self._joined_or_new(held, chunks, like)
                return _Started(self._irecv(message, source), lambda: _spread(message, held, chunks))
            case Reduce(source=source, destination=destination, chunks=chunks):
                if source == self.rank:
                    return _Started(self._isend(_joined(held, chunks), destination))
                arriving = torch.empty_like(_joined(held, chunks))
                return _Started(self._irecv(arriving, source), lambda: _add(arriving, held, chunks))
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

    def _isend(self, tensor: Tensor, destination: int) -> Any:
        return dist.isend(tensor, self._global[destination], group=self.group)

    def _irecv(self, tensor: Tensor, source: int) -> Any:
        return dist.irecv(tensor, self._global[source], group=self.group)

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
                if not own[other] and not self._members(number) & self._members(other):
                    text = f"it waits for task {other}, which none of its ranks takes part in: they cannot know"
                    raise ScheduleError(text, ("tasks", number, "after"))
            found[number] = [other for other in waits if own[other]]
        return found

    def _members(self, number: int) -> set[int]:
        columns = self.schedule.columns
        if columns.kind[number] == Kind.COLLECTIVE:
            return set(columns.group.row(number).tolist())
        return {int(columns.source[number]), int(columns.destination[number])}

    @property
    def groups(self) -> list[dist.ProcessGroup]:
        """Of collectives, those with this rank as a member; without the group of the schedule itself."""
        own = (group for (members, _), group in self._groups.items() if self.rank in members)
        return [group for group in own if group is not None and group is not self.group]

    def _place(self, number: int) -> tuple[tuple[int, ...], str]:
        """Members of a collective and, with ``switches``, the one that sums."""
        members = tuple(sorted(self.schedule.columns.group.row(number).tolist()))
        return members, summing_switch(self.schedule, number) if self.switches else ""

    def _made_groups(self) -> dict[tuple[tuple[int, ...], str], dist.ProcessGroup | None]:
        """A process group for each set of members and switch; all ranks make all of them, in the same order."""
        found: dict[tuple[tuple[int, ...], str], dist.ProcessGroup | None] = {}
        found[tuple(range(self.schedule.ranks)), ""] = self.group
        for number in np.flatnonzero(self.schedule.columns.kind == Kind.COLLECTIVE).tolist():
            members, switch = self._place(number)
            if (members, switch) not in found:
                if switch and switch not in self.switches:
                    raise ScheduleError(f"nothing is said about switch {switch}", ("tasks", number, "route"))
                ranks = [self._global[rank] for rank in members]
                found[members, switch] = dist.new_group(ranks, **self.switches.get(switch, {}))
        return found


def summing_switch(schedule: Schedule, number: int) -> str:
    """The switch of a collective's tree. Raises ScheduleError for a tree of several."""
    topology = schedule.topology
    ends: set[str] = {topology.links[link].destination for link in schedule.columns.route.row(number).tolist()}
    switches = [name for name in sorted(ends) if topology.node(name).kind is NodeKind.SWITCH]
    if len(switches) != 1:
        raise ScheduleError(f"{len(switches)} switches sum; live, each tree has one", ("tasks", number, "route"))
    return switches[0]


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
