"""Parsers and controls, their instances and actions (sections 13, 14, 11.3)."""

from __future__ import annotations

from emulator.p4.check import objects, parsers, signatures, statements, tables, type_declarations
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import fail, report, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s


def block(cx: Context, node: s.Parser | s.Control) -> r.BlockSymbol:
    kind = node.head.kind
    variables = tuple(t.TypeVariable(name) for name in node.head.type_parameters)
    symbol = r.BlockSymbol(node.name, t.UNKNOWN, node.name_at, kind, (), (), node.annotations)
    symbol.type_parameters = variables
    inside = Where.PARSER if kind == "parser" else Where.CONTROL
    with cx.scope(where=inside):
        for variable in variables:
            cx.declare(variable.name, variable, node.head.name_at)
        declared = _block_type(cx, node, symbol, variables)
        with cx.scope(where=inside):
            _locals(cx, symbol, node.locals)
            if isinstance(node, s.Control):
                with cx.scope(where=Where.APPLY):
                    symbol.body = statements.block(cx, node.body)
            else:
                parsers.states(cx, symbol, node)
    symbol.hides_block_type = _hide_block_type(cx, node)
    type_declarations.declare(cx, node, declared)
    return symbol


def _block_type(
    cx: Context, node: s.Parser | s.Control, symbol: r.BlockSymbol, variables: tuple[t.TypeVariable, ...]
) -> t.BlockType | t.Generic:
    """Type of the block, generic when it has type parameters; its parameters become known."""
    parameters = signatures.parameters(cx, node.head.parameters)
    constructor = signatures.parameters(cx, node.constructor_parameters, may_be_blocks=True)
    _check_constructor(cx, node, constructor)
    apply = t.Signature(node.name, (), parameters, t.VOID)
    construct = t.Signature(node.name, (), constructor, t.VOID)
    type_ = t.BlockType(node.head.kind, node.name, apply, construct, variables, symbol)
    symbol.type = type_
    symbol.parameters = signatures.symbols(cx, parameters)
    symbol.constructor = signatures.symbols(cx, constructor, is_constructor=True)
    if not variables:
        return type_
    generic = t.Generic(node.name, variables, symbol=symbol)
    type_.declaration = generic
    generic.made[variables] = type_
    return generic


def _check_constructor(cx: Context, node: s.Parser | s.Control, parameters: tuple[t.Parameter, ...]) -> None:
    """What a block can be constructed with (appendix F)."""
    other = "control" if node.head.kind == "parser" else "parser"
    for parameter, written in zip(parameters, node.constructor_parameters, strict=True):
        if parameter.direction:
            report(cx, written, "a constructor's parameter has no direction", Kind.DIRECTION)
        if isinstance(parameter.type, t.BlockType) and parameter.type.kind in (other, "package"):
            text = f"a {node.head.kind} cannot be constructed with a {parameter.type.kind}"
            report(cx, written.type, text)


def _hide_block_type(cx: Context, node: s.Parser | s.Control) -> bool:
    """A parser or control may take the name of one of the architecture's block types; p4c refuses that."""
    known = cx.scopes[0].get(node.name)
    if isinstance(known, t.Generic) and known.symbol is None:
        known = known.made[known.parameters]
    is_hidden = isinstance(known, t.BlockType) and known.constructor is None
    if is_hidden:
        warn(cx, node.name_at, f"{node.name!r} is also the name of a {node.head.kind} type; p4c refuses this")
        del cx.scopes[0][node.name]
    return is_hidden


# --- what is declared inside -------------------------------------------------------------------------------------


def _locals(cx: Context, symbol: r.BlockSymbol, nodes: tuple[s.Decl, ...]) -> None:
    for node in nodes:
        try:
            _local(cx, symbol, node)
        except Abandoned:
            cx.declare_unknown(node.name, node.name_at)


def _local(cx: Context, symbol: r.BlockSymbol, node: s.Decl) -> None:
    is_parser = symbol.kind == "parser"
    if isinstance(node, s.Variable):
        statements.variable(cx, node, symbol.locals)
    elif isinstance(node, s.Constant):
        statements.constant(cx, node)
    elif isinstance(node, s.Instantiation):
        symbol.members.append(_inner_instance(cx, symbol, node))
    elif isinstance(node, s.ValueSet):
        if not is_parser:
            fail(cx, node, "a value_set can only be declared in a parser", Kind.PLACE)
        symbol.members.append(parsers.value_set(cx, node))
    elif is_parser:
        what = "an action" if isinstance(node, s.Action) else "a table"
        fail(cx, node.name_at, f"{what} cannot be declared in a parser", Kind.PLACE)
    elif isinstance(node, s.Action):
        symbol.members.append(action(cx, node, symbol))
    elif isinstance(node, s.Table):
        symbol.members.append(tables.table(cx, node))


def _inner_instance(cx: Context, owner: r.BlockSymbol, node: s.Instantiation) -> r.InstanceSymbol:
    made = objects.instance(cx, node)
    if isinstance(made.type, t.BlockType) and made.type.kind != owner.kind:
        fail(cx, node, f"a {made.type.kind} cannot be instantiated in a {owner.kind}", Kind.PLACE)
    return made


# --- actions -----------------------------------------------------------------------------------------------------


def action(cx: Context, node: s.Action, owner: r.BlockSymbol | None) -> r.ActionSymbol:
    parameters = signatures.parameters(cx, node.parameters)
    _check_action_parameters(cx, node, parameters)
    with cx.scope(where=Where.ACTION):
        symbols = signatures.symbols(cx, parameters)
        body = statements.block(cx, node.body)
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
    cx.declare(node.name, symbol, node.name_at)
    return symbol


def _check_action_parameters(cx: Context, node: s.Action, parameters: tuple[t.Parameter, ...]) -> None:
    saw_data = False
    for parameter, written in zip(parameters, node.parameters, strict=True):
        if isinstance(parameter.type, t.ExternType | t.BlockType) or parameter.type in (t.STRING, t.INT):
            fail(cx, written, f"an action's parameter cannot have type {parameter.type}")
        if parameter.is_optional:
            fail(cx, written, "an action's parameter cannot be optional")
        if parameter.direction and saw_data:
            fail(cx, written, "an action's parameters without direction must come last", Kind.DIRECTION)
        saw_data = saw_data or not parameter.direction
