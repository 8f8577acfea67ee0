"""ActionProfileMember and ActionProfileGroup (P4Runtime, "ActionProfileMember & ActionProfileGroup")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from emulator.p4runtime.action_calls import call_from_proto, check_weight, fill_call, watch_port_of
from emulator.p4runtime.entities.bytestrings import encode
from emulator.p4runtime.entities.tables import DELETE, INSERT
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.pipeline.schema import ProfileSchema
from emulator.p4runtime.view import Change, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Code as SwitchCode
from emulator.switch.control import ControlError, Group, GroupMember, Member

Kept = TypeVar("Kept", Member, Group)

# --- Members ----------------------------------------------------------------------------------------------------


def prepare_member_write(view: View, update_type: int, message: Any) -> Change:
    profile = view.schema.profile(message.action_profile_id)
    number = message.member_id
    if number == 0:
        raise invalid(f"action profile {profile.name}: member id 0 is not valid")

    def remember() -> Undo:
        return _remember_member(view, profile, number)

    if update_type == DELETE:
        return Change(lambda: view.control.delete_member(profile.id, number), remember)
    if not message.HasField("action"):
        raise invalid(f"action profile {profile.name}, member {number}: it needs an action")
    member = Member(number, *_call_of(view, profile, message.action))
    write = view.control.insert_member if update_type == INSERT else view.control.modify_member
    return Change(lambda: write(profile.id, member), remember)


def _call_of(view: View, profile: ProfileSchema, action: Any) -> tuple[int, tuple[int, ...]]:
    """An action that all tables of the profile have."""
    if not profile.table_ids:
        raise RequestError(Code.FAILED_PRECONDITION, f"action profile {profile.name}: no table uses it")
    calls = [call_from_proto(view.schema, view.schema.tables[number], action) for number in profile.table_ids]
    return calls[0]


def _remember_member(view: View, profile: ProfileSchema, number: int) -> Undo:
    control = view.control
    old = next((member for member in control.members(profile.id) if member.member_id == number), None)
    if old is None:
        return _ignoring_absence(lambda: control.delete_member(profile.id, number))
    return lambda: _put_back(control.modify_member, control.insert_member, profile.id, old)


def read_member(view: View, message: Any) -> Iterator[Any]:
    """One member, those of a profile, or with profile id 0 those of all."""
    for profile in _selected(view, message, message.member_id, "member"):
        for member in _fetch(view, view.control.members(profile.id)):
            if message.member_id in (0, member.member_id):
                entity = p4runtime_pb2.Entity()
                answer = entity.action_profile_member
                answer.action_profile_id, answer.member_id = profile.id, member.member_id
                fill_call(answer.action, view.schema, (member.action_id, member.params))
                yield entity


# --- Groups -----------------------------------------------------------------------------------------------------


def prepare_group_write(view: View, update_type: int, message: Any) -> Change:
    profile = view.schema.profile(message.action_profile_id)
    number = message.group_id
    if number == 0:
        raise invalid(f"action profile {profile.name}: group id 0 is not valid")
    if not profile.has_groups:
        raise invalid(f"action profile {profile.name} is not a selector: it has no groups")

    def remember() -> Undo:
        return _remember_group(view, profile, number)

    if update_type == DELETE:
        return Change(lambda: view.control.delete_group(profile.id, number), remember)
    group = _group_from_proto(view, profile, message)
    if update_type == INSERT:
        return Change(lambda: view.control.insert_group(profile.id, group), remember)
    return Change(lambda: _modify_group(view, profile, group), remember)


def _group_from_proto(view: View, profile: ProfileSchema, message: Any) -> Group:
    where = f"action profile {profile.name}, group {message.group_id}"
    max_size, limit = message.max_size, profile.max_group_size
    if max_size < 0:
        raise invalid(f"{where}: max_size {max_size} is negative")
    if max_size > limit > 0:
        raise invalid(f"{where}: max_size {max_size} is above the profile's max_group_size of {limit}")
    members = []
    for given in message.members:
        check_weight(given.weight, profile, where)
        members.append(GroupMember(given.member_id, given.weight, watch_port_of(given, where, view.watch)))
    return Group(message.group_id, tuple(members), max_size)


def _modify_group(view: View, profile: ProfileSchema, group: Group) -> None:
    old = _find_group(view, profile, group.group_id)
    if old is not None and old.max_size != group.max_size:
        raise invalid(
            f"action profile {profile.name}, group {group.group_id}: max_size was {old.max_size} when it was inserted, "
            f"and cannot change to {group.max_size}"
        )
    view.control.modify_group(profile.id, group)


def _find_group(view: View, profile: ProfileSchema, number: int) -> Group | None:
    return next((group for group in view.control.groups(profile.id) if group.group_id == number), None)


def _remember_group(view: View, profile: ProfileSchema, number: int) -> Undo:
    control, old = view.control, _find_group(view, profile, number)
    if old is None:
        return _ignoring_absence(lambda: control.delete_group(profile.id, number))
    return lambda: _put_back(control.modify_group, control.insert_group, profile.id, old)


def read_group(view: View, message: Any) -> Iterator[Any]:
    """One group, those of a selector, or with profile id 0 those of all."""
    for profile in _selected(view, message, message.group_id, "group"):
        if not profile.has_groups:
            continue
        for group in _fetch(view, view.control.groups(profile.id)):
            if message.group_id in (0, group.group_id):
                entity = p4runtime_pb2.Entity()
                _fill_group(entity.action_profile_group, profile, group)
                yield entity


def _fill_group(message: Any, profile: ProfileSchema, group: Group) -> None:
    message.action_profile_id, message.group_id, message.max_size = profile.id, group.group_id, group.max_size
    for member in group.members:
        given = message.members.add(member_id=member.member_id, weight=member.weight)
        if member.watch_port is not None:
            given.watch_port = encode(member.watch_port)


# --- Both -------------------------------------------------------------------------------------------------------


def _selected(view: View, message: Any, number: int, kind: str) -> Iterable[ProfileSchema]:
    if message.action_profile_id:
        return [view.schema.profile(message.action_profile_id)]
    if number:
        raise invalid(f"action profile id 0 reads all profiles: a {kind} id cannot be given with it")
    return view.schema.profiles.values()


def _fetch(view: View, found: Iterable[Kept]) -> Iterable[Kept]:
    with view.access():
        return list(found)


def _ignoring_absence(delete: Callable[[], None]) -> Undo:
    """For what may not have come to be."""

    def undo() -> None:
        try:
            delete()
        except ControlError as error:
            if error.code != SwitchCode.NOT_FOUND:
                raise

    return undo


def _put_back(
    modify: Callable[[int, Kept], None], insert: Callable[[int, Kept], None], profile_id: int, old: Kept
) -> None:
    try:
        modify(profile_id, old)
    except ControlError as error:
        if error.code != SwitchCode.NOT_FOUND:
            raise
        insert(profile_id, old)
