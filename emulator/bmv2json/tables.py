"""Tables: keys, actions, default entries and what is attached to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.bmv2json import numbers as n
from emulator.bmv2json.client_p4info import match_kind
from emulator.bmv2json.context import DocumentContext, JsonAction
from emulator.bmv2json.document import Node
from emulator.p4 import ir

MATCH_KINDS = ("exact", "lpm", "ternary", "range", "optional", "valid")
DEFAULT_SIZE = 1024
MAX_SIZE = 1 << 28
SCOPES = (ir.ActionScope.TABLE_AND_DEFAULT, ir.ActionScope.TABLE_ONLY, ir.ActionScope.DEFAULT_ONLY)
"""Scopes by the number that P4Info gives them."""
NOTHING = "NoAction"


@dataclass(frozen=True, slots=True)
class JsonTable:
    """A table, and how its actions are called in the document."""

    table: ir.Table
    listed: tuple[str, ...]
    """Names in the document, in the order of ``table.actions``."""


def read_table(cx: DocumentContext, node: Node) -> JsonTable:
    """One table of a pipeline. Raises Bmv2JsonError."""
    name = node["name"].name()
    shapes = [_key(cx, name, each, i) for i, each in enumerate(node.list("key"))]
    _check_keys(cx, name, node, len(shapes))
    chosen = _actions(cx, node)
    listed = [action.name for action in chosen]
    names = {action.id: action.action.name for action in chosen}
    if len(names) != len(chosen):
        node.fail("an action is listed twice")
    scopes = cx.client.scopes(name)
    references = [ir.TableAction(names[action.id], SCOPES[min(scopes.get(action.name, 0), 2)]) for action in chosen]
    default = _default(cx, node, names)
    if default is None:
        default = ir.ActionCall(_nothing(cx, chosen, references, listed))
    entries = read_entries(node, shapes, lambda each: _entry_call(cx, each, names))
    profile, selectors = _implementation(cx, node)
    if profile is not None and entries:
        node["entries"].fail("a table with an action profile cannot have entries in the program")
    is_const, default_is_const = _constness(cx, name, node)
    keys = tuple(shape.key for shape in shapes)
    table = ir.Table(
        name, (*keys, *selectors), tuple(references), default, default_is_const, _size(node, len(entries)),
        tuple(_with_constness(entry, is_const) for entry in entries), bool(entries) and is_const,
        (*_direct(cx, name, node), *([profile] if profile is not None else [])), (), node.span(),
        _flag(node, "support_timeout"),
    )  # fmt: skip
    return JsonTable(table, tuple(listed))


def _size(node: Node, entries: int) -> int:
    size = node.get("max_size")
    return max(size.number(0, MAX_SIZE) if size is not None else 0, entries) or DEFAULT_SIZE


def _constness(cx: DocumentContext, name: str, node: Node) -> tuple[bool, bool]:
    """(entries, default entry): the client's P4Info knows; bmv2 itself makes all entries of a program constant."""
    default = node.get("default_entry")
    fixed = default is not None and default.get("action_const") is not None and default["action_const"].flag()
    if name not in cx.client.tables:
        return True, fixed
    table = cx.client.tables[name]
    return table.is_const_table, fixed or table.const_default_action_id != 0


# --- keys --------------------------------------------------------------------------------------------------------


def _key(cx: DocumentContext, table: str, node: Node, position: int) -> KeyShape:
    kind = node["match_type"].text()
    if kind not in MATCH_KINDS:
        node["match_type"].fail(f"must be one of {', '.join(MATCH_KINDS)}")
    target = node["target"]
    label, described = node.get("name"), cx.client.key(table, position)
    name = label.name() if label is not None else ".".join(str(part) for part in _parts(target))
    if described is not None:
        name, kind = described.name or name, _client_kind(kind, match_kind(described), node)
    value: ir.Expr
    if kind == "valid":
        header = target if isinstance(target.value, str) else target.items()[0]
        return KeyShape(ir.TableKey(name, ir.IsValid(cx.storage.header(header)), "exact"), 1)
    validity = cx.storage.validity(target)
    if validity is not None:
        return KeyShape(ir.TableKey(name, validity, kind), 1)
    slot = cx.storage.slot(target)
    if not isinstance(slot.type, ir.Bits):
        target.fail("a field of variable width cannot be a key")
    if slot.is_empty:
        return KeyShape(ir.TableKey(name, ir.Constant(0, ir.Bits(1)), kind), 1)
    width = slot.type.width_bits
    # a field's own node: it alone reads as 0 where its header is invalid
    value = n.cast(slot.place, ir.Bits(width))
    return _under_mask(KeyShape(ir.TableKey(name, value, kind), width), node, described)


def _under_mask(shape: KeyShape, node: Node, described: Any | None) -> KeyShape:
    mask_node = node.get("mask")
    if mask_node is None:
        return _checked(shape, node, described)
    width, mask = shape.width, mask_node.hexadecimal()
    ones = (1 << width) - 1
    if not 0 <= mask <= ones:
        mask_node.fail(f"has bits beyond the key's {width}")
    key = shape.key
    low = (mask & -mask).bit_length() - 1
    run = mask >> low if mask else 0
    is_run = mask != 0 and run & (run + 1) == 0
    sliced = run.bit_length()
    if is_run and mask != ones and _is_slice(key.name, described, sliced, low):
        value: ir.Expr = ir.Slice(key.value, low + sliced - 1, low)
        shape = KeyShape(ir.TableKey(key.name, value, key.match_kind), sliced, low, width)
    elif mask != ones:
        type_ = ir.Bits(width)
        value = ir.Binary(ir.BinaryOp.AND, key.value, ir.Constant(mask, type_), type_)
        shape = KeyShape(ir.TableKey(key.name, value, key.match_kind), width, mask=mask)
    return _checked(shape, node, described)


def _is_slice(name: str, described: Any | None, width: int, low: int) -> bool:
    """p4c writes ``x[7:4]`` as x under a mask, but P4Info has the slice's own width; entries come with that."""
    if described is not None:
        return bool(described.bitwidth == width)
    return name.endswith(f"[{low + width - 1}:{low}]")


def _checked(shape: KeyShape, node: Node, described: Any | None) -> KeyShape:
    """P4Info's width is the key's, unless the controller has another type for it (@p4runtime_translation)."""
    width = described.bitwidth if described is not None else 0
    if described is not None and width not in (0, shape.width) and not described.type_name.name:
        node.fail(f"key {shape.key.name} has {shape.width} bits, {width} in the client's P4Info")
    return shape


def _client_kind(kind: str, described: str, node: Node) -> str:
    """P4Info distinguishes optional keys from ternary ones, for bmv2 they are one."""
    if kind == described or {kind, described} == {"ternary", "optional"}:
        return described
    if kind == "valid" and described == "exact":
        return kind
    return node["match_type"].fail(f"is {kind} here, {described} in the client's P4Info")


def _check_keys(cx: DocumentContext, name: str, node: Node, count: int) -> None:
    if name in cx.client.tables and len(cx.client.tables[name].match_fields) != count:
        there = len(cx.client.tables[name].match_fields)
        node.fail(f"table {name} has {count} keys, {there} in the client's P4Info")
    kinds = [each["match_type"].text() for each in node.list("key")]
    if kinds.count("lpm") > 1:
        node["key"].fail("a table cannot have two lpm keys")


# --- actions -----------------------------------------------------------------------------------------------------


def _actions(cx: DocumentContext, node: Node) -> list[JsonAction]:
    """Actions by id; documents of 2016 and 2017 have names only."""
    if node.get("action_ids") is not None:
        return [_action(cx, each) for each in node["action_ids"].items()]
    by_name: dict[str, JsonAction] = {}
    for action in cx.actions.values():
        by_name.setdefault(action.name, action)
    for each in node["actions"].items():
        if each.text() not in by_name:
            each.fail(f"there is no action {each.text()!r}")
    return [by_name[each.text()] for each in node["actions"].items()]


def _action(cx: DocumentContext, node: Node) -> JsonAction:
    if node.number() not in cx.actions:
        node.fail(f"there is no action with id {node.value}")
    return cx.actions[node.number()]


def _call(cx: DocumentContext, node: Node, names: Mapping[int, str]) -> ir.ActionCall:
    action = _action(cx, node["action_id"])
    if action.id not in names:
        node["action_id"].fail(f"action {action.name} is not among the table's")
    data, parameters = node.list("action_data"), action.action.parameters
    if len(data) != len(parameters):
        node.fail(f"action {action.name} takes {len(parameters)} values, not {len(data)}")
    values = tuple(
        each.hexadecimal() & ((1 << ir.width_of(p.type)) - 1) for each, p in zip(data, parameters, strict=True)
    )
    return ir.ActionCall(action.action.name, values)


def _entry_call(cx: DocumentContext, node: Node, names: Mapping[int, str]) -> ir.ActionCall:
    return _call(cx, node["action_entry"], names)


def _default(cx: DocumentContext, node: Node, names: Mapping[int, str]) -> ir.ActionCall | None:
    default = node.get("default_entry")
    return _call(cx, default, names) if default is not None else None


def _nothing(cx: DocumentContext, chosen: list[JsonAction], references: list[ir.TableAction], listed: list[str]) -> str:
    """The action of a miss where the document names none: one that does nothing."""
    for action in chosen:
        if action.name == NOTHING and not action.action.parameters and not action.action.body:
            return action.action.name
    taken = {action.action.name for action in cx.actions.values()} | {a.name for a in cx.more_actions}
    name, number = NOTHING, 2
    while name in taken:
        name, number = f"{NOTHING}{ir.VARIANT}{number}", number + 1
    cx.more_actions.append(ir.Action(name, (), ()))
    references.append(ir.TableAction(name, ir.ActionScope.DEFAULT_ONLY))
    listed.append(NOTHING)
    return name


# --- what belongs to the table -----------------------------------------------------------------------------------


def _implementation(cx: DocumentContext, node: Node) -> tuple[ir.ExternInstance | None, tuple[ir.TableKey, ...]]:
    kind = node.get("type")
    if kind is None or kind.text() == "simple":
        return None, ()
    if kind.text() not in ("indirect", "indirect_ws"):
        kind.fail("must be simple, indirect or indirect_ws")
    name = node["action_profile"].text()
    if name not in cx.objects.profiles:
        node["action_profile"].fail(f"action profile {name!r} is not declared")
    if (kind.text() == "indirect_ws") != (name in cx.objects.selector_inputs):
        kind.fail(f"does not go with action profile {name!r}: only those with a selector are for indirect_ws")
    inputs = cx.objects.selector_inputs.get(name, ())
    keys = tuple(ir.TableKey(f"{name}.selector_{i}", value, "selector") for i, value in enumerate(inputs))
    return cx.objects.profiles[name], keys


def _direct(cx: DocumentContext, name: str, node: Node) -> list[ir.ExternInstance]:
    result = []
    if name in cx.objects.direct_counters:
        result.append(cx.objects.direct_counters[name])
    meter = node.get("direct_meters")
    if meter is not None:
        bound = cx.objects.direct_meters.get(name)
        if bound is None or bound.name != meter.text():
            meter.fail(f"there is no direct meter {meter.text()!r} for this table")
        result.append(bound)
    return result


def _with_constness(entry: ir.TableEntry, is_const: bool) -> ir.TableEntry:
    return ir.TableEntry(entry.keysets, entry.call, entry.priority, is_const, entry.span)


def _flag(node: Node, key: str) -> bool:
    flag = node.get(key)
    return flag is not None and flag.flag()


def _parts(target: Node) -> list[object]:
    return list(target.value) if isinstance(target.value, list) else [target.value]


# --- entries ----------------------------------------------------------------------------------------------------------


WITHOUT_PRIORITY = ("exact", "lpm")
MAX_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class KeyShape:
    """A key, and how the numbers of entries become numbers of it."""

    key: ir.TableKey
    width: int
    shift: int = 0
    """The key is a slice that begins at this bit of its field."""
    field_width: int = 0
    """Width of the field that the key is a slice of; 0: it is not a slice."""
    mask: int | None = None
    """Values are compared under this mask."""

    @property
    def ones(self) -> int:
        return (1 << self.width) - 1

    def value(self, node: Node) -> int:
        """Cut to the key's width, as bmv2 does."""
        number = node.hexadecimal() >> self.shift & self.ones
        return number if self.mask is None else number & self.mask


def read_entries(
    table: Node, keys: Sequence[KeyShape], call: Callable[[Node], ir.ActionCall]
) -> tuple[ir.TableEntry, ...]:
    """The entries of a table; bmv2's smaller priorities win, the IR's larger ones do. Raises Bmv2JsonError."""
    nodes = table.list("entries")
    needs_priority = any(shape.key.match_kind not in WITHOUT_PRIORITY for shape in keys)
    numbers = [_priority(node, i) for i, node in enumerate(nodes)] if needs_priority else [0] * len(nodes)
    top = max(numbers, default=0) + 1
    result: list[ir.TableEntry] = []
    seen: set[object] = set()
    for node, number in zip(nodes, numbers, strict=True):
        parts = node["match_key"].exactly(len(keys), "one for each key of the table")
        keysets = tuple(_keyset(part, shape) for part, shape in zip(parts, keys, strict=True))
        if (keysets, number) in seen:
            node.fail("there is an entry with the same key already")
        seen.add((keysets, number))
        result.append(ir.TableEntry(keysets, call(node), top - number if needs_priority else 0, True, node.span()))
    return tuple(result)


def _priority(node: Node, position: int) -> int:
    priority = node.get("priority")
    return priority.number(0, MAX_PRIORITY) if priority is not None else position + 1


def _keyset(node: Node, shape: KeyShape) -> ir.KeySet:
    match_type = node.get("match_type")
    kind = match_type.text() if match_type is not None else shape.key.match_kind
    ones = shape.ones
    if kind == "range":
        low, high = shape.value(node["start"]), shape.value(node["end"])
        if low > high:
            node.fail("the range ends before it starts")
        return ir.Between(low, high)
    if kind == "valid":
        key = node["key"]
        return ir.Masked(int(key.flag() if isinstance(key.value, bool) else bool(key.hexadecimal())), 1)
    value = shape.value(node["key"])
    if kind == "lpm":
        length = node["prefix_length"].number(0, shape.field_width or shape.width)
        length = min(length, shape.width)
        mask = ones ^ (ones >> length)
    elif kind in ("ternary", "optional"):
        mask_node = node.get("mask")
        mask = ones if mask_node is None else mask_node.hexadecimal() >> shape.shift & ones
    elif kind == "exact":
        mask = ones
    else:
        node["match_type"].fail(f"{kind!r} is not a kind of match")
    if shape.key.match_kind == "range":
        if mask == 0:
            return ir.Between(0, ones)
        return ir.Between(value & mask, value | (ones ^ mask))
    if shape.key.match_kind == "exact" and mask != ones:
        node.fail("an exact key takes no mask")
    if shape.key.match_kind == "optional" and mask not in (0, ones):
        node.fail("an optional key is there or not: its mask must be all ones or 0")
    return ir.Masked(value & mask, mask)
