"""Parsers to one graph of states; sub-parsers are inlined by splitting the state that applies them."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4.lower_blocks import BlockInstance, BlockLowering, keyset, unsigned
from emulator.p4.lower_storage import Value


class ParserLowering(BlockLowering):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.states: list[ir.State] = []
        self.state_names: set[str] = set()
        self.state_name = ""
        self.state_span: ir.Span | None = None
        self.state_out: list[ir.Statement] = []

    def parser(self, instance: BlockInstance, parameters: list[Value]) -> ir.Parser:
        """The top-level parser."""
        self.states, self.state_names = [], set()
        self.enter(instance, parameters)
        self._graph(instance, "", {"accept": "accept", "reject": "reject"}, opening=None)
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
        self._locals(instance)
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
        outer = self.out
        self._begin(name, self.tokens.span(node.at, node.end))
        self.statements(node.body)
        if not node.keys:
            transition: ir.Select | ir.Goto = ir.Goto(targets[node.cases[0][1]] if node.cases else "reject")
        else:
            values = [unsigned(value) for value in self.several(node.keys)]
            cases = tuple(
                ir.SelectCase(
                    tuple(keyset(k, v.type) for k, v in zip(keysets, values, strict=True)), targets[next_state]
                )
                for keysets, next_state in node.cases
            )
            transition = ir.Select(tuple(values), cases, self.tokens.span(node.select_at))
        self._end(transition)
        self.out = outer

    def _begin(self, name: str, span: ir.Span | None) -> None:
        self.state_name, self.state_span = name, span
        self.out = self.state_out = []

    def _end(self, transition: ir.Select | ir.Goto) -> None:
        self.states.append(ir.State(self.state_name, tuple(self.state_out), transition, self.state_span))

    def apply_block(self, expr: r.BlockApply) -> Value:
        instance = self.instance_of(expr)
        if instance.symbol.kind != "parser":
            return super().apply_block(expr)
        if self.out is not self.state_out:
            self.unsupported(expr, "a parser applied inside 'if'")
        span = self.tokens.span(expr.at)
        names = [f"{instance.path}.{p.name}" for p in instance.symbol.parameters]
        passing = self.pass_arguments(names, expr.arguments, by_reference=True, span=span)
        outer_instance, outer_path, outer_env = self.instance, self.path, self.env
        after = self._state_name(f"{self.state_name}.after_{instance.symbol.name}")
        outer_span = self.state_span
        self.enter(instance, passing.storage)
        self._locals(instance)
        prefix = f"{instance.path.split('.', 1)[-1]}."
        start = self._peek_name(prefix + "start")
        self._end(ir.Goto(start))
        self._graph(instance, prefix, {"accept": after, "reject": "reject"}, opening=self.state_name)
        self.instance, self.path, self.env = outer_instance, outer_path, outer_env
        self._begin(after, outer_span)
        self.out.extend(self.copy_out(passing, span))
        return None

    def _peek_name(self, name: str) -> str:
        """The name that `_state_name` will give next for it."""
        chosen = self._state_name(name)
        self.state_names.discard(chosen)
        return chosen
