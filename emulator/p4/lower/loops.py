"""Loops in the IR's one form (section 12.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.lower.arguments import ArgumentLowering
from emulator.p4.lower.storage import UnionStack, Value


class LoopLowering(ArgumentLowering):
    def statements(self, block: r.Block) -> None:
        raise NotImplementedError

    def body(self, block: r.Block) -> ir.Block:
        """Statements of a nested block."""
        outer, self.out = self.out, []
        self.statements(block)
        found, self.out = self.out, outer
        return tuple(found)

    def for_(self, node: r.For) -> None:
        self.statements(node.init)
        condition, prelude = self.into(node.condition)
        body, update = self.body(node.body), self.body(node.update)
        if not (isinstance(condition, ir.Constant) and not condition.value and not prelude):
            self.out.append(ir.Loop(condition, body, tuple(prelude), update, self.tokens.span(node.at, node.end)))

    def for_in_(self, node: r.ForIn) -> None:
        """The collection is evaluated once, before the first turn, and kept as it was then (section 12.9)."""
        span = self.tokens.span(node.at, node.end)
        storage = self.allocate(f"{self.path}.{node.symbol.name}", self.type(node.symbol.type))
        if isinstance(node.collection, r.Range):
            self._over_range(node, node.collection, storage, span)
        elif isinstance(node.collection, r.Aggregate):
            values = [self.saved(value) for value in self.several(node.collection.items)]
            self._over_elements(node, len(values), storage, span, lambda index: self._choose(storage, values, index))
        else:
            collection = self.value(node.collection)
            if not isinstance(collection, ir.HeaderStack | UnionStack):  # a list that an instance was given
                items = collection.items
                self._over_elements(node, len(items), storage, span, lambda index: self._choose(storage, items, index))
                return
            stack = self.saved_stack(collection)
            size = len(stack.items) if isinstance(stack, UnionStack) else stack.size
            store = self.store
            self._over_elements(node, size, storage, span, lambda index: store(storage, self.element(stack, index)))

    def _over_range(self, node: r.ForIn, range_: r.Range, storage: Value, span: ir.Span) -> None:
        """The counter stops at the last value, which may be the largest that the type has."""
        low, high = self.several((range_.low, range_.high))
        last, counter, goes_on = self.saved(high), self.temporary(storage.type), self.temporary(ir.BOOL)
        self.out.append(ir.Assign(counter, low, span))
        self.out.append(ir.Assign(goes_on, ir.Binary(ir.BinaryOp.LE, counter, last, ir.BOOL), span))
        body = self._loop_body(node, lambda: self.store(storage, counter, span), storage)
        is_not_last = ir.Assign(goes_on, ir.Binary(ir.BinaryOp.NE, counter, last, ir.BOOL), span)
        self.out.append(ir.Loop(goes_on, body, (), (is_not_last, _next(counter, span)), span))

    def _over_elements(
        self, node: r.ForIn, count: int, storage: Value, span: ir.Span, take: Callable[[ir.Variable], None]
    ) -> None:
        index = self.temporary(ir.INDEX)
        self.out.append(ir.Assign(index, ir.Constant(0, ir.INDEX), span))
        body = self._loop_body(node, lambda: take(index), storage)
        is_inside = ir.Binary(ir.BinaryOp.LT, index, ir.Constant(count, ir.INDEX), ir.BOOL)
        self.out.append(ir.Loop(is_inside, body, (), (_next(index, span),), span))

    def _loop_body(self, node: r.ForIn, take: Callable[[], None], storage: Value) -> ir.Block:
        """Take the turn's element, then run the statements."""
        outer, self.out = self.out, []
        take()
        self.env[node.symbol] = storage
        self.statements(node.body)
        found, self.out = self.out, outer
        return tuple(found)

    def _choose(self, storage: Value, values: Sequence[Value], index: ir.Variable) -> None:
        """``storage = values[index]``."""
        cases = []
        for number, value in enumerate(values):
            outer, self.out = self.out, []
            self.store(storage, value)
            cases.append(ir.SwitchCase((number,), tuple(self.out)))
            self.out = outer
        self.out.append(ir.Switch(index, tuple(cases)))

    def break_(self, node: r.Break) -> None:
        self.out.append(ir.Break(self.tokens.span(node.at, node.end)))

    def continue_(self, node: r.Continue) -> None:
        self.out.append(ir.Continue(self.tokens.span(node.at, node.end)))


def _next(counter: ir.Variable, span: ir.Span) -> ir.Assign:
    one = ir.Constant(1, counter.type)
    return ir.Assign(counter, ir.Binary(ir.BinaryOp.ADD, counter, one, counter.type), span)
