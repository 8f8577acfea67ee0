"""Actions with their parameters, apart from a table; members and groups of an action profile or selector."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from emulator.harness.catalogue import Catalogue
from emulator.switch.control import Control, Group, GroupMember, Member
from emulator.v1model.control_view import ProfileView


@dataclass(frozen=True, slots=True)
class ActionCall:
    action: str
    parameters: dict[str, Any]


def call(action: str, /, **parameters: Any) -> ActionCall:
    """``call("set_port", port=3)``; also for an action with a parameter named ``priority``."""
    return ActionCall(action, parameters)


def as_call(action: str | ActionCall, parameters: dict[str, Any]) -> ActionCall:
    """One of the two ways to say it."""
    return action if isinstance(action, ActionCall) else ActionCall(action, parameters)


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A member of an action profile, as `Profile.member` made it."""

    profile_id: int
    member_id: int


@dataclass(frozen=True, slots=True)
class GroupOf:
    """A group of an action selector, as `Profile.group` made it."""

    profile_id: int
    group_id: int


@dataclass(slots=True)
class Profile:
    """``switch.profile(NAME)``; numbers of members and groups are given out from 1."""

    view: ProfileView
    control: Control
    catalogue: Catalogue
    _members: int = field(default=0)
    _groups: int = field(default=0)

    def member(self, action: str | ActionCall, /, **parameters: Any) -> MemberOf:
        """A new member, for entries and groups."""
        one = as_call(action, parameters)
        view = self.catalogue.profile_action(self.view, one.action)
        params = self.catalogue.arguments(view, one.parameters)
        self._members += 1
        self.control.insert_member(self.view.id, Member(self._members, view.id, params))
        return MemberOf(self.view.id, self._members)

    def group(self, *members: MemberOf | tuple[MemberOf, int], watch: dict[MemberOf, int] | None = None) -> GroupOf:
        """A new group of members, or of (member, weight). ``watch`` gives members a port that must not be down."""
        pairs = [m if isinstance(m, tuple) else (m, 1) for m in members]
        self._groups += 1
        chosen = tuple(GroupMember(m.member_id, weight, (watch or {}).get(m)) for m, weight in pairs)
        self.control.insert_group(self.view.id, Group(self._groups, chosen))
        return GroupOf(self.view.id, self._groups)
