"""Parser states, transitions and value sets (section 13)."""

from __future__ import annotations

from emulator.p4.check import constants, keysets, statements, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import declared_at, fail, report, unsupported, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

_FINAL = ("accept", "reject")


_Case = tuple[tuple[r.Expr, ...], str]


def states(cx: Context, symbol: r.BlockSymbol, node: s.Parser) -> None:
    names: dict[str, int] = {}
    for state in node.states:
        if state.name in _FINAL:
            report(cx, state.name_at, f"a state cannot be called {state.name!r}", Kind.DUPLICATE)
        if state.name in names:
            notes = declared_at(cx, names[state.name])
            report(cx, state.name_at, f"the state {state.name!r} is declared twice", Kind.DUPLICATE, notes)
        elif state.name in cx.scopes[-1]:
            text = f"{state.name!r} is declared in this parser already: its states and locals share their names"
            report(cx, state.name_at, text, Kind.DUPLICATE)
        names.setdefault(state.name, state.name_at)
    if "start" not in names:
        report(cx, node.name_at, f"parser {node.name!r} has no state 'start'", Kind.NAME)
    for state in node.states:
        try:
            symbol.states.append(_state(cx, state, names))
        except Abandoned:
            continue


def _state(cx: Context, node: s.State, names: dict[str, int]) -> r.State:
    with cx.scope(where=Where.STATE):
        body = statements.sequence(cx, node.body)
        if node.transition is None:
            warn(cx, node.name_at, f"the state {node.name!r} has no transition: it goes to reject")
            return r.State(node.name, body, (), (((), "reject"),), node.name_at, node.end)
        if isinstance(node.transition, s.Name):
            target = _target(cx, node.transition, names)
            if target == "reject":
                warn(cx, node.transition, "on this target an explicit transition to reject ends the parser like accept")
            return r.State(node.name, body, (), (((), target),), node.name_at, node.end)
        keys, cases = _select(cx, node.transition, names)
    return r.State(node.name, body, keys, cases, node.name_at, node.end, node.transition.at)


def _target(cx: Context, node: s.Name, names: dict[str, int]) -> str:
    if node.name not in names and node.name not in _FINAL:
        fail(cx, node, f"there is no state {node.name!r}", Kind.NAME)
    return node.name


# --- select ------------------------------------------------------------------------------------------------------


def _select(cx: Context, node: s.Select, names: dict[str, int]) -> tuple[tuple[r.Expr, ...], tuple[_Case, ...]]:
    keys = tuple(part for key in node.keys for part in _select_keys(cx, key))
    if not node.cases:
        warn(cx, node, "this select has no cases")
    cases: list[_Case] = []
    saw_default = False
    for case in node.cases:
        try:
            target = _target(cx, case.state, names)
            found = (_case(cx, case.keyset, keys), target)
        except Abandoned:
            continue
        if saw_default:
            warn(cx, case.keyset, "this case cannot be reached: a default is before it")
            continue
        cases.append(found)
        saw_default = isinstance(case.keyset, s.DontCare)
    return keys, tuple(cases)


def _select_keys(cx: Context, node: s.Expr) -> tuple[r.Expr, ...]:
    """A tuple is as many keys as it has elements (section 13.6)."""
    key = cx.value(node)
    if isinstance(key, r.Aggregate) and isinstance(key.type, t.ListLiteralType):
        return tuple(_select_key(cx, node, item) for item in key.items)
    if isinstance(key.type, t.TupleType) and isinstance(key, r.Ref | r.FieldOf):
        numbers = (r.Literal(node.at, t.bits(32), number) for number in range(len(key.type.items)))
        items = zip(key.type.items, numbers, strict=True)
        return tuple(_select_key(cx, node, r.ElementOf(node.at, type_, key, number)) for type_, number in items)
    return (_select_key(cx, node, key),)


def _select_key(cx: Context, node: s.Expr, key: r.Expr) -> r.Expr:
    if key.type is t.INT:
        fail(cx, node, "the width of this key cannot be inferred")
    legal = t.is_scalar(key.type) or t.is_empty(key.type) or isinstance(key.type, t.TypeVariable)
    if not legal and key.type is not t.UNKNOWN:
        fail(cx, node, f"a select's key cannot have type {key.type}")
    return key


def _case(cx: Context, node: s.Expr, keys: tuple[r.Expr, ...]) -> tuple[r.Expr, ...]:
    if isinstance(node, s.Name) and isinstance(cx.find(node.name, node.is_absolute), r.ValueSetSymbol):
        return (_value_set_case(cx, node, keys),)
    elements = node.items if isinstance(node, s.TupleKeyset | s.ListOf) else (node,)
    if isinstance(node, s.DontCare):
        elements = (node,) * len(keys)
    if len(elements) != len(keys):
        fail(cx, node, f"{len(elements)} values where the select has {len(keys)} keys")
    return tuple(_select_keyset(cx, e, k.type) for e, k in zip(elements, keys, strict=True))


def _select_keyset(cx: Context, node: s.Expr, target: t.Type) -> r.Expr:
    """One element of a case; its numbers need not be known (section 13.6)."""
    if isinstance(node, s.Name) and isinstance(cx.find(node.name, node.is_absolute), r.ValueSetSymbol):
        unsupported(cx, node, "a value set together with other values in one case")
    return keysets.element(cx, node, target, "a select's case", must_be_known=False)


# --- value sets --------------------------------------------------------------------------------------------------


def value_set(cx: Context, node: s.ValueSet) -> r.ValueSetSymbol:
    """``value_set<T>(size) name;`` (section 13.11)."""
    element = types.type_of(cx, node.type)
    if element is t.UNKNOWN:
        raise Abandoned
    for type_, at in _value_set_types(cx, element, node):
        if not t.is_scalar(type_):
            fail(cx, at, f"a value set's elements cannot hold {type_}")
    size = cx.value(node.size)
    base = t.unwrapped(size.type)
    if base is not t.INT and not isinstance(base, t.BitsType):
        fail(cx, node.size, f"a value set's size must be an integer, not {size.type}")
    if not constants.is_known(size):
        fail(cx, node.size, "a value set's size must be known at compile time", Kind.CONSTANT)
    if isinstance(size, r.Literal) and size.value < 1:
        fail(cx, node.size, "a value set's size must be at least 1", Kind.CONSTANT)
    symbol = r.ValueSetSymbol(node.name, t.set_of(element), node.name_at, element, size, node.annotations, node.end)
    cx.declare(node.name, symbol, node.name_at)
    return symbol


def _value_set_types(cx: Context, element: t.Type, node: s.ValueSet) -> list[tuple[t.Type, s.Node | int]]:
    if isinstance(element, t.StructLike) and element.kind == "struct":
        for field in element.fields.values():
            _check_match_annotation(cx, field)
        return [(field.type, field.at) for field in element.fields.values()]
    if isinstance(element, t.TupleType):
        return [(item, node.type) for item in element.items]
    return [(element, node.type)]


def _check_match_annotation(cx: Context, field: t.Field) -> None:
    """``@match(kind)`` on a field of the element's struct."""
    for annotation in field.annotations:
        if annotation.name != "match":
            continue
        if annotation.tokens is None or len(annotation.tokens) != 1:
            fail(cx, annotation, "@match takes one match kind")
        if annotation.tokens[0] not in cx.match_kinds:
            fail(cx, annotation, f"{annotation.tokens[0]!r} is not a match kind", Kind.NAME)


def _value_set_case(cx: Context, node: s.Name, keys: tuple[r.Expr, ...]) -> r.Ref:
    symbol = cx.find(node.name, node.is_absolute)
    assert isinstance(symbol, r.ValueSetSymbol)
    element = symbol.element
    if isinstance(element, t.StructLike):
        expected = tuple(f.type for f in element.fields.values())
    else:
        expected = element.items if isinstance(element, t.TupleType) else (element,)
    actual = tuple(key.type for key in keys)
    if len(expected) != len(actual):
        fail(cx, node, f"{len(expected)} values in the value set where the select has {len(actual)} keys")
    for want, have in zip(expected, actual, strict=True):
        if want is not have and have is not t.UNKNOWN and t.unwrapped(want) is not t.unwrapped(have):
            fail(cx, node, f"a value set of {want} cannot be matched with a key of type {have}")
    return r.Ref(node.at, symbol.type, symbol)
