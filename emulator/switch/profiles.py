"""Action profiles and selectors: members, groups, one-shot groups.

bmv2 numbers members with handles, the smallest free one first, and a selector takes the n-th of a group's handles in
ascending order; a weight is made of further copies of the member, each with another handle (PI). Both are kept
here, for they decide which packet takes which action.
"""

from __future__ import annotations

import heapq
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from emulator.switch.control import Code, ControlError, Group, GroupMember, Member, OneShot, Through, ToGroup, ToMember
from emulator.v1model.control_view import ProfileView

Call: TypeAlias = tuple[int, tuple[int, ...]]
"""(action id, parameters)."""
Target: TypeAlias = ToMember | ToGroup


MOST_CHOICES = 1 << 16
"""Most choices of a group, weights counted: each is a copy of its action in memory, and in bmv2 another member."""


class Handles:
    """Numbers from 0, the smallest free one first."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._next = 0

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def free(self, handle: int) -> None:
        heapq.heappush(self._free, handle)


class User(Protocol):
    """A table that leads to the profile's actions; notified of every change."""

    def check_call(self, call: Call) -> None: ...
    def select(self, target: Target, calls: tuple[Call, ...]) -> None: ...
    def deselect(self, target: Target) -> None: ...
    def choose_again(self) -> None:
        """Ports went up or down: ask for the calls of one-shot groups again."""
        ...


@dataclass(slots=True)
class _Placed:
    member: Member
    handles: list[int]
    """As many as its largest weight in a group, at least one."""
    users: int = 0
    """Entries and groups that refer to it."""
    weights: Counter[int] = field(default_factory=Counter)
    """How many groups have it with each weight."""


@dataclass(slots=True)
class _Grouped:
    group: Group
    users: int = 0


@dataclass(slots=True)
class ActionProfile:
    """The state of one profile. All methods raise `ControlError` and then have changed nothing."""

    view: ProfileView
    _tables: list[weakref.ref[User]] = field(default_factory=list)
    """Weak, so that a program that was replaced leaves its memory at once."""
    _members: dict[int, _Placed] = field(default_factory=dict)
    _groups: dict[int, _Grouped] = field(default_factory=dict)
    _handles: Handles = field(default_factory=Handles)
    _one_shots: int = 0
    _down: frozenset[int] = frozenset()
    """Ports whose watchers are left out."""

    def add_user(self, table: User) -> None:
        """While the table exists it is notified of every change."""
        self._tables.append(weakref.ref(table))

    def _users(self) -> Iterator[User]:
        return (table for reference in self._tables if (table := reference()) is not None)

    # --- Members ----------------------------------------------------------------------------------------------------

    def members(self) -> Iterator[Member]:
        return (placed.member for _, placed in sorted(self._members.items()))

    def insert_member(self, member: Member) -> None:
        self._check_manual()
        if member.member_id in self._members:
            raise self._error(Code.ALREADY_EXISTS, f"member {member.member_id} exists")
        if self.view.algorithm is None and len(self._members) >= self.view.size > 0:
            raise self._error(Code.RESOURCE_EXHAUSTED, f"it holds {self.view.size} members")
        self._check_call((member.action_id, member.params))
        self._members[member.member_id] = _Placed(member, [self._handles.take()])
        self._tell_member(member)

    def modify_member(self, member: Member) -> None:
        placed = self._member(member.member_id)
        self._check_call((member.action_id, member.params))
        placed.member = member
        self._tell_member(member)
        for grouped in self._groups.values():
            if any(m.member_id == member.member_id for m in grouped.group.members):
                self._tell_group(grouped.group)

    def delete_member(self, member_id: int) -> None:
        placed = self._member(member_id)
        if placed.users:
            raise self._error(Code.FAILED_PRECONDITION, f"member {member_id} is in use")
        for handle in placed.handles:
            self._handles.free(handle)
        del self._members[member_id]
        for table in self._users():
            table.deselect(ToMember(member_id))

    # --- Groups -----------------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[Group]:
        return (grouped.group for _, grouped in sorted(self._groups.items()))

    def insert_group(self, group: Group) -> None:
        self._check_manual()
        self._check_selector()
        if group.group_id in self._groups:
            raise self._error(Code.ALREADY_EXISTS, f"group {group.group_id} exists")
        self._check_group(group)
        self._groups[group.group_id] = _Grouped(group)
        self._count_members(group, 1)
        self._tell_group(group)

    def modify_group(self, group: Group) -> None:
        grouped = self._group(group.group_id)
        self._check_group(group)
        before, grouped.group = grouped.group, group
        self._count_members(group, 1)
        self._count_members(before, -1)
        self._tell_group(group)

    def delete_group(self, group_id: int) -> None:
        grouped = self._group(group_id)
        if grouped.users:
            raise self._error(Code.FAILED_PRECONDITION, f"group {group_id} is in use")
        del self._groups[group_id]
        self._count_members(grouped.group, -1)
        for table in self._users():
            table.deselect(ToGroup(group_id))

    def set_down(self, ports: frozenset[int]) -> None:
        """Members and actions that watch one of these are chosen no more until it is up again; a group whose members
        all do so does nothing."""
        self._down = ports
        for grouped in self._groups.values():
            if any(member.watch_port is not None for member in grouped.group.members):
                self._tell_group(grouped.group)
        for table in self._users():
            table.choose_again()

    # --- What entries refer to --------------------------------------------------------------------------------------

    def check(self, through: Through) -> None:
        """May an entry lead there?"""
        if isinstance(through, ToMember):
            self._member(through.member_id)
            return
        self._check_selector()
        if isinstance(through, ToGroup):
            if not self._group(through.group_id).group.members:
                raise self._error(Code.FAILED_PRECONDITION, f"group {through.group_id} is empty")
            return
        if self._members or self._groups:
            raise self._error(Code.INVALID_ARGUMENT, "one-shot groups don't mix with members and groups")
        if not through.actions:
            raise self._error(Code.INVALID_ARGUMENT, "a one-shot group has at least one action")
        self._check_weights([a.weight for a in through.actions], 0)
        for action in through.actions:
            self._check_call((action.action_id, action.params))

    def use(self, through: Through, change: int) -> None:
        """An entry refers to this (1) or no longer does (-1)."""
        match through:
            case ToMember(member_id):
                self._members[member_id].users += change
            case ToGroup(group_id):
                self._groups[group_id].users += change
            case OneShot():
                self._one_shots += change

    def open_one_shot(self, through: OneShot) -> tuple[tuple[int, ...], tuple[Call, ...]]:
        """(handles, the calls in the order a selector counts them)."""
        handles = tuple(self._handles.take() for action in through.actions for _ in range(action.weight))
        return handles, self.one_shot_calls(through, handles)

    def one_shot_calls(self, through: OneShot, handles: tuple[int, ...]) -> tuple[Call, ...]:
        actions = (action for action in through.actions for _ in range(action.weight))
        ordered = sorted(zip(handles, actions, strict=True), key=lambda placed: placed[0])
        return tuple((a.action_id, a.params) for _, a in ordered if a.watch_port not in self._down)

    def close_one_shot(self, handles: tuple[int, ...]) -> None:
        for handle in handles:
            self._handles.free(handle)

    # --- How --------------------------------------------------------------------------------------------------------

    def _error(self, code: Code, message: str) -> ControlError:
        return ControlError(code, f"action profile {self.view.name}: {message}")

    def _member(self, member_id: int) -> _Placed:
        if member_id not in self._members:
            raise self._error(Code.NOT_FOUND, f"there is no member {member_id}")
        return self._members[member_id]

    def _group(self, group_id: int) -> _Grouped:
        if group_id not in self._groups:
            raise self._error(Code.NOT_FOUND, f"there is no group {group_id}")
        return self._groups[group_id]

    def _check_manual(self) -> None:
        if self._one_shots:
            raise self._error(Code.INVALID_ARGUMENT, "members and groups don't mix with one-shot groups")

    def _check_selector(self) -> None:
        if self.view.algorithm is None:
            raise self._error(Code.INVALID_ARGUMENT, "it is not a selector: it has no groups")

    def _check_call(self, call: Call) -> None:
        for table in self._users():
            table.check_call(call)

    def _check_group(self, group: Group) -> None:
        numbers = [m.member_id for m in group.members]
        for number in numbers:
            self._member(number)
        if len(set(numbers)) != len(numbers):
            raise self._error(Code.INVALID_ARGUMENT, f"group {group.group_id} has a member twice")
        self._check_weights([m.weight for m in group.members], group.max_size)

    def _check_weights(self, weights: list[int], max_size: int) -> None:
        if any(weight < 1 for weight in weights):
            raise self._error(Code.INVALID_ARGUMENT, "a weight is at least 1")
        if max(sum(weights), max_size) > MOST_CHOICES:
            raise self._error(Code.RESOURCE_EXHAUSTED, f"a group's weights add up to {MOST_CHOICES} at most")
        size = len(weights) if self.view.counts_members else sum(weights)
        for limit in (max_size, self.view.max_group_size):
            if size > limit > 0:
                raise self._error(Code.RESOURCE_EXHAUSTED, f"a group of {size} is larger than {limit}")

    def _count_members(self, group: Group, change: int) -> None:
        for member in group.members:
            placed = self._members[member.member_id]
            placed.users += change
            placed.weights[member.weight] += change
            placed.weights += Counter()  # forget weights that no group has
            needed = max(placed.weights, default=1)
            while len(placed.handles) < needed:
                placed.handles.append(self._handles.take())
            while len(placed.handles) > needed:
                self._handles.free(placed.handles.pop())

    def _calls(self, group: Group) -> tuple[Call, ...]:
        watched = (m for m in group.members if m.watch_port not in self._down)
        ordered = sorted(((handle, m) for m in watched for handle in self._handles_of(m)), key=lambda placed: placed[0])
        members = (self._members[m.member_id].member for _, m in ordered)
        return tuple((member.action_id, member.params) for member in members)

    def _handles_of(self, member: GroupMember) -> list[int]:
        return self._members[member.member_id].handles[: member.weight]

    def _tell_member(self, member: Member) -> None:
        for table in self._users():
            table.select(ToMember(member.member_id), ((member.action_id, member.params),))

    def _tell_group(self, group: Group) -> None:
        calls = self._calls(group)
        for table in self._users():
            table.select(ToGroup(group.group_id), calls)
