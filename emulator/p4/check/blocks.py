"""Parsers and controls, their instances and actions (sections 13, 14, 11.3)."""

from __future__ import annotations

from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.base import Where
from emulator.p4.check.objects import ObjectChecker
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s


class BlockChecker(ObjectChecker):
    declarations: list[r.Symbol | t.Type]
    """Of the top level, in order."""

    def declare_type(self, node: s.Decl, type_: t.Type | t.Generic) -> None:
        """A top-level type."""
        if isinstance(type_, t.Type):
            self.declarations.append(type_)
        self.declare(node.name, type_, node.name_at)

    def top_block(self, node: s.Parser | s.Control) -> r.BlockSymbol:
        kind = node.head.kind
        variables = tuple(t.TypeVariable(name) for name in node.head.type_parameters)
        symbol = r.BlockSymbol(node.name, t.UNKNOWN, node.name_at, kind, (), (), node.annotations)
        symbol.type_parameters = variables
        inside = Where.PARSER if kind == "parser" else Where.CONTROL
        with self.scope(inside):
            for variable in variables:
                self.declare(variable.name, variable, node.head.name_at)
            declared = self._block_type(node, symbol, variables)
            with self.scope(inside):
                self._locals(symbol, node.locals)
                if isinstance(node, s.Control):
                    with self.scope(Where.APPLY):
                        symbol.body = self.block(node.body)
                else:
                    self.states(symbol, node)
        self._hide_block_type(node)
        self.declare_type(node, declared)
        return symbol

    def _block_type(
        self, node: s.Parser | s.Control, symbol: r.BlockSymbol, variables: tuple[t.TypeVariable, ...]
    ) -> t.BlockType | t.Generic:
        """Its type, generic when it has type parameters; its parameters become known."""
        parameters = self.parameters(node.head.parameters)
        constructor = self.parameters(node.constructor_parameters, may_be_blocks=True)
        self._check_constructor(node, constructor)
        apply = t.Signature(node.name, (), parameters, t.VOID)
        construct = t.Signature(node.name, (), constructor, t.VOID)
        type_ = t.BlockType(node.head.kind, node.name, apply, construct, variables, symbol)
        symbol.type = type_
        symbol.parameters = self.parameter_symbols(parameters)
        symbol.constructor = self.parameter_symbols(constructor, is_constructor=True)
        if not variables:
            return type_
        generic = t.Generic(node.name, variables, symbol=symbol)
        type_.declaration = generic
        generic.made[variables] = type_
        return generic

    def _check_constructor(self, node: s.Parser | s.Control, parameters: tuple[t.Parameter, ...]) -> None:
        """What a block can be constructed with (appendix F)."""
        other = "control" if node.head.kind == "parser" else "parser"
        for parameter, written in zip(parameters, node.constructor_parameters, strict=True):
            if parameter.direction:
                self.report(written, "a constructor's parameter has no direction", Kind.DIRECTION)
            if isinstance(parameter.type, t.BlockType) and parameter.type.kind in (other, "package"):
                text = f"a {node.head.kind} cannot be constructed with a {parameter.type.kind}"
                self.report(written.type, text)

    def _hide_block_type(self, node: s.Parser | s.Control) -> None:
        """A parser or control may take the name of one of the architecture's block types; p4c refuses that."""
        known = self.scopes[0].get(node.name)
        if isinstance(known, t.Generic) and known.symbol is None:
            known = known.made[known.parameters]
        if isinstance(known, t.BlockType) and known.constructor is None:
            self.warn(node.name_at, f"{node.name!r} is also the name of a {node.head.kind} type; p4c refuses this")
            del self.scopes[0][node.name]

    # --- what is declared inside ---------------------------------------------------------------------------------

    def _locals(self, symbol: r.BlockSymbol, nodes: tuple[s.Decl, ...]) -> None:
        for node in nodes:
            try:
                self._local(symbol, node)
            except Abandoned:
                if node.name not in self.scopes[-1]:
                    self.scopes[-1][node.name] = r.VariableSymbol(node.name, t.UNKNOWN, node.name_at)

    def _local(self, symbol: r.BlockSymbol, node: s.Decl) -> None:
        is_parser = symbol.kind == "parser"
        if isinstance(node, s.Variable):
            self._variable(node, symbol.locals)
        elif isinstance(node, s.Constant):
            self.constant(node)
        elif isinstance(node, s.Instantiation):
            symbol.members.append(self._inner_instance(symbol, node))
        elif isinstance(node, s.ValueSet):
            if not is_parser:
                self.fail(node, "a value_set can only be declared in a parser", Kind.PLACE)
            symbol.members.append(self.value_set(node))
        elif is_parser:
            what = "an action" if isinstance(node, s.Action) else "a table"
            self.fail(node.name_at, f"{what} cannot be declared in a parser", Kind.PLACE)
        elif isinstance(node, s.Action):
            symbol.members.append(self.action(node, symbol))
        elif isinstance(node, s.Table):
            symbol.members.append(self.table(node))

    def _inner_instance(self, owner: r.BlockSymbol, node: s.Instantiation) -> r.InstanceSymbol:
        made = self.instance(node)
        if isinstance(made.type, t.BlockType) and made.type.kind != owner.kind:
            self.fail(node, f"a {made.type.kind} cannot be instantiated in a {owner.kind}", Kind.PLACE)
        return made

    # --- actions -------------------------------------------------------------------------------------------------

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
            if isinstance(parameter.type, t.ExternType | t.BlockType) or parameter.type in (t.STRING, t.INT):
                self.fail(written, f"an action's parameter cannot have type {parameter.type}")
            if parameter.default is not None or parameter.is_optional:
                self.fail(written, "an action's parameter cannot be optional or have a default value")
            if parameter.direction and saw_data:
                self.fail(written, "an action's parameters without direction stand last", Kind.DIRECTION)
            saw_data = saw_data or not parameter.direction
