"""Parsers to one graph of states: sub-parsers and what surrounds them in a state become states of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.lower.blocks import BlockLowering
from emulator.p4.lower.entries import keyset
from emulator.p4.lower.operators import conjunction
from emulator.p4.lower.records import BlockInstance
from emulator.p4.lower.storage import Parts, Value
from emulator.p4.lower.tables import keyset_parts, unsigned

_ANY = ir.Masked(0, 0)
_TRUE, _FALSE = ir.Masked(1, 1), ir.Masked(0, 1)


class ParserLowering(BlockLowering):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.states: list[ir.State] = []
        self.state_names: set[str] = set()
        self.state_name = ""
        self.state_span: ir.Span | None = None
        self.state_out: list[ir.Statement] | None = None
        """Statements of the state being lowered; None outside of parsers."""

    def parser(self, instance: BlockInstance, parameters: list[Value]) -> ir.Parser:
        """The top-level parser."""
        self.states, self.state_names = [], set()
        self.enter(instance, parameters)
        self._graph(instance, "", {"accept": "accept", "reject": "reject"}, opening=None)
        self.state_out = None
        return ir.Parser(instance.path, tuple(self.states))

    def _graph(self, instance: BlockInstance, prefix: str, exits: dict[str, str], opening: str | None) -> None:
        """All states of a parser, names prefixed; ``opening`` is the state that leads to its start."""
        symbol = instance.symbol
        names = {state.name: self._state_name(prefix + state.name) for state in symbol.states}
        if opening is None and symbol.locals:
            names["start"] = self._opened(instance, symbol, names["start"])
        targets = {**names, **exits}
        for state in symbol.states:
            self._state(state, names[state.name], targets)

    def _opened(self, instance: BlockInstance, symbol: r.BlockSymbol, start: str) -> str:
        """Initial values of locals come first; a start state that is entered again must not repeat them."""
        outer, self.out = self.out, []
        self.block_locals(instance)
        initial, self.out = self.out, outer
        if not initial:
            return start
        renamed = self._state_name("start.entered")
        self.states.append(ir.State(start, tuple(initial), ir.Goto(renamed), self.tokens.span(symbol.at)))
        return renamed

    def _state_name(self, name: str) -> str:
        candidate, number = name, 0
        while candidate in self.state_names:
            number += 1
            candidate = f"{name}_{number}"
        self.state_names.add(candidate)
        return candidate

    def _state(self, node: r.State, name: str, targets: dict[str, str]) -> None:
        outer, outer_state = self.out, (self.state_name, self.state_span, self.state_out)
        self._begin(name, self.tokens.span(node.at, node.end))
        self.guarded(node.body)
        if node.keys:
            self._end(self._select(node, targets))
        else:
            self._end(ir.Goto(targets[node.cases[0][1]] if node.cases else "reject"))
        self.out = outer
        self.state_name, self.state_span, self.state_out = outer_state

    def _begin(self, name: str, span: ir.Span | None) -> None:
        self.state_name, self.state_span = name, span
        self.out = self.state_out = []

    def _end(self, transition: ir.Select | ir.Goto) -> None:
        assert self.state_out is not None
        self.states.append(ir.State(self.state_name, tuple(self.state_out), transition, self.state_span))

    # --- select --------------------------------------------------------------------------------------------------

    def _select(self, node: r.State, targets: dict[str, str]) -> ir.Select | ir.Goto:
        values = self.several(node.keys)
        has_bits = [not isinstance(value, Parts) for value in values]  # not bit<0>
        keys = [unsigned(value) for value, has in zip(values, has_bits, strict=True) if has]
        width = len(keys)
        cases: list[ir.SelectCase] = []
        for shapes, next_state in node.cases:
            target = targets[next_state]
            if shapes and isinstance(shapes[0], r.Ref) and isinstance(shapes[0].symbol, r.ValueSetSymbol):
                value_set = self.value(shapes[0])
                assert isinstance(value_set, ir.ValueSet)
                cases.append(ir.SelectCase((), target, value_set.name))
                continue
            kept = [(i, shape) for i, (shape, has) in enumerate(zip(shapes, has_bits, strict=True)) if has]
            cases.append(ir.SelectCase(tuple(self._keysets(kept, values, keys)), target))
        if any(case.value_set for case in cases) and len(keys) != width:
            self.unsupported(node.select_at, "a value set beside labels that are known at run time only")
        cases = [_widened(case, len(keys)) for case in cases]
        if self.architecture.any_case_is_last:
            cases = _any_case_last(cases)
        if not keys:
            return ir.Goto(cases[0].next_state if cases else targets["accept"])
        return ir.Select(tuple(keys), tuple(cases), self.tokens.span(node.select_at))

    def _keysets(
        self, shapes: Sequence[tuple[int, r.Expr]], values: list[Value], keys: list[ir.Expr]
    ) -> list[ir.KeySet]:
        """One for each key; what is known at run time only becomes a further key, a comparison that must be true."""
        found: list[ir.KeySet] = []
        comparisons: list[ir.Expr] = []
        for position, shape in shapes:
            parts = tuple(self.value(part) for part in keyset_parts(shape))
            known = keyset(parts, shape, values[position].type)
            found.append(_ANY if known is None else known)
            if known is None:
                comparisons.append(_matches(values[position], shape, parts))  # signed, where the key is
        if comparisons:
            found += [_ANY] * (len(keys) - len(found)) + [_TRUE]
            keys.append(conjunction(comparisons))
        return found

    # --- statements that become states ---------------------------------------------------------------------------

    def _if(self, node: r.If) -> None:
        if self.state_out is None or self.out is not self.state_out or not _applies_parser((node,)):
            super()._if(node)
            return
        condition = self.value(node.condition)
        if isinstance(condition, ir.Constant):
            self.statements(node.then if condition.value else node.otherwise)
            return
        name, span = self.state_name, self.state_span
        then, otherwise, after = (self._state_name(f"{name}.{part}") for part in ("then", "else", "after_if"))
        cases = (ir.SelectCase((_TRUE,), then), ir.SelectCase((_ANY,), otherwise))
        self._end(ir.Select((condition,), cases, self.tokens.span(node.at)))
        for branch, statements in ((then, node.then), (otherwise, node.otherwise)):
            self._begin(branch, span)
            self.statements(statements)
            self._end(ir.Goto(after))
        self._begin(after, span)

    def apply_block(self, expr: r.BlockApply) -> Value:
        instance = self.instance_of(expr)
        if instance.symbol.kind != "parser":
            return super().apply_block(expr)
        if self.state_out is None or self.out is not self.state_out:
            self.unsupported(expr, "a parser applied here")
        span = self.tokens.span(expr.at)
        names = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
        passing = self.pass_arguments(names, expr.arguments, by_reference=True, span=span)
        outer = self.instance, self.path, self.env, self.types
        after = self._state_name(f"{self.state_name}.after_{instance.symbol.name}")
        outer_span = self.state_span
        self.enter(instance, passing.storage)
        self.block_locals(instance)
        prefix = f"{instance.path.split('.', 1)[-1]}."
        start = self._peek_name(prefix + "start")
        self._end(ir.Goto(start))
        self._graph(instance, prefix, {"accept": after, "reject": "reject"}, opening=self.state_name)
        self.instance, self.path, self.env, self.types = outer
        self._begin(after, outer_span)
        self.out.extend(self.copy_out(passing, span))
        return None

    def _peek_name(self, name: str) -> str:
        """The name that `_state_name` will give next for it."""
        chosen = self._state_name(name)
        self.state_names.discard(chosen)
        return chosen


def _applies_parser(block: Sequence[r.Statement]) -> bool:
    for statement in block:
        if isinstance(statement, r.CallStatement) and isinstance(statement.call, r.BlockApply):
            return True
        if isinstance(statement, r.If) and (_applies_parser(statement.then) or _applies_parser(statement.otherwise)):
            return True
    return False


def _matches(key: ir.Expr, shape: r.Expr, parts: tuple[ir.Expr, ...]) -> ir.Expr:
    """Whether the key is in a set whose bounds are known at run time."""

    def binary(op: ir.BinaryOp, left: ir.Expr, right: ir.Expr, type_: ir.Type = ir.BOOL) -> ir.Expr:
        return ir.Binary(op, left, right, type_)

    if isinstance(shape, r.Mask):
        masked = binary(ir.BinaryOp.AND, key, parts[1], key.type)
        return binary(ir.BinaryOp.EQ, masked, binary(ir.BinaryOp.AND, parts[0], parts[1], key.type))
    if isinstance(shape, r.Range):
        low, high = binary(ir.BinaryOp.GE, key, parts[0]), binary(ir.BinaryOp.LE, key, parts[1])
        return binary(ir.BinaryOp.LOGICAL_AND, low, high)
    return binary(ir.BinaryOp.EQ, key, parts[0])


def _widened(case: ir.SelectCase, width: int) -> ir.SelectCase:
    """Keys that other cases added do not matter to this one."""
    missing = width - len(case.keysets)
    if case.value_set is not None or not missing:
        return case
    return ir.SelectCase((*case.keysets, *[_ANY] * missing), case.next_state)


def _any_case_last(cases: list[ir.SelectCase]) -> list[ir.SelectCase]:
    """Cases that match anything go behind the others, and only the last of them counts."""
    anything = [c for c in cases if c.value_set is None and all(k == _ANY for k in c.keysets)]
    others = [c for c in cases if c not in anything]
    return [*others, *anything[-1:]]
