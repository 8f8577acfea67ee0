"""The checker: names, types and rules for a whole program; syntax tree in, resolved tree out.

Declarations are taken in order, so a name is found only after its declaration (parser states are the exception). An
error abandons the statement or declaration it is in and checking goes on with the next one.
"""

from __future__ import annotations

from typing import Any

from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.architecture import Architecture
from emulator.p4.check_base import Where
from emulator.p4.check_parsers import ParserChecker
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.source import Tokens


class Checker(ParserChecker):
    def __init__(self, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> None:
        super().__init__(tokens, diagnostics, architecture)
        self.globals: list[r.InstanceSymbol] = []
        self.main: r.InstanceSymbol | None = None
        self.declarations: list[r.Symbol | t.Type] = []

    def program(self, program: s.Program) -> r.Program:
        for node in program:
            try:
                _DECLARATIONS[type(node)](self, node)
            except Abandoned:
                self._declare_unknown_top(node)
        main = self.main
        return r.Program(
            main, main.construct if main is not None else None, tuple(self.errors), self.globals, self.declarations
        )

    def _declare_unknown_top(self, node: s.Decl) -> None:
        scope = self.scopes[0]
        if node.name in scope or isinstance(node, s.Members):
            return
        is_type = isinstance(node, s.Struct | s.Enum | s.Typedef | s.BlockType | s.ExternObject | s.Parser | s.Control)
        scope[node.name] = t.UNKNOWN if is_type else r.VariableSymbol(node.name, t.UNKNOWN, node.name_at)

    # --- types ---------------------------------------------------------------------------------------------------

    def _declare_type(self, node: s.Decl, type_: t.Type | t.Generic) -> None:
        if isinstance(type_, t.Type):
            self.declarations.append(type_)
        self.declare(node.name, type_, node.name_at)

    def top_struct(self, node: s.Struct) -> None:
        type_ = self.struct(node)
        if node.kind == "header_union":
            self.report(node.name_at, f"header_union {node.name} is not supported yet", Kind.UNSUPPORTED)
        self._declare_type(node, type_)

    def top_enum(self, node: s.Enum) -> None:
        self._declare_type(node, self.enum(node))

    def top_typedef(self, node: s.Typedef) -> None:
        self._declare_type(node, self.typedef(node))

    def top_members(self, node: s.Members) -> None:
        self.members(node)

    def top_block_type(self, node: s.BlockType) -> None:
        self._declare_type(node, self.block_type(node))

    def top_extern(self, node: s.ExternObject) -> None:
        self.extern(node)

    def top_extern_function(self, node: s.ExternFunction) -> None:
        signature = self.signature(node.head)
        known = self.scopes[0].get(node.name)
        if isinstance(known, r.ExternFunctionSymbol):
            if any(len(o.parameters) == len(signature.parameters) for o in known.signatures):
                self.fail(node.name_at, f"{node.name}() is declared twice with as many parameters", Kind.DUPLICATE)
            known.signatures.append(signature)
            return
        self.declare(node.name, r.ExternFunctionSymbol(node.name, t.VOID, node.name_at, [signature]), node.name_at)

    # --- values --------------------------------------------------------------------------------------------------

    def top_constant(self, node: s.Constant) -> None:
        self.declarations.append(self.constant(node))

    def top_variable(self, node: s.Variable) -> None:
        self.fail(node, "a variable cannot be declared at the top level", Kind.PLACE)

    def instance(self, node: s.Instantiation) -> r.InstanceSymbol:
        """``T(arguments) name;`` in a block or at the top level."""
        if node.initializer is not None:
            self.unsupported(node, "an object initialiser (abstract methods)")
        callee = self.expression(s.TypeName(node.type.at, node.type))
        assert isinstance(callee, r.TypeRef)
        construct = self.instantiate(node, callee, node.arguments)
        symbol = r.InstanceSymbol(node.name, construct.type, node.name_at, construct, node.annotations, node.end)
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def top_instantiation(self, node: s.Instantiation) -> None:
        symbol = self.instance(node)
        self.declarations.append(symbol)
        if isinstance(symbol.type, t.ExternType):
            self.globals.append(symbol)
        elif isinstance(symbol.type, t.BlockType) and symbol.type.kind == "package":
            if node.name == "main":
                self.main = symbol
        else:
            self.fail(node, f"{symbol.type} cannot be instantiated at the top level", Kind.PLACE)

    def top_function(self, node: s.Function) -> None:
        signature = self.signature(node.head)
        with self.scope(Where.FUNCTION):
            for variable in signature.type_parameters:
                self.declare(variable.name, variable, node.head.at)
            symbols = self.parameter_symbols(signature.parameters)
            self.return_type = signature.result
            body = self.block(node.body)
        if signature.result is not t.VOID and not self.always_returns(body):
            self.fail(node.name_at, f"function {node.name!r} can end without a return")
        symbol = r.FunctionSymbol(node.name, t.VOID, node.name_at, signature, symbols, body, node.end)
        self.declarations.append(symbol)
        self.declare(node.name, symbol, node.name_at)

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
            self.declare(parameter.name, symbol, parameter.at)
            symbols.append(symbol)
        return tuple(symbols)

    def action(self, node: s.Action, owner: r.BlockSymbol | None) -> r.ActionSymbol:
        parameters = self.parameters(node.parameters)
        self._check_action_parameters(node, parameters)
        with self.scope(Where.ACTION):
            symbols = self.parameter_symbols(parameters)
            body = self.block(node.body)
        signature = t.Signature(node.name, (), parameters, t.VOID, node)
        symbol = r.ActionSymbol(
            node.name,
            t.ActionType(node.name),
            node.name_at,
            signature,
            symbols,
            body,
            node.annotations,
            node.end,
            owner,
        )
        self.declare(node.name, symbol, node.name_at)
        return symbol

    def _check_action_parameters(self, node: s.Action, parameters: tuple[t.Parameter, ...]) -> None:
        saw_data = False
        for parameter, written in zip(parameters, node.parameters, strict=True):
            if isinstance(parameter.type, t.ExternType | t.BlockType):
                self.fail(written, f"an action's parameter cannot have type {parameter.type}")
            if parameter.direction and saw_data:
                self.fail(written, "an action's parameters without direction stand last", Kind.DIRECTION)
            saw_data = saw_data or not parameter.direction

    def top_action(self, node: s.Action) -> None:
        self.declarations.append(self.action(node, None))

    # --- blocks --------------------------------------------------------------------------------------------------

    def top_block(self, node: s.Parser | s.Control) -> r.BlockSymbol:
        if node.head.type_parameters:
            self.unsupported(node.head.name_at, f"a {node.head.kind} with type parameters")
        parameters = self.parameters(node.head.parameters)
        constructor = self.parameters(node.constructor_parameters)
        apply = t.Signature(node.name, (), parameters, t.VOID)
        construct = t.Signature(node.name, (), constructor, t.VOID)
        type_ = t.BlockType(node.head.kind, node.name, apply, construct)
        symbol = r.BlockSymbol(node.name, type_, node.name_at, node.head.kind, (), (), node.annotations)
        type_.declaration = symbol
        inside = Where.PARSER if node.head.kind == "parser" else Where.CONTROL
        with self.scope(inside):
            symbol.parameters = self.parameter_symbols(parameters)
            symbol.constructor = self.parameter_symbols(constructor, is_constructor=True)
            with self.scope(inside):
                for local in node.locals:
                    try:
                        self._local(symbol, local)
                    except Abandoned:
                        if local.name not in self.scopes[-1]:
                            unknown = r.VariableSymbol(local.name, t.UNKNOWN, local.name_at)
                            self.scopes[-1][local.name] = unknown
                if isinstance(node, s.Control):
                    with self.scope(Where.APPLY):
                        symbol.body = self.block(node.body)
                else:
                    self.states(symbol, node)
        self._hide_block_type(node)
        self._declare_type(node, type_)
        return symbol

    def _hide_block_type(self, node: s.Parser | s.Control) -> None:
        """A parser or control may take the name of one of the architecture's block types; p4c refuses that."""
        known = self.scopes[0].get(node.name)
        is_block_type = isinstance(known, t.Generic) and isinstance(known.made[known.parameters], t.BlockType)
        if is_block_type or (isinstance(known, t.BlockType) and known.constructor is None):
            self.warn(node.name_at, f"{node.name!r} is also the name of a {node.head.kind} type; p4c refuses this")
            del self.scopes[0][node.name]

    def _local(self, symbol: r.BlockSymbol, node: s.Decl) -> None:
        if isinstance(node, s.Variable):
            self._variable(node, symbol.locals)
        elif isinstance(node, s.Constant):
            self.constant(node)
        elif isinstance(node, s.Instantiation):
            symbol.members.append(self.instance(node))
        elif isinstance(node, s.Action):
            symbol.members.append(self.action(node, symbol))
        elif isinstance(node, s.Table):
            symbol.members.append(self.table(node))
        elif isinstance(node, s.ValueSet):
            self.unsupported(node.at, "value_set")


_DECLARATIONS: dict[Any, Any] = {
    s.Struct: Checker.top_struct,
    s.Enum: Checker.top_enum,
    s.Typedef: Checker.top_typedef,
    s.Members: Checker.top_members,
    s.BlockType: Checker.top_block_type,
    s.ExternObject: Checker.top_extern,
    s.ExternFunction: Checker.top_extern_function,
    s.Constant: Checker.top_constant,
    s.Variable: Checker.top_variable,
    s.Instantiation: Checker.top_instantiation,
    s.Function: Checker.top_function,
    s.Action: Checker.top_action,
    s.Parser: Checker.top_block,
    s.Control: Checker.top_block,
}


def check(program: s.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> r.Program:
    """The resolved program; errors go to ``diagnostics``, and the result is whole only when there are none."""
    return Checker(tokens, diagnostics, architecture).program(program)
