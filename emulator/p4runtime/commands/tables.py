"""Commands on tables: entries by handle, default actions, listings; direct or by members and groups of a profile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emulator.p4runtime.action_calls import fill_target
from emulator.p4runtime.commands.state import (
    DELETE,
    INSERT,
    MODIFY,
    PRIORITY_LIMIT,
    CommandError,
    State,
    actions_of,
    find,
    number,
    shown,
    value,
)
from emulator.p4runtime.match_keys import add_match
from emulator.p4runtime.pipeline.schema import ActionSchema, FieldSchema, MatchKind, TableSchema, ValueSetSchema
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import (
    Exact,
    FieldMatch,
    Lpm,
    OneShot,
    Optional,
    Range,
    TableEntry,
    Ternary,
    Through,
    ToGroup,
    ToMember,
)

LINE = "=========="


def table_named(state: State, name: str) -> TableSchema:
    return find("table", name, state.view.schema.tables.values())


def kind_of(table: TableSchema) -> str:
    """The match kind of the whole table, as bmv2's JSON has it."""
    kinds = {field.kind for field in table.fields.values()}
    for kind in (MatchKind.RANGE, MatchKind.TERNARY, MatchKind.OPTIONAL, MatchKind.LPM):
        if kind in kinds:
            return "ternary" if kind is MatchKind.OPTIONAL else kind.value
    return "exact"


# --- Match keys -----------------------------------------------------------------------------------------------------


def match_of(table: TableSchema | ValueSetSchema, words: list[str]) -> tuple[FieldMatch, ...]:
    """Match fields in ascending field id; what matches anything is left out. Raises CommandError."""
    if len(words) != len(table.fields):
        raise CommandError(
            f"Error: Table {table.name} needs {len(table.fields)} key fields, the command has {len(words)}"
        )
    parts = [_part(field, word) for field, word in zip(table.fields.values(), words, strict=True)]
    return tuple(sorted((part for part in parts if part is not None), key=lambda part: part.field_id))


def _part(field: FieldSchema, text: str) -> FieldMatch | None:
    what, width = f"match key {field.name}", field.width_bits
    ones = (1 << width) - 1
    match field.kind:
        case MatchKind.EXACT:
            return Exact(field.id, value(text, width, what))
        case MatchKind.LPM:
            prefix, _, length = text.partition("/")
            bits = number(length, what) if length else width
            if not 0 <= bits <= width:
                raise CommandError(f"Error: Invalid {what}: prefix length {bits} is not 0 to {width}")
            mask = ones ^ ones >> bits
            return Lpm(field.id, value(prefix, width, what) & mask, bits) if bits else None
        case MatchKind.TERNARY | MatchKind.OPTIONAL:
            bits_text, _, mask_text = text.partition("&&&")
            mask = value(mask_text, width, what) if mask_text else ones
            read = value(bits_text, width, what)
            if not mask:
                return None
            if field.kind is MatchKind.TERNARY:
                return Ternary(field.id, read & mask, mask)
            if mask != ones:
                raise CommandError(f"Error: Invalid {what}: the mask of an optional key is all ones or 0")
            return Optional(field.id, read)
        case MatchKind.RANGE:
            low_text, _, high_text = text.partition("->")
            low = value(low_text, width, what)
            high = value(high_text, width, what) if high_text else low
            if low > high:
                raise CommandError(f"Error: Invalid {what}: the range {text} is empty")
            return None if (low, high) == (0, ones) else Range(field.id, low, high)
    raise CommandError(f"Error: Invalid {what}: keys of this kind are not supported")


def _pairs(table: TableSchema, match: tuple[FieldMatch, ...]) -> list[tuple[FieldSchema, FieldMatch | None]]:
    by_id = {part.field_id: part for part in match}
    return [(field, by_id.get(field.id)) for field in table.fields.values()]


def part_text(field: FieldSchema, part: FieldMatch | None, separator: str = "") -> tuple[str, str]:
    """(kind, value) of a key as bmv2 shows it."""
    width = field.width_bits
    ones = (1 << width) - 1
    match part:
        case Exact(_, bits):
            return "EXACT", shown(bits, width, separator)
        case Lpm(_, bits, length):
            return "LPM", f"{shown(bits, width, separator)}/{length}"
        case Ternary(_, bits, mask):
            return "TERNARY", f"{shown(bits, width, separator)} &&& {shown(mask, width, separator)}"
        case Optional(_, bits):
            return "TERNARY", f"{shown(bits, width, separator)} &&& {shown(ones, width, separator)}"
        case Range(_, low, high):
            return "RANGE", f"{shown(low, width, separator)} -> {shown(high, width, separator)}"
    if field.kind is MatchKind.LPM:
        return "LPM", f"{shown(0, width, separator)}/0"
    if field.kind is MatchKind.RANGE:
        return "RANGE", f"{shown(0, width, separator)} -> {shown(ones, width, separator)}"
    return "TERNARY", f"{shown(0, width, separator)} &&& {shown(0, width, separator)}"


# --- Actions --------------------------------------------------------------------------------------------------------


def action_of(state: State, table: TableSchema, name: str) -> ActionSchema:
    return find("action", name, actions_of(state, table))


def parameters_of(action: ActionSchema, words: list[str]) -> tuple[int, ...]:
    """Raises CommandError."""
    if len(words) != len(action.parameters):
        raise CommandError(
            f"Error: Action {action.name} needs {len(action.parameters)} parameters, the command has {len(words)}"
        )
    return tuple(
        value(word, parameter.width_bits, f"parameter {parameter.name}")
        for parameter, word in zip(action.parameters, words, strict=True)
    )


def parameters_text(action: ActionSchema, params: tuple[int, ...], separator: str = ":", between: str = "\t") -> str:
    return between.join(shown(v, p.width_bits, separator) for p, v in zip(action.parameters, params, strict=True))


def target_text(state: State, action_id: int, params: tuple[int, ...], through: Through | None) -> str:
    """What an entry leads to, as a line of table_dump."""
    match through:
        case ToMember(number_):
            return f"Index: member({number_ - 1})"
        case ToGroup(number_):
            return f"Index: group({number_ - 1})"
        case OneShot(actions):
            names = (target_text(state, a.action_id, a.params, None) + f" weight {a.weight}" for a in actions)
            return "One-shot: " + "; ".join(names)
    action = state.view.schema.actions.get(action_id)
    if action is None:
        return "Action entry: (hidden action) - "
    return f"Action entry: {action.name} - {parameters_text(action, params, '', ', ')}"


# --- Adding, changing, deleting -------------------------------------------------------------------------------------


def _split(table: TableSchema, words: list[str]) -> tuple[list[str], list[str], int]:
    """(match fields, what follows the arrow, priority)."""
    priority = 0
    if table.needs_priority:
        words, last = words[:-1], words[-1] if words else ""
        try:
            given = number(last, "priority")
        except CommandError:
            raise CommandError("Error: Table is ternary, but could not extract a valid priority from args") from None
        if not 0 <= given < PRIORITY_LIMIT:
            raise CommandError(f"Error: Invalid priority: {given} is not 0 to {PRIORITY_LIMIT - 1}")
        priority = PRIORITY_LIMIT - given
    at = words.index("=>") if "=>" in words else len(words)
    return words[:at], words[at + 1 :], priority


def _insert(state: State, table: TableSchema, entry: TableEntry) -> int:
    """The handle."""
    handles = state.handles_of(table)
    state.write(INSERT, table_entry=_message(state, table, entry))
    return handles.of((entry.match, entry.priority))


def _message(state: State, table: TableSchema, entry: TableEntry) -> Any:
    message = p4runtime_pb2.TableEntry(table_id=table.id, priority=entry.priority)
    message.idle_timeout_ns = entry.idle_timeout_ns
    add_match(message.match, entry.match)
    fill_target(message.action, state.view.schema, entry)
    return message


def _introduction(table: TableSchema, name: str, entry: TableEntry) -> list[str]:
    keys = (part_text(field, part, ":") for field, part in _pairs(table, entry.match))
    lines = [f"Adding entry to {kind_of(table)} match table {name}"]
    return [*lines, f"match key:           {'	'.join(f'{kind}-{text}' for kind, text in keys)}"]


def table_add(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    action = action_of(state, table, words[1])
    keys, rest, priority = _split(table, words[2:])
    params = parameters_of(action, rest)
    entry = TableEntry(match_of(table, keys), priority, action.id, params)
    lines = _introduction(table, words[0], entry)
    lines += [f"action:              {words[1]}", f"runtime data:        {parameters_text(action, params)}"]
    return [*lines, f"Entry has been added with handle {_insert(state, table, entry)}"]


def table_indirect_add(state: State, words: list[str]) -> list[str]:
    return _indirect(state, words, lambda handle: ToMember(handle + 1))


def table_indirect_add_with_group(state: State, words: list[str]) -> list[str]:
    return _indirect(state, words, lambda handle: ToGroup(handle + 1))


def _indirect(state: State, words: list[str], target: Any) -> list[str]:
    table = table_named(state, words[0])
    keys, rest, priority = _split(table, words[1:])
    if len(rest) != 1:
        raise CommandError("Error: Write the handle of one member or group behind =>")
    entry = TableEntry(match_of(table, keys), priority, 0, (), through=target(number(rest[0], "handle")))
    lines = _introduction(table, words[0], entry)
    return [*lines, f"Entry has been added with handle {_insert(state, table, entry)}"]


def table_set_default(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    action = action_of(state, table, words[1])
    params = parameters_of(action, [word for word in words[2:] if word != "=>"])
    message = p4runtime_pb2.TableEntry(table_id=table.id, is_default_action=True)
    fill_target(message.action, state.view.schema, TableEntry((), 0, action.id, params))
    state.write(MODIFY, table_entry=message)
    return [
        f"Setting default action of {words[0]}",
        f"action:              {words[1]}",
        f"runtime data:        {parameters_text(action, params)}",
    ]


def table_indirect_set_default(state: State, words: list[str]) -> list[str]:
    return _indirect_default(state, words, ToMember(number(words[1], "handle") + 1))


def table_indirect_set_default_with_group(state: State, words: list[str]) -> list[str]:
    return _indirect_default(state, words, ToGroup(number(words[1], "handle") + 1))


def _indirect_default(state: State, words: list[str], through: Through) -> list[str]:
    table = table_named(state, words[0])
    with state.view.access():
        state.view.control.set_default_entry(table.id, TableEntry((), 0, 0, (), through=through))
    return [f"Setting default action of {words[0]}"]


def table_reset_default(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    state.write(MODIFY, table_entry=p4runtime_pb2.TableEntry(table_id=table.id, is_default_action=True))
    return [f"Resetting default entry of {words[0]}"]


def table_modify(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    action = action_of(state, table, words[1])
    entry = state.entry(table, words[2])
    params = parameters_of(action, [word for word in words[3:] if word != "=>"])
    _modify(state, table, replace(entry, action_id=action.id, params=params, through=None))
    return [f"Modifying entry {words[2]} for {kind_of(table)} match table {words[0]}"]


def table_indirect_modify(state: State, words: list[str]) -> list[str]:
    return _indirect_modify(state, words, ToMember(number(words[2], "handle") + 1))


def table_indirect_modify_with_group(state: State, words: list[str]) -> list[str]:
    return _indirect_modify(state, words, ToGroup(number(words[2], "handle") + 1))


def _indirect_modify(state: State, words: list[str], through: Through) -> list[str]:
    table = table_named(state, words[0])
    _modify(state, table, replace(state.entry(table, words[1]), action_id=0, params=(), through=through))
    return [f"Modifying entry {words[1]} for {kind_of(table)} match table {words[0]}"]


def _modify(state: State, table: TableSchema, entry: TableEntry) -> None:
    """Counter, meter and time-out stay as they are."""
    if entry.is_const:
        raise CommandError("Invalid table operation (IMMUTABLE_TABLE_ENTRIES): the program declares the entry const")
    with state.view.access():
        state.view.control.modify_entry(table.id, replace(entry, counter=None, meter_counts=None))


def table_delete(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    entry = state.entry(table, words[1])
    _delete(state, table, entry)
    return [f"Deleting entry {words[1]} from {words[0]}"]


def _delete(state: State, table: TableSchema, entry: TableEntry) -> None:
    message = p4runtime_pb2.TableEntry(table_id=table.id, priority=entry.priority)
    add_match(message.match, entry.match)
    state.write(DELETE, table_entry=message)
    state.handles_of(table).forget((entry.match, entry.priority))


def table_clear(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    for _, entry in state.entries(table):
        if not entry.is_const:
            _delete(state, table, entry)
    return []


def table_set_timeout(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    if not table.has_idle_timeout:
        raise CommandError(f"Error: Table {table.name} does not support entry time-outs")
    entry = replace(state.entry(table, words[1]), idle_timeout_ns=number(words[2], "time-out") * 1_000_000)
    state.write(MODIFY, table_entry=_message(state, table, entry))
    return [f"Setting a {words[2]} ms timeout for entry {words[1]}"]


# --- Listings -------------------------------------------------------------------------------------------------------


def describe_action(action: ActionSchema) -> str:
    parameters = ",	".join(f"{p.name}({p.width_bits})" for p in action.parameters)
    return f"{action.name:30} [{parameters}]"


def describe_table(state: State, table: TableSchema) -> str:
    profile = state.view.schema.profiles.get(table.implementation_id)
    keys = ",	".join(f"{f.name}({f.kind.value}, {f.width_bits})" for f in table.fields.values())
    return f"{table.name:30} [implementation={profile.name if profile else None}, mk={keys}]"


def show_tables(state: State, _: list[str]) -> list[str]:
    tables = sorted(state.view.schema.tables.values(), key=lambda t: t.name)
    return [describe_table(state, table) for table in tables]


def show_actions(state: State, _: list[str]) -> list[str]:
    actions = sorted(state.view.schema.actions.values(), key=lambda a: a.name)
    return [describe_action(action) for action in actions]


def table_show_actions(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    return [describe_action(action) for action in sorted(actions_of(state, table), key=lambda a: a.name)]


def table_info(state: State, words: list[str]) -> list[str]:
    line = "*" * 80
    return [describe_table(state, table_named(state, words[0])), line, *table_show_actions(state, words)]


def table_num_entries(state: State, words: list[str]) -> list[str]:
    return [str(len(state.entries(table_named(state, words[0]))))]


def _entry_lines(state: State, table: TableSchema, handle: int, entry: TableEntry) -> list[str]:
    lines = [f"Dumping entry {handle:#x}", "Match key:"]
    for field, part in _pairs(table, entry.match):
        kind, text = part_text(field, part)
        lines.append(f"* {field.name:20}: {kind:10}{text}")
    if table.needs_priority:
        lines.append(f"Priority: {PRIORITY_LIMIT - entry.priority}")
    lines.append(target_text(state, entry.action_id, entry.params, entry.through))
    if entry.idle_timeout_ns:
        lines.append(f"Life: {entry.idle_timeout_ns // 1_000_000}ms timeout")
    return lines


def table_dump(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    lines = [LINE, "TABLE ENTRIES"]
    for handle, entry in state.entries(table):
        lines += ["**********", *_entry_lines(state, table, handle, entry)]
    with state.view.access():
        default = state.view.control.default_entry(table.id)
    lines += [LINE, "Dumping default entry", target_text(state, default.action_id, default.params, default.through)]
    return [*lines, LINE]


def table_dump_entry(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    return _entry_lines(state, table, number(words[1], "handle"), state.entry(table, words[1]))


def table_dump_entry_from_key(state: State, words: list[str]) -> list[str]:
    table = table_named(state, words[0])
    keys, _, priority = _split(table, words[1:])
    key = match_of(table, keys), priority
    for handle, entry in state.entries(table):
        if (entry.match, entry.priority) == key:
            return _entry_lines(state, table, handle, entry)
    raise CommandError("Invalid table operation (BAD_MATCH_KEY): no entry has this key")
