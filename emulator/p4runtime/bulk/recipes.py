"""What a shape of updates means for a table: how to make the switch's rows from the values, many at a time.

A recipe is made only for what is right by P4Info, and takes only values that are: everything else is left to
`entity_tables`, which alone knows how to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat, starmap

from emulator.p4runtime.bulk.paths import CODES, ID, MESSAGE, PATHS, WIDE, path_of
from emulator.p4runtime.entities.tables import DELETE, INSERT, MODIFY, Note
from emulator.p4runtime.pipeline.schema import ActionSchema, FieldSchema, MatchKind, Schema, Scope, TableSchema
from emulator.switch.control import Row, RowControl, ToGroup, ToMember

Column = Sequence[int]
Pairs = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Some updates of one shape."""

    update_type: int
    table: TableSchema
    rows: list[Row]
    """In deletions only the keys count."""
    notes: Iterable[Note] = repeat(None)
    """Of each."""


@dataclass(frozen=True, slots=True)
class Recipe:
    update_type: int
    table: TableSchema
    fields: tuple[_Field, ...]
    """In the order of the switch's keys."""
    priority: int | None
    """The column it is in; None in tables without."""
    action_id: int = 0
    parameters: tuple[tuple[int, int], ...] = ()
    """(column, width in bits) in declaration order."""
    through: tuple[type[ToMember | ToGroup], int] | None = None
    """What the numbers in a column are."""
    idle_timeout: int | None = None
    """The column it is in."""
    number: int | None = None
    metadata: int | None = None
    """Columns of what a controller notes down."""

    def rows(self, columns: Sequence[Column], count: int, bytes_at: Callable[[int], bytes]) -> Rows | None:
        """None where a value is wrong. ``bytes_at``: of a place and length, as in `bulk_paths.WIDE`."""
        try:
            keys = list(zip(*(field.pairs(columns, count) for field in self.fields), strict=True))
        except _Wrong:
            return None
        priorities = columns[self.priority] if self.priority is not None else repeat(0)
        if self.priority is not None and min(columns[self.priority]) <= 0:
            return None
        for column, width_bits in self.parameters:
            if max(columns[column]) >> width_bits:
                return None
        params = list(zip(*(columns[column] for column, _ in self.parameters), strict=True))
        throughs = map(self.through[0], columns[self.through[1]]) if self.through is not None else repeat(None)
        timeouts = columns[self.idle_timeout] if self.idle_timeout is not None else repeat(0)
        parts = zip(keys, priorities, repeat(self.action_id), params or repeat(()), throughs, timeouts, strict=False)
        return Rows(self.update_type, self.table, list(starmap(Row, parts)), self._notes(columns, bytes_at))

    def _notes(self, columns: Sequence[Column], bytes_at: Callable[[int], bytes]) -> Iterable[Note]:
        if self.number is None and self.metadata is None:
            return repeat(None)
        numbers = columns[self.number] if self.number is not None else repeat(0)
        metadata = map(bytes_at, columns[self.metadata]) if self.metadata is not None else repeat(b"")
        return [note if note[0] or note[1] else None for note in zip(numbers, metadata, strict=False)]


class _Wrong(Exception):
    """A value that does not fit its key."""


@dataclass(frozen=True, slots=True)
class _Field:
    ones: int
    convert: Callable[[int, Sequence[Column]], Pairs]
    """From the largest value and the columns that the kind has; raises _Wrong."""
    columns: tuple[int, ...]
    """None where the field is left out."""
    anything: tuple[int, int]
    """For that."""

    def pairs(self, columns: Sequence[Column], count: int) -> Pairs:
        if not self.columns:
            return repeat(self.anything, count)
        mine = [columns[column] for column in self.columns]
        if max(mine[0]) > self.ones:
            raise _Wrong
        return self.convert(self.ones, mine)


def _exact(ones: int, columns: Sequence[Column]) -> Pairs:
    return zip(columns[0], repeat(ones), strict=False)


def _lpm(ones: int, columns: Sequence[Column]) -> Pairs:
    width_bits = ones.bit_length()
    if min(columns[1]) < 1 or max(columns[1]) > width_bits:
        raise _Wrong
    masks = [ones ^ ones >> length for length in range(width_bits + 1)]
    return _masked(columns[0], [masks[length] for length in columns[1]])


def _ternary(ones: int, columns: Sequence[Column]) -> Pairs:
    if min(columns[1]) < 1 or max(columns[1]) > ones:
        raise _Wrong
    return _masked(columns[0], columns[1])


def _masked(values: Column, masks: Column) -> Pairs:
    if any(value & ~mask for value, mask in zip(values, masks, strict=True)):
        raise _Wrong
    return zip(values, masks, strict=True)


def _range(ones: int, columns: Sequence[Column]) -> Pairs:
    pairs = list(zip(*columns, strict=True))
    if max(columns[1]) > ones or any(low > high for low, high in pairs) or (0, ones) in pairs:
        raise _Wrong
    return pairs


_KINDS: Mapping[MatchKind, tuple[Callable[[int, Sequence[Column]], Pairs], tuple[str, ...]]] = {
    MatchKind.EXACT: (_exact, ("exact.value",)),
    MatchKind.LPM: (_lpm, ("lpm.value", "lpm.prefix_len")),
    MatchKind.TERNARY: (_ternary, ("ternary.value", "ternary.mask")),
    MatchKind.RANGE: (_range, ("range.low", "range.high")),
    MatchKind.OPTIONAL: (_exact, ("optional.value",)),
}


# --- Shapes -----------------------------------------------------------------------------------------------------

_NAMES = {code: name for name, code in CODES.items()}
_MATCH, _PARAM = "match", "action.action.params"


@dataclass(slots=True)
class _Group:
    """The fields of a message; columns count all values of an update in their order."""

    ids: dict[str, int] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Shape:
    """A shape taken apart."""

    top: _Group = field(default_factory=_Group)
    matches: list[_Group] = field(default_factory=list)
    params: list[_Group] = field(default_factory=list)
    wide: list[int] = field(default_factory=list)
    """Columns that say only where the value is."""
    count: int = 0
    """Of columns."""

    def group_of(self, name: str) -> _Group:
        if name.startswith(f"{_MATCH}."):
            return self.matches[-1]
        return self.params[-1] if name.startswith(f"{_PARAM}.") else self.top


def shape_of(codes: Sequence[int]) -> Shape | None:
    """None where a field that comes once comes again: protobuf would merge them."""
    shape = Shape()
    iterator = iter(codes)
    for code in iterator:
        name = _NAMES[code & WIDE - 1]
        if name == _MATCH:
            shape.matches.append(_Group())
            continue
        if name == _PARAM:
            shape.params.append(_Group())
            continue
        group = shape.group_of(name)
        if name in group.seen:
            return None
        group.seen.add(name)
        kind = PATHS[path_of(name)]
        if kind == ID:
            group.ids[name] = next(iterator)
        elif kind != MESSAGE:
            group.columns[name] = shape.count
            if code & WIDE:
                shape.wide.append(shape.count)
            shape.count += 1
    return shape


# --- Recipes ----------------------------------------------------------------------------------------------------


def recipe_of(shape: Shape, schema: Schema, control: RowControl) -> Recipe | None:
    """None for what is not right by P4Info, or needs more than rows hold."""
    update_type = shape.top.ids.get("updates.type", 0)
    table = schema.tables.get(shape.top.ids.get("table_id", 0))
    if update_type not in (INSERT, MODIFY, DELETE) or table is None or not _takes_rows(table):
        return None
    fields = _fields_of(shape, table, control)
    priority = shape.top.columns.get("priority")
    if fields is None or (priority is not None) is not table.needs_priority:
        return None
    recipe = Recipe(update_type, table, fields, priority)
    if update_type == DELETE:
        return recipe
    idle_timeout = shape.top.columns.get("idle_timeout_ns")
    if idle_timeout is not None and not table.has_idle_timeout:
        return None
    number, metadata = (shape.top.columns.get(name) for name in ("controller_metadata", "metadata"))
    recipe = replace(recipe, idle_timeout=idle_timeout, number=number, metadata=metadata)
    return _through_profile(recipe, shape, schema) if table.implementation_id else _with_action(recipe, shape, schema)


def _with_action(recipe: Recipe, shape: Shape, schema: Schema) -> Recipe | None:
    action_id = shape.top.ids.get("action.action.action_id", 0)
    if recipe.table.scopes.get(action_id, Scope.DEFAULT_ONLY) is Scope.DEFAULT_ONLY:
        return None
    parameters = _parameters_of(shape, schema.actions[action_id])
    if parameters is None or any(name in shape.top.seen for name in _THROUGH):
        return None
    return replace(recipe, action_id=action_id, parameters=parameters)


def _through_profile(recipe: Recipe, shape: Shape, schema: Schema) -> Recipe | None:
    given = [name for name in ("action.action", *_THROUGH) if name in shape.top.seen]
    if len(given) != 1 or given[0] not in _THROUGH:
        return None
    kind = _THROUGH[given[0]]
    if kind is ToGroup and not schema.profiles[recipe.table.implementation_id].has_groups:
        return None
    return replace(recipe, through=(kind, shape.top.columns[given[0]]))


_THROUGH: Mapping[str, type[ToMember | ToGroup]] = {
    "action.action_profile_member_id": ToMember,
    "action.action_profile_group_id": ToGroup,
}


def _takes_rows(table: TableSchema) -> bool:
    return bool(table.fields) and not table.is_const


def _fields_of(shape: Shape, table: TableSchema, control: RowControl) -> tuple[_Field, ...] | None:
    given = {match.ids.get("match.field_id", 0): match for match in shape.matches}
    if len(given) != len(shape.matches) or not given.keys() <= table.fields.keys():
        return None
    fields: list[_Field] = []
    for key in control.row_keys(table.id):
        schema = table.fields.get(key.field_id)
        if schema is None or (schema.kind.value, schema.width_bits) != (key.match_kind, key.width_bits):
            return None
        found = _field_of(schema, given.get(key.field_id), key.anything)
        if found is None:
            return None
        fields.append(found)
    return tuple(fields) or None


def _field_of(schema: FieldSchema, match: _Group | None, anything: tuple[int, int]) -> _Field | None:
    ones = (1 << schema.width_bits) - 1
    convert, names = _KINDS[schema.kind]
    if match is None:
        return None if schema.kind is MatchKind.EXACT else _Field(ones, convert, (), anything)
    if match.columns.keys() != {f"match.{name}" for name in names}:
        return None
    return _Field(ones, convert, tuple(match.columns[f"match.{name}"] for name in names), (0, 0))


def _parameters_of(shape: Shape, action: ActionSchema) -> tuple[tuple[int, int], ...] | None:
    given = {group.ids.get(f"{_PARAM}.param_id", 0): group.columns.get(f"{_PARAM}.value") for group in shape.params}
    if len(given) != len(shape.params) or given.keys() != action.by_id.keys():
        return None
    columns = [(given[parameter.id], parameter.width_bits) for parameter in action.parameters]
    if any(column is None or not width_bits for column, width_bits in columns):
        return None
    return tuple((column, width_bits) for column, width_bits in columns if column is not None)
