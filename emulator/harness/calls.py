"""Actions with their parameters, apart from a table: for members, one-shot groups, and odd parameter names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ActionCall:
    action: str
    parameters: dict[str, Any]


def call(action: str, /, **parameters: Any) -> ActionCall:
    """``call("set_port", port=3)``; also for an action whose parameter is called ``priority`` or so."""
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
