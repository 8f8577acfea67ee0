"""Parameters and signatures of functions, actions, methods and blocks (sections 6.8, 7.2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from emulator.p4.check import arguments, coerce, constants, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail, report
from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s


def signature(cx: Context, node: s.Prototype, result: t.Type | None = None) -> t.Signature:
    variables = tuple(t.TypeVariable(name) for name in node.type_parameters)
    with type_parameters(cx, variables):
        found = parameters(cx, node.parameters)
        if node.return_type is not None:
            result = types.type_of(cx, node.return_type)
    return t.Signature(node.name, variables, found, result or t.VOID, node, node.is_abstract)


def parameters(
    cx: Context, nodes: tuple[s.Parameter, ...], *, of_package: bool = False, may_be_blocks: bool = False
) -> tuple[t.Parameter, ...]:
    """Only packages, parsers and controls are constructed from parsers and controls (appendix F)."""
    found: list[t.Parameter] = []
    for node in nodes:
        type_ = types.type_of(cx, node.type)
        if any(p.name == node.name for p in found):
            report(cx, node.name_at, f"two parameters are called {node.name!r}", Kind.DUPLICATE)
        if isinstance(type_, t.BlockType) and not (of_package or may_be_blocks):
            fail(cx, node.type, f"a parameter here cannot be a {type_.kind}")
        _check_direction(cx, node, type_, of_package=of_package)
        default = None
        if node.default is not None:
            if node.direction in ("out", "inout"):
                fail(cx, node.default, f"an {node.direction} parameter cannot have a default value", Kind.DIRECTION)
            default = _default_argument(cx, node, type_)
        is_optional = any(a.name == "optional" for a in node.annotations)
        if is_optional and default is not None:
            fail(cx, node.default or node, f"{node.name!r} is @optional, so it cannot have a default value")
        if default is not None and not constants.is_known(default):
            text = f"the default value of {node.name!r} must be known at compile time"
            fail(cx, node.default or node, text, Kind.CONSTANT)
        found.append(
            t.Parameter(node.name, node.direction, type_, default, is_optional, node.annotations, node.name_at)
        )
    return tuple(found)


def _default_argument(cx: Context, node: s.Parameter, type_: t.Type) -> r.Expr:
    assert node.default is not None
    what = f"default value of {node.name!r}"
    if isinstance(type_, t.BlockType):
        return arguments.block_argument(cx, type_, cx.value(node.default), node.default, what)
    return coerce.typed(cx, node.default, type_, what)


def _check_direction(cx: Context, node: s.Parameter, type_: t.Type, *, of_package: bool) -> None:
    if type_ is t.VOID or type_ is t.MATCH_KIND:
        report(cx, node.type, f"a parameter cannot have type {type_}")
    if not node.direction:
        return
    if isinstance(type_, t.ExternType | t.BlockType | t.ListType) or type_ in (t.STRING, t.INT):
        report(cx, node, f"a parameter of type {type_} has no direction", Kind.DIRECTION)
    elif of_package:
        report(cx, node, "a package's parameter has no direction", Kind.DIRECTION)


@contextmanager
def type_parameters(cx: Context, variables: Iterable[t.TypeVariable]) -> Iterator[None]:
    """A scope with type parameters."""
    with cx.scope():
        for variable in variables:
            cx.scopes[-1][variable.name] = variable
        yield


def symbols(
    cx: Context, parameters: tuple[t.Parameter, ...], *, is_constructor: bool = False
) -> tuple[r.VariableSymbol, ...]:
    """The variables that parameters are inside, declared in the innermost scope."""
    found = []
    for parameter in parameters:
        is_writable = parameter.direction in ("out", "inout")
        symbol = r.VariableSymbol(
            parameter.name, parameter.type, parameter.at, parameter.direction, is_writable, is_constructor,
            parameter.annotations,
        )  # fmt: skip
        if parameter.name not in cx.scopes[-1]:  # else reported with the parameters
            cx.declare(parameter.name, symbol, parameter.at)
        found.append(symbol)
    return tuple(found)
