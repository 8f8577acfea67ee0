"""Tables: keys, action lists, default actions and entries (section 14.2)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from emulator.p4.check import arguments, coerce, constants, keysets
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text
from emulator.p4.check.context import Context, Where
from emulator.p4.check.keysets import has_priorities, written_priorities
from emulator.p4.check.reporting import declared_at, fail, refuse, report, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

PropertyCheck: TypeAlias = Callable[[Context, r.TableSymbol, s.Property], None]


def table(cx: Context, node: s.Table) -> r.TableSymbol:
    symbol = r.TableSymbol(node.name, t.TableType(node.name), node.name_at, node.annotations, node.end)
    properties = _properties(cx, node)
    _check_order(cx, properties)
    with cx.scope(where=Where.TABLE):
        for name, found in properties.items():
            if name not in PROPERTIES:
                _property(cx, _architecture_property, symbol, found)
        for name, check in PROPERTIES.items():
            if name in properties:
                _property(cx, check, symbol, properties[name])
        if "actions" not in properties:
            report(cx, node.name_at, f"table {node.name!r} has no 'actions'")
        if symbol.default is None and "default_action" not in properties:
            _no_action(cx, symbol, node)
        if "implementation" in symbol.properties and "default_action" in properties:
            warn(cx, properties["default_action"], "a table with an implementation does nothing on a miss")
    cx.declare(node.name, symbol, node.name_at)
    return symbol


def _property(cx: Context, check: PropertyCheck, symbol: r.TableSymbol, node: s.Property) -> None:
    with suppress(Abandoned):
        check(cx, symbol, node)


def _properties(cx: Context, node: s.Table) -> dict[str, s.Property]:
    found: dict[str, s.Property] = {}
    for prop in node.properties:
        if prop.name in found:
            report(cx, prop.name_at, f"table {node.name!r} has {prop.name!r} twice", Kind.DUPLICATE)
        found.setdefault(prop.name, prop)
    return found


def _check_order(cx: Context, properties: dict[str, s.Property]) -> None:
    """Properties that name actions follow ``actions`` (14.2.1.3), entries follow ``key`` (as in p4c)."""
    for later, earlier in (("default_action", "actions"), ("entries", "key"), ("entries", "actions")):
        if later in properties and earlier in properties and properties[later].at < properties[earlier].at:
            report(cx, properties[later].name_at, f"{later!r} must come after {earlier!r}")
            return


# --- keys --------------------------------------------------------------------------------------------------------


def _keys(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert isinstance(node.value, tuple)
    for element in node.value:
        assert isinstance(element, s.KeyElement)
        try:
            symbol.keys.append(_key(cx, element))
        except Abandoned:
            continue


def _key(cx: Context, node: s.KeyElement) -> r.KeyElement:
    with cx.within(where=Where.APPLY):
        value = cx.value(node.value)
    kind = node.match_kind.name
    if kind not in cx.match_kinds:
        fail(cx, node.match_kind, f"{kind!r} is not a match kind", Kind.NAME)
    if kind not in cx.architecture.match_kinds:
        refuse(cx, node.match_kind, f"match kind {kind!r}")
    if value.type is t.INT:
        fail(cx, node.value, "the width of this key cannot be inferred")
    if not (t.is_scalar(value.type) or t.is_empty(value.type) or isinstance(value.type, t.TypeVariable)):
        if value.type is t.UNKNOWN:
            raise Abandoned
        fail(cx, node.value, f"a key cannot have type {value.type}")
    if isinstance(value, r.Literal):
        warn(cx, node.value, "this key is a constant")
    name = annotation_text(node.annotations, "name") or _written_key(cx, node.value, value)
    if name is None:
        fail(cx, node.value, "a key that is computed needs a @name annotation")
    return r.KeyElement(value, kind, node.annotations, node.at, node.value, name)


def _written_key(cx: Context, node: s.Expr, value: r.Expr | None) -> str | None:
    """A path of names, ``h.$valid$``, ``s[1]``, ``x[7:4]``, ``x & 0xf``; None for what needs a ``@name``."""
    number = constants.number_text(cx, node)
    if number is not None:
        return number
    if isinstance(node, s.Name):
        return node.name
    if isinstance(node, s.Member):
        base = _written_key(cx, node.base, value.base if isinstance(value, r.FieldOf) else None)
        if base is None:
            return None
        own = _field_name(value) or node.name
        return own[1:] if own.startswith(".") else f"{base}.{own}"
    if isinstance(node, s.Call) and isinstance(node.callee, s.Member) and node.callee.name == "isValid":
        base = _written_key(cx, node.callee.base, value.base if isinstance(value, r.BuiltinCall) else None)
        return None if base is None else f"{base}.$valid$"
    if isinstance(node, s.Index):
        base = _written_key(cx, node.base, value.base if isinstance(value, r.ElementOf) else None)
        index = _written_key(cx, node.index, None)
        return None if base is None or index is None else f"{base}[{index}]"
    if isinstance(node, s.SliceOf) and isinstance(value, r.SliceOf):
        base = _written_key(cx, node.base, value.base)
        return None if base is None else f"{base}[{value.high}:{value.low}]"
    if isinstance(node, s.Binary) and node.op == "&":
        left = _written_key(cx, node.left, value.left if isinstance(value, r.Binary) else None)
        right = _written_key(cx, node.right, value.right if isinstance(value, r.Binary) else None)
        return None if left is None or right is None else f"{left} & {right}"
    return None


def _field_name(value: r.Expr | None) -> str | None:
    """A field's own ``@name``."""
    if isinstance(value, r.FieldOf) and isinstance(value.base.type, t.StructLike):
        field = value.base.type.fields.get(value.name)
        if field is not None:
            return annotation_text(field.annotations, "name")
    return None


# --- actions -----------------------------------------------------------------------------------------------------


def _find_action(cx: Context, name: s.Name) -> r.ActionSymbol:
    found = cx.find(name.name, name.is_absolute)
    if found is None:
        fail(cx, name, f"action {name.name!r} is not declared", Kind.NAME)
    if not isinstance(found, r.ActionSymbol):
        if getattr(found, "type", None) is t.UNKNOWN:
            raise Abandoned
        fail(cx, name, f"{name.name!r} is not an action")
    return found


def _actions(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert isinstance(node.value, tuple)
    for ref in node.value:
        assert isinstance(ref, s.ActionRef)
        try:
            action = _find_action(cx, ref.name)
            if any(listed.action.name == action.name for listed in symbol.actions):
                fail(cx, ref, f"an action {action.name!r} occurs twice in the list", Kind.DUPLICATE)
            if {"tableonly", "defaultonly"} <= {a.name for a in ref.annotations}:
                fail(cx, ref, "an action cannot be both @tableonly and @defaultonly")
            bound = _bound_arguments(cx, ref, action)
            symbol.actions.append(r.TableAction(action, bound, ref.annotations, ref.at, ref.arguments or ()))
        except Abandoned:
            continue


def _bound_arguments(cx: Context, ref: s.ActionRef, action: r.ActionSymbol) -> tuple[r.Bound, ...]:
    """Arguments in the list are for the parameters with directions; the control plane gives the others."""
    directed = tuple(p for p in action.signature.parameters if p.direction)
    signature = t.Signature(action.name, (), directed, t.VOID)
    call = s.Call(ref.at, ref.name, None, ref.arguments or ())
    with cx.within(where=Where.APPLY):
        return arguments.match(cx, call, signature, f"action {action.name!r} in the table's list", is_action=True)[0]


def _choice(cx: Context, symbol: r.TableSymbol, node: s.Expr | s.ActionRef, what: str) -> r.ActionChoice:
    """``a`` or ``a(arguments)`` of a default action or an entry."""
    name, given = _action_and_arguments(cx, node, what)
    action = _find_action(cx, name)
    listed = next((a for a in symbol.actions if a.action is action), None)
    if listed is None:
        fail(cx, name, f"{what}: {action.name!r} is not in the table's action list", Kind.NAME)
    parameters = action.signature.parameters
    own = tuple(p for p in parameters if not p.direction)
    is_named = any(a.name is not None for a in given)
    is_whole = len(given) == len(own) and all(p.default is None for p in own)
    if given and len(own) < len(parameters) and (is_named or not is_whole):
        given = _without_bound(cx, given, own, listed, what)
    call = s.Call(node.at, name, None, tuple(map(_without_braces, given)))
    bound, _ = arguments.match(cx, call, t.Signature(action.name, (), own, t.VOID), f"{what}: {action.name}()")
    return r.ActionChoice(action, tuple(b.value for b in bound if b.value is not None), node.at)


def _without_bound(
    cx: Context, given: tuple[s.Argument, ...], own: tuple[t.Parameter, ...], listed: r.TableAction, what: str
) -> tuple[s.Argument, ...]:
    """The control plane's arguments; the others repeat those of the list and must be the same (14.2.1.2)."""
    names = {p.name for p in listed.action.signature.parameters if p.direction}
    if given[0].name is None:
        count = len(listed.written)
        is_repeated = all(
            _words(cx, a) == _words(cx, w) for a, w in zip(given[:count], listed.written[:count], strict=False)
        )
        if len(given) <= len(own) and not is_repeated:
            return given
        repeated, rest = given[:count], given[count:]
    else:
        repeated = tuple(a for a in given if a.name in names)
        rest = tuple(a for a in given if a.name not in names)
    for argument, written in zip(repeated, listed.written, strict=False):
        if _words(cx, argument) != _words(cx, written):
            fail(cx, argument, f"{what}: this argument must be the same as in the table's action list")
    return rest


def _without_braces(argument: s.Argument) -> s.Argument:
    """``{x}`` for a number is ``x``, as p4c takes it here."""
    value = argument.value
    if not isinstance(value, s.ListOf) or len(value.items) != 1:
        return argument
    return replace(argument, value=value.items[0])


def _words(cx: Context, node: s.Node) -> list[str]:
    return cx.tokens.texts[node.at : s.last_token(node) + 1]


def _action_and_arguments(cx: Context, node: s.Expr | s.ActionRef, what: str) -> tuple[s.Name, tuple[s.Argument, ...]]:  # noqa: RET503
    if isinstance(node, s.ActionRef):
        return node.name, node.arguments or ()
    if isinstance(node, s.Name):
        return node, ()
    if isinstance(node, s.Call) and isinstance(node.callee, s.Name):
        return node.callee, node.arguments
    fail(cx, node, f"{what} must be an action of the table")


def _is_annotated(symbol: r.TableSymbol, choice: r.ActionChoice, name: str) -> bool:
    """Whether the table's list says so of the action."""
    listed = next(a for a in symbol.actions if a.action is choice.action)
    return any(a.name == name for a in listed.annotations)


def _default_action(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert not isinstance(node.value, tuple)
    symbol.default = _choice(cx, symbol, node.value, "default_action")
    if _is_annotated(symbol, symbol.default, "tableonly"):
        text = f"action {symbol.default.action.name!r} is @tableonly: it cannot be the default"
        report(cx, node.value, text)
    symbol.default_is_const = node.is_const


def _no_action(cx: Context, symbol: r.TableSymbol, node: s.Table) -> None:
    """Without default_action it is NoAction, which joins the list as ``@defaultonly`` (p4c: createBuiltins.cpp)."""
    action = cx.scopes[0].get("NoAction")
    if not isinstance(action, r.ActionSymbol):
        report(cx, node.name_at, f"table {node.name!r} needs NoAction: include core.p4", Kind.NAME)
        return
    if all(listed.action is not action for listed in symbol.actions):
        only_default = s.Annotation(node.at, "defaultonly", None, False)
        symbol.actions.append(r.TableAction(action, (), (only_default,), node.at))
    symbol.default = r.ActionChoice(action, (), node.at)


# --- other properties --------------------------------------------------------------------------------------------


def _size(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert not isinstance(node.value, tuple)
    size = cx.value(node.value)
    base = t.unwrapped(size.type)
    if base is not t.INT and not isinstance(base, t.BitsType):
        if base is t.UNKNOWN:
            raise Abandoned
        fail(cx, node.value, f"a table's size must be an integer, not {size.type}")
    if not constants.is_known(size):
        fail(cx, node.value, "a table's size must be known at compile time", Kind.CONSTANT)
    if isinstance(size, r.Literal) and size.value < 0:
        fail(cx, node.value, "a table's size cannot be negative", Kind.CONSTANT)
    symbol.size = size


def _largest_priority_wins(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    symbol.largest_priority_wins = _flag(cx, node)


def _flag(cx: Context, node: s.Property) -> bool:
    assert not isinstance(node.value, tuple)
    found = coerce.typed(cx, node.value, t.BOOL, f"property {node.name!r}")
    if not isinstance(found, r.Literal):
        fail(cx, node.value, f"property {node.name!r} must be known at compile time", Kind.CONSTANT)
    return bool(found.value)


def _priority_delta(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert not isinstance(node.value, tuple)
    symbol.priority_delta = constants.integer(cx, node.value, "priority_delta")
    if symbol.priority_delta < 1:
        fail(cx, node.value, "priority_delta must be at least 1", Kind.CONSTANT)


def _architecture_property(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    if node.name in cx.architecture.table_flags:
        symbol.flags[node.name] = _flag(cx, node)
        return
    expected = cx.architecture.table_properties.get(node.name)
    if expected is None:
        warn(cx, node.name_at, f"this target knows no table property {node.name!r}: it is ignored")
        return
    assert not isinstance(node.value, tuple)
    value = cx.value(node.value)
    if value.type is t.UNKNOWN:
        raise Abandoned
    if not isinstance(value.type, t.ExternType) or value.type.name not in expected:
        fail(cx, node.value, f"{node.name} must be an instance of {' or '.join(expected)}, not {value.type}")
    symbol.properties[node.name] = (value, node.at, node.annotations)


# --- entries -----------------------------------------------------------------------------------------------------


def _entries(cx: Context, symbol: r.TableSymbol, node: s.Property) -> None:
    assert isinstance(node.value, tuple)
    symbol.entries_are_const = node.is_const
    if not symbol.keys and node.value:
        fail(cx, node.name_at, f"table {symbol.name!r} has entries but no key")
    if "implementation" in symbol.properties:
        report(cx, node.name_at, "a table with an implementation takes no entries", Kind.TARGET)
    for entry in node.value:
        assert isinstance(entry, s.Entry)
        try:
            symbol.entries.append(_entry(cx, symbol, entry, node.is_const))
        except Abandoned:
            continue
    _check_priorities(cx, symbol)
    if not has_priorities(symbol):
        _check_distinct(cx, symbol)


def _check_distinct(cx: Context, symbol: r.TableSymbol) -> None:
    """Exact keys and prefixes occur once: of two entries neither would have precedence (section 14.2.1.4)."""
    known: dict[tuple[tuple[int, int], ...], r.Entry] = {}
    for entry in symbol.entries:
        key = tuple(bits for element in entry.keyset if (bits := keysets.matched_bits(element)) is not None)
        if len(key) < len(entry.keyset):
            continue
        first = known.setdefault(key, entry)
        if first is not entry:
            text = f"table {symbol.name!r} has an entry with these keys already"
            report(cx, entry.at, text, Kind.DUPLICATE, declared_at(cx, first.at))


def _check_priorities(cx: Context, symbol: r.TableSymbol) -> None:
    """The first entry has a priority when any has; equal ones and unsorted ones are worth a warning."""
    entries = symbol.entries
    if all(entry.priority is None for entry in entries):
        return
    if entries[0].priority is None:
        fail(cx, entries[0].at, "the first entry needs a priority when any has one")
    found = written_priorities(symbol)
    if len(set(found)) < len(found):
        warn(cx, symbol.at, f"entries of table {symbol.name!r} have equal priorities: the earlier one wins")
    if found != sorted(found, reverse=symbol.largest_priority_wins):
        warn(cx, symbol.at, f"the entries of table {symbol.name!r} are not in the order of their priorities")


def _entry(cx: Context, symbol: r.TableSymbol, node: s.Entry, is_const: bool) -> r.Entry:
    priority = None
    if node.priority is not None:
        if is_const:
            fail(cx, node.priority, "const entries are matched in order and take no priorities")
        if not has_priorities(symbol):
            fail(cx, node.priority, "entries of a table with exact and lpm keys only take no priorities")
        priority = constants.integer(cx, node.priority, "a priority")
        if priority < 1:
            fail(cx, node.priority, "a priority must be at least 1", Kind.CONSTANT)
    elements = node.keyset.items if isinstance(node.keyset, s.TupleKeyset | s.ListOf) else (node.keyset,)
    if isinstance(node.keyset, s.DontCare) and len(symbol.keys) > 1:
        elements = (node.keyset,) * len(symbol.keys)
    if len(elements) != len(symbol.keys):
        fail(cx, node.keyset, f"{len(elements)} keys where table {symbol.name!r} has {len(symbol.keys)}")
    keyset = tuple(keysets.element(cx, e, k.value.type, "an entry") for e, k in zip(elements, symbol.keys, strict=True))
    for element, key, found in zip(elements, symbol.keys, keyset, strict=True):
        keysets.check_match_kind(cx, element, key, found)
    choice = _choice(cx, symbol, node.action, "an entry's action")
    if _is_annotated(symbol, choice, "defaultonly"):
        fail(cx, node.action, f"action {choice.action.name!r} is @defaultonly: no entry can have it")
    return r.Entry(keyset, choice, priority, node.annotations, is_const or node.is_const, node.at, node.end)


PROPERTIES: dict[str, PropertyCheck] = {
    "key": _keys,
    "actions": _actions,
    "size": _size,
    "default_action": _default_action,
    "largest_priority_wins": _largest_priority_wins,
    "priority_delta": _priority_delta,
    "entries": _entries,
}
"""The language's, in the order in which they are checked; all others are the architecture's and come first."""
