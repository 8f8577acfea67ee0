"""Table commands: entries, default actions, members and groups of action profiles, value sets."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.harness.stf import syntax as s
from emulator.harness.stf.errors import StfError, refuse
from emulator.harness.stf.names import Instance, Names, find
from emulator.harness.stf.steps import Change
from emulator.harness.stf.values import field_match, fitted
from emulator.switch.control import (
    Exact,
    FieldMatch,
    Group,
    GroupMember,
    Member,
    TableEntry,
    Through,
    ToGroup,
    ToMember,
    ValueSetMember,
    member_part,
)
from emulator.v1model.control_view import ActionView, TableView

NO_PARAMS: tuple[int, ...] = ()


@dataclass(slots=True)
class Entries:
    """Binds table commands, and remembers the handles that the test gives."""

    names: Names
    by_handle: dict[str, tuple[TableView, TableEntry]] = field(default_factory=dict)
    _added: list[tuple[TableView, TableEntry]] = field(default_factory=list)
    _members: dict[str, tuple[Instance, int]] = field(default_factory=dict)
    _groups: dict[str, tuple[Instance, int]] = field(default_factory=dict)
    _values: dict[int, list[ValueSetMember]] = field(default_factory=dict)

    # --- Entries ----------------------------------------------------------------------------------------------------

    def add(self, command: s.Add) -> Change:
        table = self.names.table(command.line, command.table)
        action_id, params = 0, NO_PARAMS
        through: Through | None = None
        if isinstance(command.action, s.MemberOf):
            through = self._through(command.line, command.action)
        else:
            action_id, params = self._call(command.line, table, command.action)
        entry = TableEntry(
            self._match(command, table), self._priority(command, table), action_id, params, through=through
        )
        self._added.append((table, entry))
        if command.handle is not None:
            self.by_handle[command.handle] = (table, entry)
        return Change(command.line, lambda control: control.insert_entry(table.id, entry))

    def _match(self, command: s.Add, table: TableView) -> tuple[FieldMatch, ...]:
        """Match fields in ascending field id; keys that aren't mentioned are 0 where exact, else anything."""
        matches: dict[int, FieldMatch | None] = {}
        for match in command.matches:
            key = self.names.key(command.line, table, match.key)
            matches[key.id] = field_match(match, key)
        for key in table.keys:
            if key.match_kind == "exact":
                matches.setdefault(key.id, Exact(key.id, 0))
        return tuple(m for _, m in sorted(matches.items()) if m is not None)

    def _priority(self, command: s.Add, table: TableView) -> int:
        """The larger number wins; elsewhere than in ternary and range tables it is not looked at."""
        if not table.has_priority:
            return 0
        if command.priority is None:
            raise refuse(command.line, f"table {table.name} needs a priority, a number behind the table's name")
        return command.priority

    def set_default(self, command: s.SetDefault) -> Change:
        table = self.names.table(command.line, command.table)
        action_id, params = self._call(command.line, table, command.action)
        entry = TableEntry((), 0, action_id, params)
        return Change(command.line, lambda control: control.set_default_entry(table.id, entry))

    def remove(self, command: s.Remove) -> list[Change]:
        if command.handle is None:
            chosen, self._added = self._added[::-1], []
            self.by_handle.clear()
        elif command.handle in self.by_handle:
            chosen = [self.by_handle.pop(command.handle)]
            self._added.remove(chosen[0])
        else:
            raise refuse(command.line, f"no entry has the handle {command.handle!r}: write '= HANDLE' behind its add")
        return [self._deletion(command.line, table, entry) for table, entry in chosen]

    def _deletion(self, line: int, table: TableView, entry: TableEntry) -> Change:
        return Change(line, lambda control: control.delete_entry(table.id, entry))

    # --- Actions ----------------------------------------------------------------------------------------------------

    def _call(self, line: int, table: TableView, call: s.Call) -> tuple[int, tuple[int, ...]]:
        action = self.names.action(line, table, call.action)
        return action.id, self._arguments(line, action, call)

    def _arguments(self, line: int, action: ActionView, call: s.Call) -> tuple[int, ...]:
        """Values in declaration order; each parameter once, in any order where they are named."""
        names = self.names.parameters.get(action.id, ())
        values: dict[str, str] = {}
        arguments = call.arguments
        if arguments and not arguments[0][0]:
            if len(arguments) != len(names):
                expected = ", ".join(names) or "none"
                raise refuse(
                    line, f"action {action.name} takes the parameters {expected}; given: {len(arguments)} values"
                )
            arguments = tuple((name, value) for name, (_, value) in zip(names, arguments, strict=True))
        for name, value in arguments:
            if name in values:
                raise refuse(line, f"parameter {name!r} is given twice")
            values[name] = value
        if set(values) != set(names):
            expected = ", ".join(names) or "none"
            raise refuse(
                line, f"action {action.name} takes the parameters {expected}; given: {', '.join(values) or 'none'}"
            )
        widths = zip(names, action.widths_bits, strict=True)
        return tuple(fitted(line, f"parameter {name}", values[name], width) for name, width in widths)

    def _through(self, line: int, action: s.MemberOf) -> Through:
        known = self._groups if action.is_group else self._members
        if action.handle not in known:
            raise _unknown(line, "group" if action.is_group else "member", action.handle)
        number = known[action.handle][1]
        return ToGroup(number) if action.is_group else ToMember(number)

    # --- Action profiles --------------------------------------------------------------------------------------------

    def add_member(self, command: s.AddMember) -> Change:
        profile = find(command.line, "action profile", command.profile, self.names.profiles)
        actions = self.names.profile_actions[profile.id]
        action = find(command.line, f"action of {profile.name}", command.action.action, actions)
        member = Member(len(self._members) + 1, action.id, self._arguments(command.line, action, command.action))
        self._members[command.handle] = (profile, member.member_id)
        return Change(command.line, lambda control: control.insert_member(profile.id, member))

    def add_group(self, command: s.AddGroup) -> Change:
        profile = find(command.line, "action selector", command.profile, self.names.profiles)
        members = []
        for handle, weight in command.members:
            if handle not in self._members:
                raise _unknown(command.line, "member", handle)
            members.append(GroupMember(self._members[handle][1], weight))
        group = Group(len(self._groups) + 1, tuple(members))
        self._groups[command.handle] = (profile, group.group_id)
        return Change(command.line, lambda control: control.insert_group(profile.id, group))

    # --- Value sets -------------------------------------------------------------------------------------------------

    def add_value(self, command: s.AddValue) -> Change:
        value_set = find(command.line, "value set", command.value_set, self.names.value_sets)
        members = self._values.setdefault(value_set.id, [])
        members.append(_value(command, value_set))
        everything = tuple(members)
        return Change(command.line, lambda control: control.set_value_set(value_set.id, everything))


def _value(command: s.AddValue, value_set: Instance) -> ValueSetMember:
    matches = {match.key: match for match in command.fields}
    if set(matches) != {field.name for field in value_set.fields}:
        expected = ", ".join(field.name or "one plain value" for field in value_set.fields)
        raise refuse(command.line, f"value set {value_set.name} takes {expected}")
    pairs = [
        member_part(field_match(matches[field.name], field), field.width_bits, field.match_kind == "range")
        for field in value_set.fields
    ]
    return ValueSetMember(tuple(first for first, _ in pairs), tuple(second for _, second in pairs))


def _unknown(line: int, what: str, handle: str) -> StfError:
    return refuse(line, f"no {what} has the handle {handle!r}: add_{what} gives one")
