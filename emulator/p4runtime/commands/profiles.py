"""Commands on action profiles and selectors, and on value sets. A member or group of handle N has the P4Runtime id
N + 1."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from emulator.p4runtime.commands.state import MODIFY, CommandError, State, find, number
from emulator.p4runtime.commands.tables import (
    LINE,
    action_of,
    match_of,
    parameters_of,
    part_text,
    table_named,
    target_text,
)
from emulator.p4runtime.entities.registry import read
from emulator.p4runtime.match_keys import add_match, match_from_proto
from emulator.p4runtime.pipeline.schema import ActionSchema, ProfileSchema, ValueSetSchema
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import Group, GroupMember, Member


def profile_named(state: State, name: str) -> ProfileSchema:
    """Action profile by its name, or the name of a table that uses it. Raises CommandError."""
    profiles = state.view.schema.profiles
    try:
        return find("action profile", name, profiles.values())
    except CommandError:
        used = [t for t in state.view.schema.tables.values() if t.implementation_id in profiles]
        chosen = [t for t in used if t.name == name or t.name.endswith(f".{name}")]
        if len(chosen) != 1:
            raise
        return profiles[chosen[0].implementation_id]


def _action(state: State, profile: ProfileSchema, name: str) -> ActionSchema:
    if not profile.table_ids:
        raise CommandError(f"Error: No table uses the action profile {profile.name}")
    return action_of(state, state.view.schema.tables[profile.table_ids[0]], name)


def _members(state: State, profile: ProfileSchema) -> dict[int, Member]:
    return {m.member_id - 1: m for m in state.view.in_steps(state.view.control.members(profile.id))}


def _groups(state: State, profile: ProfileSchema) -> dict[int, Group]:
    return {g.group_id - 1: g for g in state.view.in_steps(state.view.control.groups(profile.id))}


def act_prof_create_member(state: State, words: list[str]) -> list[str]:
    profile = profile_named(state, words[0])
    action = _action(state, profile, words[1])
    params = parameters_of(action, words[2:])
    taken = _members(state, profile)
    handle = next(n for n in count() if n not in taken)
    with state.view.access():
        state.view.control.insert_member(profile.id, Member(handle + 1, action.id, params))
    return [f"Member has been created with handle {handle}"]


def act_prof_modify_member(state: State, words: list[str]) -> list[str]:
    profile = profile_named(state, words[0])
    action = _action(state, profile, words[1])
    member = Member(number(words[2], "handle") + 1, action.id, parameters_of(action, words[3:]))
    with state.view.access():
        state.view.control.modify_member(profile.id, member)
    return []


def act_prof_delete_member(state: State, words: list[str]) -> list[str]:
    with state.view.access():
        state.view.control.delete_member(profile_named(state, words[0]).id, number(words[1], "handle") + 1)
    return []


def act_prof_create_group(state: State, words: list[str]) -> list[str]:
    profile = profile_named(state, words[0])
    if not profile.has_groups:
        raise CommandError(f"Error: {profile.name} is an action profile without a selector: it has no groups")
    taken = _groups(state, profile)
    handle = next(n for n in count() if n not in taken)
    with state.view.access():
        state.view.control.insert_group(profile.id, Group(handle + 1, ()))
    return [f"Group has been created with handle {handle}"]


def act_prof_delete_group(state: State, words: list[str]) -> list[str]:
    with state.view.access():
        state.view.control.delete_group(profile_named(state, words[0]).id, number(words[1], "handle") + 1)
    return []


def _group(state: State, words: list[str]) -> tuple[ProfileSchema, int, Group]:
    """(profile, member handle, group) of ``PROFILE MEMBER GROUP``."""
    profile, member = profile_named(state, words[0]), number(words[1], "handle")
    group = _groups(state, profile).get(number(words[2], "handle"))
    if group is None:
        raise CommandError(f"Invalid table operation (INVALID_GROUP_HANDLE): {profile.name} has no group {words[2]}")
    return profile, member, group


def act_prof_add_member_to_group(state: State, words: list[str]) -> list[str]:
    profile, member, group = _group(state, words)
    if any(m.member_id == member + 1 for m in group.members):
        raise CommandError(f"Invalid table operation (MEMBER_ALREADY_IN_GROUP): member {member}")
    changed = replace(group, members=(*group.members, GroupMember(member + 1)))
    with state.view.access():
        state.view.control.modify_group(profile.id, changed)
    return []


def act_prof_remove_member_from_group(state: State, words: list[str]) -> list[str]:
    profile, member, group = _group(state, words)
    if all(m.member_id != member + 1 for m in group.members):
        raise CommandError(f"Invalid table operation (MEMBER_NOT_IN_GROUP): member {member}")
    changed = replace(group, members=tuple(m for m in group.members if m.member_id != member + 1))
    with state.view.access():
        state.view.control.modify_group(profile.id, changed)
    return []


def _member_line(state: State, handle: int, member: Member) -> str:
    return f"member({handle}): {target_text(state, member.action_id, member.params, None)}"


def _group_line(handle: int, group: Group) -> str:
    members = ", ".join(f"{m.member_id - 1}" + (f" (weight {m.weight})" if m.weight > 1 else "") for m in group.members)
    return f"group({handle}): members [{members}]"


def act_prof_dump(state: State, words: list[str]) -> list[str]:
    profile = profile_named(state, words[0])
    members = [_member_line(state, *item) for item in sorted(_members(state, profile).items())]
    groups = [_group_line(*item) for item in sorted(_groups(state, profile).items())] if profile.has_groups else []
    return [LINE, "MEMBERS", *members, *([LINE, "GROUPS", *groups] if profile.has_groups else []), LINE]


def act_prof_dump_member(state: State, words: list[str]) -> list[str]:
    members, handle = _members(state, profile_named(state, words[0])), number(words[1], "handle")
    if handle not in members:
        raise CommandError(f"Invalid table operation (INVALID_MBR_HANDLE): there is no member {handle}")
    return [_member_line(state, handle, members[handle])]


def act_prof_dump_group(state: State, words: list[str]) -> list[str]:
    groups, handle = _groups(state, profile_named(state, words[0])), number(words[1], "handle")
    if handle not in groups:
        raise CommandError(f"Invalid table operation (INVALID_GROUP_HANDLE): there is no group {handle}")
    return [_group_line(handle, groups[handle])]


def show_act_profs(state: State, _: list[str]) -> list[str]:
    profiles = sorted(state.view.schema.profiles.values(), key=lambda p: p.name)
    return [f"{p.name:30} [selector={p.has_groups}, size={p.size}]" for p in profiles]


def table_dump_group(state: State, words: list[str]) -> list[str]:
    table_named(state, words[0])
    return act_prof_dump(state, words)


# --- Value sets -----------------------------------------------------------------------------------------------------


def _value_set(state: State, name: str) -> ValueSetSchema:
    return find("parse value set", name, state.view.schema.value_sets.values())


def show_pvs(state: State, _: list[str]) -> list[str]:
    sets = sorted(state.view.schema.value_sets.values(), key=lambda v: v.name)
    return [f"{v.name:30} [size={v.size}]" for v in sets]


def _read_set(state: State, value_set: ValueSetSchema) -> Any:
    message = p4runtime_pb2.ValueSetEntry(value_set_id=value_set.id)
    for entity in read(state.view, p4runtime_pb2.Entity(value_set_entry=message)):
        message.CopyFrom(entity.value_set_entry)
    return message


def pvs_add(state: State, words: list[str]) -> list[str]:
    value_set = _value_set(state, words[0])
    message = _read_set(state, value_set)
    add_match(message.members.add().match, match_of(value_set, words[1:]))
    state.write(MODIFY, value_set_entry=message)
    return []


def pvs_remove(state: State, words: list[str]) -> list[str]:
    value_set = _value_set(state, words[0])
    message, gone = _read_set(state, value_set), p4runtime_pb2.ValueSetMember()
    add_match(gone.match, match_of(value_set, words[1:]))
    kept = [member for member in message.members if member != gone]
    if len(kept) == len(message.members):
        raise CommandError(f"Invalid parse value set operation: {words[0]} does not have this value")
    del message.members[:]
    message.members.extend(kept)
    state.write(MODIFY, value_set_entry=message)
    return []


def pvs_clear(state: State, words: list[str]) -> list[str]:
    value_set = _value_set(state, words[0])
    state.write(MODIFY, value_set_entry=p4runtime_pb2.ValueSetEntry(value_set_id=value_set.id))
    return []


def pvs_get(state: State, words: list[str]) -> list[str]:
    value_set = _value_set(state, words[0])
    lines = []
    for member in _read_set(state, value_set).members:
        parts = {part.field_id: part for part in match_from_proto(value_set, member.match)}
        lines.append("	".join(part_text(f, parts.get(f.id))[1] for f in value_set.fields.values()))
    return lines
