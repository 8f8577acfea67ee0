"""Parser states and transitions (section 13)."""

from __future__ import annotations

from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.check_base import Where
from emulator.p4.check_types import TypeChecker
from emulator.p4.errors import Abandoned, Kind

FINAL = ("accept", "reject")


class ParserChecker(TypeChecker):
    def states(self, symbol: r.BlockSymbol, node: s.Parser) -> None:
        names: dict[str, int] = {}
        for state in node.states:
            if state.name in FINAL:
                self.report(state.name_at, f"a state cannot be called {state.name!r}", Kind.DUPLICATE)
            if state.name in names:
                notes = self.declared_at(names[state.name])
                self.report(state.name_at, f"the state {state.name!r} is declared twice", Kind.DUPLICATE, notes)
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

    def _select(
        self, node: s.Select, names: dict[str, int]
    ) -> tuple[tuple[r.Expr, ...], tuple[tuple[tuple[r.Expr, ...], str], ...]]:
        keys = tuple(self._select_key(key) for key in node.keys)
        if not node.cases:
            self.warn(node, "this select has no cases")
        cases: list[tuple[tuple[r.Expr, ...], str]] = []
        for case in node.cases:
            try:
                target = self._target(case.state, names)
                cases.append((self._case(case.keyset, node.keys, keys), target))
            except Abandoned:
                continue
        return keys, tuple(cases)

    def _select_key(self, node: s.Expr) -> r.Expr:
        key = self.value(node)
        if key.type is t.INT:
            self.fail(node, "the width of this key cannot be inferred")
        if not t.is_scalar(key.type) and key.type is not t.UNKNOWN:
            self.fail(node, f"a select's key cannot have type {key.type}")
        return key

    def _case(self, node: s.Expr, nodes: tuple[s.Expr, ...], keys: tuple[r.Expr, ...]) -> tuple[r.Expr, ...]:
        elements = node.items if isinstance(node, s.TupleKeyset | s.ListOf) else (node,)
        if isinstance(node, s.DontCare):
            elements = (node,) * len(keys)
        if len(elements) != len(keys):
            self.fail(node, f"{len(elements)} values where the select has {len(keys)} keys")
        return tuple(self.keyset_for(e, k.type, "a select's case") for e, k in zip(elements, keys, strict=True))
