"""Statements, and calls of functions and actions, inlined as regions with copy-in and copy-out (section 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.lower.arguments import Passing
from emulator.p4.lower.loops import LoopLowering
from emulator.p4.lower.storage import Value


class StatementLowering(LoopLowering):
    result: Value | None = None
    """Where the function being inlined puts its result."""

    def statements(self, block: r.Block) -> None:
        """What stands behind a return is left out: its tables and actions are none that P4Info tells of (p4c)."""
        for statement in block:
            self.spend(statement.at)
            _STATEMENTS[type(statement)](self, statement)
            if returns(self.out):
                break

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
        self._region(name, symbols, passing, body, span)

    def _region(
        self, name: str, symbols: Sequence[r.VariableSymbol], passing: Passing, body: r.Block, span: ir.Span
    ) -> None:
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
        known = {v: self.type(type_) for v, type_ in expr.type_arguments.items()}
        name = f"{self.path}.{function.name}"
        span = self.tokens.span(expr.at)
        names = [f"{name}.{s.name}" for s in function.parameters]
        passing = self.pass_arguments(names, expr.arguments, by_reference=True, span=span)
        result_type = self.type(expr.type)
        outer = self.types, self.result
        self.result = None if result_type is t.VOID else self.allocate(f"{name}.result", result_type)
        self.types = {**self.types, **known}
        self._region(name, function.parameters, passing, function.body, span)
        result = self.result
        self.types, self.result = outer
        return result


def returns(block: Sequence[ir.Statement]) -> bool:
    """Whether the end of these statements is never reached, as they return on every way."""
    last = block[-1] if block else None
    if isinstance(last, ir.If):
        return returns(last.then) and returns(last.otherwise)
    return isinstance(last, ir.Return)


_STATEMENTS: dict[type, Any] = {
    r.Assign: StatementLowering.assign,
    r.Update: StatementLowering.update,
    r.CallStatement: StatementLowering._call_statement,
    r.Declare: StatementLowering._declare,
    r.If: lambda lowering, node: lowering._if(node),
    r.Switch: StatementLowering._switch,
    r.For: StatementLowering.for_,
    r.ForIn: StatementLowering.for_in_,
    r.Break: StatementLowering.break_,
    r.Continue: StatementLowering.continue_,
    r.Return: StatementLowering._return,
    r.Exit: StatementLowering._exit,
}
