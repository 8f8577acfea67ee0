"""Statements, and calls of functions and actions, inlined as regions with copy-in and copy-out (section 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4 import resolved as r
from emulator.p4 import types as t
from emulator.p4.lower_expressions import ExpressionLowering
from emulator.p4.lower_storage import HEADER_REFS, HeaderParts, Parts, Value, is_static, leaves, roots


@dataclass(slots=True)
class Passing:
    """How arguments reach parameters: what each parameter stands for, and what happens before and after."""

    storage: list[Value]
    copy_out: list[tuple[r.Expr, Value, Value]]
    """(argument, its storage, the parameter's)."""


class StatementLowering(ExpressionLowering):
    result: Value | None = None
    """Where the function being inlined puts its result."""

    def statements(self, block: r.Block) -> None:
        for statement in block:
            _STATEMENTS[type(statement)](self, statement)

    def body(self, block: r.Block) -> ir.Block:
        """Statements of a nested block."""
        outer, self.out = self.out, []
        self.statements(block)
        found, self.out = self.out, outer
        return tuple(found)

    # --- assignment ----------------------------------------------------------------------------------------------

    def _assign(self, node: r.Assign) -> None:
        self.assign(node.target, node.value, self.tokens.span(node.at, node.end))

    def assign(self, target: r.Expr, value: r.Expr, span: ir.Span) -> None:
        if isinstance(target, r.SliceOf):
            base, place, lowered = self._slice_parts(target, value)
            self._assign_slice(base, place, lowered, span)
            return
        before = len(self.out)
        place = self.value(target)
        middle = len(self.out)
        lowered = self.value(value)
        if len(self.out) != middle and not is_static(place):
            place = self._pinned(place, middle)
        del before
        self.store(place, self._apart(place, lowered), span)

    def _pinned(self, place: Value, position: int) -> Value:
        """An l-value whose index is evaluated before the statements from ``position`` on."""
        header = place.header if isinstance(place, ir.FieldRef) else place
        if not isinstance(header, ir.StackAt):
            return place
        later = self.out[position:]
        del self.out[position:]
        pinned = ir.StackAt(header.stack, self.saved(header.index))
        self.out.extend(later)
        return ir.FieldRef(pinned, place.field) if isinstance(place, ir.FieldRef) else pinned

    def _apart(self, place: Value, value: Value) -> Value:
        """``s = {s.b, s.a}``: what an earlier part's store would overwrite is saved first."""
        if not isinstance(value, Parts | HeaderParts) or len(value.items) < 2:
            return value
        if set(roots(place)) & set(roots(value)):
            return self.saved(value)
        return value

    def _slice_parts(self, target: r.SliceOf, value: r.Expr) -> tuple[tuple[int, int], Value, Value]:
        """Bounds in the innermost base, its place, and the value."""
        high, low = target.high, target.low
        base = target.base
        while isinstance(base, r.SliceOf):
            high, low, base = high + base.low, low + base.low, base.base
        place = self.value(base)
        middle = len(self.out)
        lowered = self.value(value)
        if len(self.out) != middle and not is_static(place):
            place = self._pinned(place, middle)
        return (high, low), place, lowered

    def _assign_slice(self, bounds: tuple[int, int], place: Value, value: ir.Expr, span: ir.Span) -> None:
        """Read, merge, write."""
        high, low = bounds
        width = place.type.width_bits
        merged = value
        if high < width - 1:
            top = ir.Slice(place, width - 1, high + 1)
            merged = ir.Concat(top, merged, ir.Bits(width - low))
        if low > 0:
            merged = ir.Concat(merged, ir.Slice(place, low - 1, 0), ir.Bits(width))
        if place.type.signed:
            merged = ir.Cast(merged, place.type)
        self.out.append(ir.Assign(place, merged, span))

    def _declare(self, node: r.Declare) -> None:
        self.at = node.at
        symbol = node.symbol
        value = None if node.value is None else self.value(node.value)
        storage = self.allocate(f"{self.path}.{symbol.name}", self.type(symbol.type))
        self.env[symbol] = storage
        span = self.tokens.span(node.at, node.end)
        if value is not None:
            self.store(storage, value, span)
        else:
            self.invalidate(storage, span)

    def invalidate(self, storage: Value, span: ir.Span | None = None) -> None:
        """Header locals and out parameters start invalid."""
        if isinstance(storage, Parts):
            for item in storage.items:
                self.invalidate(item, span)
        elif isinstance(storage, ir.HeaderStack):
            for header in storage.headers:
                self.out.append(ir.SetValidity(header, False, span))
        elif isinstance(storage, HEADER_REFS):
            self.out.append(ir.SetValidity(storage, False, span))

    # --- control flow --------------------------------------------------------------------------------------------

    def _if(self, node: r.If) -> None:
        condition = self.value(node.condition)
        if isinstance(condition, ir.Constant):
            self.statements(node.then if condition.value else node.otherwise)
            return
        then, otherwise = self.body(node.then), self.body(node.otherwise)
        self.out.append(ir.If(condition, then, otherwise, self.tokens.span(node.at, node.end)))

    def _switch(self, node: r.Switch) -> None:
        value = self.value(node.value)
        cases: list[ir.SwitchCase] = []
        default: ir.Block = ()
        for case in node.cases:
            body = self.body(case.body)
            if case.is_default:
                default = body  # labels that share its body need no case of their own
            else:
                cases.append(ir.SwitchCase(case.labels, body))
        self.out.append(ir.Switch(value, tuple(cases), default, self.tokens.span(node.at, node.end)))

    def _return(self, node: r.Return) -> None:
        span = self.tokens.span(node.at, node.end)
        if node.value is not None:
            self.store(self.result, self.value(node.value), span)
        self.out.append(ir.Return(span))

    def _exit(self, node: r.Exit) -> None:
        self.out.append(ir.Exit(self.tokens.span(node.at, node.end)))

    def _call_statement(self, node: r.CallStatement) -> None:
        self.call(node.call)

    # --- arguments -----------------------------------------------------------------------------------------------

    def pass_arguments(
        self,
        names: Sequence[Any],
        arguments: Sequence[r.Bound],
        *,
        by_reference: bool,
        span: ir.Span | None,
        constants: bool = True,
    ) -> Passing:
        """Evaluate arguments in order, and make what the parameters stand for.

        With ``by_reference`` an argument whose storage nothing else of the call touches stands for the parameter
        itself: copying in and out could not be told apart, as callees see no storage but their parameters.
        With ``constants`` a constant argument stands for its parameter, too. ``names`` are those of fresh storage, or
        storage that is there already.
        """
        values = self._argument_values(arguments)
        written = [
            list(roots(v)) for b, v in zip(arguments, values, strict=True) if b.parameter.direction in ("out", "inout")
        ]
        counts: dict[str, int] = {}
        for name in (name for group in written for name in group):
            counts[name] = counts.get(name, 0) + 1
        passing = Passing([], [])
        pending: list[tuple[Value, Value]] = []
        for name, bound, value in zip(names, arguments, values, strict=True):
            if constants and isinstance(value, ir.Constant):
                passing.storage.append(value)
                continue
            storage = self._parameter(name, bound, value, counts, by_reference, passing, pending)
            passing.storage.append(storage)
        for storage, value in pending:
            self.store(storage, value, span)
        return passing

    def _argument_values(self, arguments: Sequence[r.Bound]) -> list[Value]:
        values: list[Value] = []
        for bound in arguments:
            before = len(self.out)
            value = None
            if bound.value is not None:
                expr = bound.value
                if isinstance(expr, r.SliceOf) and bound.parameter.direction == "out":
                    expr = expr.base
                value = self.value(expr)
            if len(self.out) != before and values:
                later = self.out[before:]
                del self.out[before:]
                values = [
                    v if b.parameter.direction in ("out", "inout") else self.saved(v)
                    for v, b in zip(values, arguments, strict=False)
                ]
                self.out.extend(later)
            values.append(value)
        return values

    def _parameter(
        self,
        name: Any,
        bound: r.Bound,
        value: Value,
        counts: dict[str, int],
        by_reference: bool,
        passing: Passing,
        pending: list[tuple[Value, Value]],
    ) -> Value:
        direction = bound.parameter.direction
        type_ = self.type(bound.parameter.type)
        if isinstance(type_, t.ExternType | t.BlockType) or type_ is t.STRING:
            return value
        touched = set(roots(value)) if value is not None else set()
        if direction not in ("out", "inout"):
            if by_reference and is_static(value) and not touched & counts.keys():
                return value
            storage = self.allocate(name, type_) if isinstance(name, str) else name
            pending.append((storage, value))
            return storage
        is_slice = isinstance(bound.value, r.SliceOf)
        alone = all(counts[root] == 1 for root in touched)
        if by_reference and value is not None and is_static(value) and alone and not is_slice:
            if direction == "out":
                self.invalidate(value)
            return value
        storage = self.allocate(name, type_) if isinstance(name, str) else name
        if direction == "inout":
            pending.append((storage, value))
        else:
            self.invalidate(storage)
        if bound.value is not None:
            place = value if not is_slice else None
            if place is not None and not is_static(place):
                place = self._pinned(place, len(self.out))
            passing.copy_out.append((bound.value, place, storage))
        return storage

    def copy_out(self, passing: Passing, span: ir.Span | None) -> ir.Block:
        outer, self.out = self.out, []
        for expr, place, storage in passing.copy_out:
            if place is None:
                assert isinstance(expr, r.SliceOf)
                high, low, base = expr.high, expr.low, expr.base
                while isinstance(base, r.SliceOf):
                    high, low, base = high + base.low, low + base.low, base.base
                self._assign_slice((high, low), self.value(base), storage, span or self.span(expr))
            else:
                self.store(place, storage, span)
        found, self.out = self.out, outer
        return tuple(found)

    # --- functions and actions -----------------------------------------------------------------------------------

    def inline(
        self,
        name: str,
        symbols: Sequence[r.VariableSymbol],
        arguments: Sequence[r.Bound],
        body: r.Block,
        node: Any,
        *,
        by_reference: bool,
    ) -> None:
        """A call as a region: arguments in, body, arguments out."""
        span = self.tokens.span(node.at)
        names = [f"{name}.{s.name}" for s in symbols]
        passing = self.pass_arguments(names, arguments, by_reference=by_reference, span=span)
        for symbol, storage in zip(symbols, passing.storage, strict=True):
            self.env[symbol] = storage
        outer_path, self.path = self.path, name
        inner = self.body(body)
        self.path = outer_path
        if inner and isinstance(inner[-1], ir.Return):
            inner = inner[:-1]
        self.out.append(ir.Region(name, inner, self.copy_out(passing, span), span))

    def call_function(self, expr: r.FunctionCall) -> Value:
        function = expr.function
        outer_types, outer_result = self.types, self.result
        known = {v: self.type(type_) for v, type_ in expr.type_arguments.items()}
        arguments = [
            r.Bound(t.Parameter(b.parameter.name, b.parameter.direction, self.type(b.parameter.type)), b.value)
            for b in expr.arguments
        ]
        result_type = self.type(expr.type)
        name = f"{self.path}.{function.name}"
        result = None if result_type is t.VOID else self.allocate(f"{name}.result", result_type)
        span = self.tokens.span(expr.at)
        names = [f"{name}.{s.name}" for s in function.parameters]
        passing = self.pass_arguments(names, arguments, by_reference=True, span=span)
        self.types, self.result = {**self.types, **known}, result
        for symbol, storage in zip(function.parameters, passing.storage, strict=True):
            self.env[symbol] = storage
        outer_path, self.path = self.path, name
        inner = self.body(function.body)
        self.path = outer_path
        self.types, self.result = outer_types, outer_result
        if inner and isinstance(inner[-1], ir.Return):
            inner = inner[:-1]
        self.out.append(ir.Region(name, inner, self.copy_out(passing, span), span))
        return result

    def scalars_of(self, value: Value) -> tuple[ir.Expr, ...]:
        return tuple(leaves(value))


_STATEMENTS: dict[type, Any] = {
    r.Assign: StatementLowering._assign,
    r.CallStatement: StatementLowering._call_statement,
    r.Declare: StatementLowering._declare,
    r.If: StatementLowering._if,
    r.Switch: StatementLowering._switch,
    r.Return: StatementLowering._return,
    r.Exit: StatementLowering._exit,
}
