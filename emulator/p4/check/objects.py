"""Instances with a name, and functions: the parameters' symbols, abstract methods given at the instantiation."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import Where
from emulator.p4.check.parsers import ParserChecker
from emulator.p4.errors import Abandoned
from emulator.p4.syntax import tree as s


class ObjectChecker(ParserChecker):
    # --- instances -----------------------------------------------------------------------------------------------

    def instance(self, node: s.Instantiation) -> r.InstanceSymbol:
        """``T(arguments) name;`` in a block or at the top level."""
        callee = self.expression(s.TypeName(node.type.at, node.type))
        assert isinstance(callee, r.TypeRef)
        construct = self.instantiate(node, callee, node.arguments)
        self._initializer(node, construct.type)
        symbol = r.InstanceSymbol(node.name, construct.type, node.name_at, construct, node.annotations, node.end)
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def _initializer(self, node: s.Instantiation, type_: t.Type) -> None:
        """The abstract methods of an extern, given in braces behind ``=`` (section 11.3.1)."""
        methods = type_.methods if isinstance(type_, t.ExternType) else {}
        missing = [m for overloads in methods.values() for m in overloads if m.is_abstract]
        if node.initializer is None:
            if missing:
                self.fail(node, f"the abstract method {missing[0].name!r} of {type_} is not given")
            return
        if not missing:
            self.fail(node, f"{type_} has no abstract methods to be given")
        self.refuse(node, "an object initialiser (abstract methods)")
        with self.scope():
            outer, self.this = self.this, r.VariableSymbol("this", type_, node.at)
            try:
                for inner in node.initializer:
                    self._given(inner, missing)
            finally:
                self.this = outer
        if missing:
            self.fail(node, f"the abstract method {missing[0].name!r} of {type_} is not given")

    def _given(self, node: s.Decl, missing: list[t.Signature]) -> None:
        if isinstance(node, s.Instantiation):
            self.instance(node)
            return
        assert isinstance(node, s.Function)
        try:
            given = self.function(node).signature
        except Abandoned:
            missing[:] = [m for m in missing if m.name != node.name]
            return
        wanted = next((m for m in missing if m.name == given.name and _same_shape(m, given)), None)
        if wanted is None:
            self.fail(node.name_at, f"there is no abstract method {given.name!r} with these parameters")
        missing.remove(wanted)

    # --- functions -----------------------------------------------------------------------------------------------

    def function(self, node: s.Function) -> r.FunctionSymbol:
        signature = self.signature(node.head)
        outer_type = self.return_type
        with self.scope(Where.FUNCTION):
            for variable in signature.type_parameters:
                self.declare(variable.name, variable, node.head.at)
            symbols = self.parameter_symbols(signature.parameters)
            self.return_type = signature.result
            known_errors = len(self.diagnostics.errors)
            try:
                body = self.block(node.body)
            finally:
                self.return_type = outer_type
        is_whole = len(self.diagnostics.errors) == known_errors
        if is_whole and signature.result is not t.VOID and not self.always_returns(body):
            self.fail(node.name_at, f"function {node.name!r} can end without a return")
        return r.FunctionSymbol(node.name, t.VOID, node.name_at, signature, symbols, body, node.end)

    def always_returns(self, body: r.Block) -> bool:
        for statement in body:
            if isinstance(statement, r.Return | r.Exit):
                return True
            branches: list[r.Block] = []
            if isinstance(statement, r.If):
                branches = [statement.then, statement.otherwise]
            elif isinstance(statement, r.Switch) and any(c.is_default for c in statement.cases):
                branches = [c.body for c in statement.cases]
            if branches and all(map(self.always_returns, branches)):
                return True
        return False

    def parameter_symbols(
        self, parameters: tuple[t.Parameter, ...], *, is_constructor: bool = False
    ) -> tuple[r.VariableSymbol, ...]:
        symbols = []
        for parameter in parameters:
            is_writable = parameter.direction in ("out", "inout")
            symbol = r.VariableSymbol(
                parameter.name, parameter.type, parameter.at, parameter.direction, is_writable, is_constructor,
                parameter.annotations,
            )  # fmt: skip
            if parameter.name not in self.scopes[-1]:  # else reported with the parameters
                self.declare(parameter.name, symbol, parameter.at)
            symbols.append(symbol)
        return tuple(symbols)


def _same_shape(one: t.Signature, other: t.Signature) -> bool:
    """Equal result and parameters, names aside."""
    if one.result is not other.result or len(one.parameters) != len(other.parameters):
        return False
    pairs = zip(one.parameters, other.parameters, strict=True)
    return all(a.type is b.type and a.direction == b.direction for a, b in pairs)
