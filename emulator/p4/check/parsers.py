"""Parser states, transitions and value sets (section 13)."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import Where
from emulator.p4.check.types import TypeChecker
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s

FINAL = ("accept", "reject")
Case = tuple[tuple[r.Expr, ...], str]


class ParserChecker(TypeChecker):
    def states(self, symbol: r.BlockSymbol, node: s.Parser) -> None:
        names: dict[str, int] = {}
        for state in node.states:
            if state.name in FINAL:
                self.report(state.name_at, f"a state cannot be called {state.name!r}", Kind.DUPLICATE)
            if state.name in names:
                notes = self.declared_at(names[state.name])
                self.report(state.name_at, f"the state {state.name!r} is declared twice", Kind.DUPLICATE, notes)
            elif state.name in self.scopes[-1]:
                text = f"{state.name!r} is declared in this parser already: its states and locals share their names"
                self.report(state.name_at, text, Kind.DUPLICATE)
            names.setdefault(state.name, state.name_at)
        if "start" not in names:
            self.report(node.name_at, f"parser {node.name!r} has no state 'start'", Kind.NAME)
        for state in node.states:
            try:
                symbol.states.append(self._state(state, names))
            except Abandoned:
                continue

    def _state(self, node: s.State, names: dict[str, int]) -> r.State:
        with self.scope(Where.STATE):
            body = self.statements(node.body)
            if node.transition is None:
                self.warn(node.name_at, f"the state {node.name!r} has no transition: it goes to reject")
                return r.State(node.name, body, (), (((), "reject"),), node.name_at, node.end)
            if isinstance(node.transition, s.Name):
                target = self._target(node.transition, names)
                if target == "reject":
                    self.warn(
                        node.transition, "on this target an explicit transition to reject ends the parser like accept"
                    )
                return r.State(node.name, body, (), (((), target),), node.name_at, node.end)
            keys, cases = self._select(node.transition, names)
        return r.State(node.name, body, keys, cases, node.name_at, node.end, node.transition.at)

    def _target(self, node: s.Name, names: dict[str, int]) -> str:
        if node.name not in names and node.name not in FINAL:
            self.fail(node, f"there is no state {node.name!r}", Kind.NAME)
        return node.name

    # --- select --------------------------------------------------------------------------------------------------

    def _select(self, node: s.Select, names: dict[str, int]) -> tuple[tuple[r.Expr, ...], tuple[Case, ...]]:
        keys = tuple(part for key in node.keys for part in self._select_keys(key))
        if not node.cases:
            self.warn(node, "this select has no cases")
        cases: list[Case] = []
        saw_default = False
        for case in node.cases:
            try:
                target = self._target(case.state, names)
                found = (self._case(case.keyset, keys), target)
            except Abandoned:
                continue
            if saw_default:
                self.warn(case.keyset, "this case cannot be reached: a default stands before it")
                continue
            cases.append(found)
            saw_default = isinstance(case.keyset, s.DontCare)
        return keys, tuple(cases)

    def _select_keys(self, node: s.Expr) -> tuple[r.Expr, ...]:
        """A tuple is as many keys as it has elements (section 13.6)."""
        key = self.value(node)
        if isinstance(key, r.Aggregate) and isinstance(key.type, t.ListLiteralType):
            return tuple(self._select_key(node, item) for item in key.items)
        if isinstance(key.type, t.TupleType) and isinstance(key, r.Ref | r.FieldOf):
            numbers = (r.Literal(node.at, t.bits(32), number) for number in range(len(key.type.items)))
            items = zip(key.type.items, numbers, strict=True)
            return tuple(self._select_key(node, r.ElementOf(node.at, type_, key, number)) for type_, number in items)
        return (self._select_key(node, key),)

    def _select_key(self, node: s.Expr, key: r.Expr) -> r.Expr:
        if key.type is t.INT:
            self.fail(node, "the width of this key cannot be inferred")
        if not t.is_scalar(key.type) and key.type is not t.UNKNOWN and not isinstance(key.type, t.TypeVariable):
            self.fail(node, f"a select's key cannot have type {key.type}")
        return key

    def _case(self, node: s.Expr, keys: tuple[r.Expr, ...]) -> tuple[r.Expr, ...]:
        if isinstance(node, s.Name) and isinstance(self.find(node.name, node.is_absolute), r.ValueSetSymbol):
            return (self._value_set_case(node, keys),)
        elements = node.items if isinstance(node, s.TupleKeyset | s.ListOf) else (node,)
        if isinstance(node, s.DontCare):
            elements = (node,) * len(keys)
        if len(elements) != len(keys):
            self.fail(node, f"{len(elements)} values where the select has {len(keys)} keys")
        return tuple(self._select_keyset(e, k.type) for e, k in zip(elements, keys, strict=True))

    def _select_keyset(self, node: s.Expr, target: t.Type) -> r.Expr:
        """One element of a case; its numbers need not be known (section 13.6)."""
        if isinstance(node, s.Name) and isinstance(self.find(node.name, node.is_absolute), r.ValueSetSymbol):
            self.unsupported(node, "a value set beside other values in one case")
        return self.keyset_for(node, target, "a select's case", must_be_known=False)

    # --- value sets ----------------------------------------------------------------------------------------------

    def value_set(self, node: s.ValueSet) -> r.ValueSetSymbol:
        """``value_set<T>(size) name;`` (section 13.11)."""
        element = self.type_of(node.type)
        if element is t.UNKNOWN:
            raise Abandoned
        for type_, at in self._value_set_types(element, node):
            if not t.is_scalar(type_):
                self.fail(at, f"a value set's elements cannot hold {type_}")
        size = self.value(node.size)
        base = t.unwrapped(size.type)
        if base is not t.INT and not isinstance(base, t.BitsType):
            self.fail(node.size, f"a value set's size must be an integer, not {size.type}")
        if not self.is_known(size):
            self.fail(node.size, "a value set's size must be known at compile time", Kind.CONSTANT)
        if isinstance(size, r.Literal) and size.value < 1:
            self.fail(node.size, "a value set's size must be at least 1", Kind.CONSTANT)
        symbol = r.ValueSetSymbol(node.name, t.set_of(element), node.name_at, element, size, node.annotations, node.end)
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def _value_set_types(self, element: t.Type, node: s.ValueSet) -> list[tuple[t.Type, s.Node | int]]:
        if isinstance(element, t.StructLike) and element.kind == "struct":
            for field in element.fields.values():
                self._check_match_annotation(field)
            return [(field.type, field.at) for field in element.fields.values()]
        if isinstance(element, t.TupleType):
            return [(item, node.type) for item in element.items]
        return [(element, node.type)]

    def _check_match_annotation(self, field: t.Field) -> None:
        """``@match(kind)`` on a field of the element's struct."""
        for annotation in field.annotations:
            if annotation.name != "match":
                continue
            if annotation.tokens is None or len(annotation.tokens) != 1:
                self.fail(annotation, "@match takes one match kind")
            if annotation.tokens[0] not in self.match_kinds:
                self.fail(annotation, f"{annotation.tokens[0]!r} is not a match kind", Kind.NAME)

    def _value_set_case(self, node: s.Name, keys: tuple[r.Expr, ...]) -> r.Ref:
        symbol = self.find(node.name, node.is_absolute)
        assert isinstance(symbol, r.ValueSetSymbol)
        element = symbol.element
        if isinstance(element, t.StructLike):
            wanted = tuple(f.type for f in element.fields.values())
        else:
            wanted = element.items if isinstance(element, t.TupleType) else (element,)
        given = tuple(key.type for key in keys)
        if len(wanted) != len(given):
            self.fail(node, f"{len(wanted)} values in the value set where the select has {len(given)} keys")
        for want, have in zip(wanted, given, strict=True):
            if want is not have and have is not t.UNKNOWN and t.unwrapped(want) is not t.unwrapped(have):
                self.fail(node, f"a value set of {want} cannot be matched with a key of type {have}")
        return r.Ref(node.at, symbol.type, symbol)
