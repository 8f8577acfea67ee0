"""The checker: names, types and rules for a whole program; syntax tree in, resolved tree out.

Declarations are taken in order, so a name is found only after its declaration (parser states are the exception). An
error abandons the statement or declaration it is in and checking goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.p4.architecture import Architecture
from emulator.p4.check import (
    blocks,
    calls,
    expressions,
    objects,
    signatures,
    statements,
    type_declarations,
)
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_numbers, check_structured
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import declared_at, fail, report, warn_in_program
from emulator.p4.check.usage_warnings import bodies_of, may_be_unused, warn_of_unset_reads, warn_of_unused
from emulator.p4.errors import Abandoned, Diagnostics, Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.source import Tokens


def check(program: s.Program, tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> r.Program:
    """The resolved program; errors go to ``diagnostics``, and the result is whole only when there are none."""
    cx = new_context(tokens, diagnostics, architecture)
    for node in program:
        try:
            DECLARATIONS[type(node)](cx, node)
        except Abandoned:
            _declare_unknown(cx, node)
    check_structured(cx)
    if not diagnostics.errors:
        _warn_of_uses(cx)
    instances = [declared for declared in cx.declarations if isinstance(declared, r.InstanceSymbol)]
    return r.Program(
        next((one for one in instances if one.name == "main" and _is_package(one)), None),
        tuple(cx.errors),
        [one for one in instances if isinstance(one.type, t.ExternType)],
        cx.declarations,
        cx.field_lists,
        tuple(cx.refusals),
    )


def new_context(tokens: Tokens, diagnostics: Diagnostics, architecture: Architecture) -> Context:
    """Context in which nothing is declared yet; also for P4Info, which evaluates annotations' expressions."""
    return Context(tokens, diagnostics, architecture, expressions.EXPRESSIONS)


def _warn_of_uses(cx: Context) -> None:
    warn = partial(warn_in_program, cx)
    warn_of_unset_reads(bodies_of(cx.declarations), warn)
    candidates = (*cx.variables, *may_be_unused(cx.declarations))
    warn_of_unused(candidates, cx.used, warn)


def _declare_unknown(cx: Context, node: s.Decl) -> None:
    scope = cx.scopes[0]
    if node.name in scope or isinstance(node, s.Members):
        return
    is_type = isinstance(node, s.Struct | s.Enum | s.Typedef | s.BlockType | s.ExternObject | s.Parser | s.Control)
    scope[node.name] = t.UNKNOWN if is_type else r.VariableSymbol(node.name, t.UNKNOWN, node.name_at)


# --- types -------------------------------------------------------------------------------------------------------


def _struct(cx: Context, node: s.Struct) -> None:
    type_declarations.declare(cx, node, type_declarations.struct(cx, node))
    for field in node.fields:
        for annotation in field.annotations:
            if annotation.name == cx.architecture.field_lists[0]:
                _field_list(cx, annotation)


def _field_list(cx: Context, annotation: s.Annotation) -> None:
    numbers = annotation_numbers(cx, annotation, "the number of a field list")
    if any(number not in _FIELD_LISTS for number in numbers):
        report(cx, annotation, f"a field list has a number from 0 to {_FIELD_LISTS[-1]}", Kind.CONSTANT)
    cx.field_lists[annotation.at] = numbers


def _enum(cx: Context, node: s.Enum) -> None:
    type_declarations.declare(cx, node, type_declarations.enum(cx, node))


def _typedef(cx: Context, node: s.Typedef) -> None:
    type_declarations.declare(cx, node, type_declarations.typedef(cx, node))


def _members(cx: Context, node: s.Members) -> None:
    type_declarations.members(cx, node)


def _block_type(cx: Context, node: s.BlockType) -> None:
    if _is_repeated(cx, node):
        return
    type_ = type_declarations.block_type(cx, node)
    if node.kind != "package" or not calls.is_package_overload(cx, node, type_):
        type_declarations.declare(cx, node, type_)


def _extern(cx: Context, node: s.ExternObject) -> None:
    if not _is_repeated(cx, node):
        type_declarations.extern(cx, node)


def _is_repeated(cx: Context, node: s.BlockType | s.ExternObject) -> bool:
    """The same declaration once more, which is tolerated; ``declare`` reports a different one."""
    first = cx.first_declared.setdefault((type(node), node.name), node)
    return first is not node and _text(cx, first) == _text(cx, node)


def _text(cx: Context, node: s.Decl) -> list[str]:
    return cx.tokens.texts[node.name_at : node.end + 1]


def _extern_function(cx: Context, node: s.ExternFunction) -> None:
    signature = signatures.signature(cx, node.head)
    known = cx.scopes[0].get(node.name)
    if isinstance(known, r.ExternFunctionSymbol):
        if _text(cx, cx.first_declared[s.ExternFunction, node.name]) == _text(cx, node):
            return
        if any(t.takes_the_same(o, signature) for o in known.signatures):
            fail(cx, node.name_at, f"{node.name}() is declared twice with such parameters", Kind.DUPLICATE)
        known.signatures.append(signature)
        return
    cx.first_declared[s.ExternFunction, node.name] = node
    cx.declare(node.name, r.ExternFunctionSymbol(node.name, t.VOID, node.name_at, [signature]), node.name_at)


# --- values ------------------------------------------------------------------------------------------------------


def _constant(cx: Context, node: s.Constant) -> None:
    cx.declarations.append(statements.constant(cx, node))


def _variable(cx: Context, node: s.Variable) -> None:
    fail(cx, node, "a variable cannot be declared at the top level", Kind.PLACE)


def _instantiation(cx: Context, node: s.Instantiation) -> None:
    symbol = objects.instance(cx, node)
    cx.declarations.append(symbol)
    if not isinstance(symbol.type, t.ExternType) and not _is_package(symbol):
        fail(cx, node, f"{symbol.type} cannot be instantiated at the top level", Kind.PLACE)


def _is_package(symbol: r.InstanceSymbol) -> bool:
    return isinstance(symbol.type, t.BlockType) and symbol.type.kind == "package"


def _function(cx: Context, node: s.Function) -> None:
    symbol = objects.function(cx, node)
    cx.declarations.append(symbol)
    known = cx.scopes[0].get(node.name)
    if not isinstance(known, r.FunctionSymbol):
        cx.declare(node.name, symbol, node.name_at)
    elif any(t.takes_the_same(one.signature, symbol.signature) for one in (known, *known.overloads)):
        notes = declared_at(cx, known.at)
        fail(cx, node.name_at, f"{node.name}() is declared twice with such parameters", Kind.DUPLICATE, notes)
    else:
        known.overloads.append(symbol)


def _action(cx: Context, node: s.Action) -> None:
    cx.declarations.append(blocks.action(cx, node, None))


_FIELD_LISTS = range(256)
"""v1model's functions take the number as bit<8>."""


DECLARATIONS: dict[type, Callable[[Context, Any], Any]] = {
    s.Struct: _struct,
    s.Enum: _enum,
    s.Typedef: _typedef,
    s.Members: _members,
    s.BlockType: _block_type,
    s.ExternObject: _extern,
    s.ExternFunction: _extern_function,
    s.Constant: _constant,
    s.Variable: _variable,
    s.Instantiation: _instantiation,
    s.Function: _function,
    s.Action: _action,
    s.Parser: blocks.block,
    s.Control: blocks.block,
}
