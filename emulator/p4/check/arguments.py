"""Arguments: which overload, which type arguments, and what each argument may be (sections 6.8, 8.15, 8.20)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4.check import coerce, constants, types
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.infer import Inference, InferenceError
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Abandoned, Kind, counted
from emulator.p4.syntax import tree as s


def overload(cx: Context, node: s.Call, name: str, signatures: Sequence[t.Signature]) -> t.Signature:
    """The one that takes this number of arguments and these names (section 7.2.9)."""
    given = [a.name for a in node.arguments]
    fitting = [signature for signature in signatures if accepts(signature, given)]
    if not fitting:
        if len(signatures) == 1:
            return signatures[0]  # `match` says what is wrong
        fail(cx, node, f"no overload of {name} takes {len(given)} arguments")
    if len(fitting) > 1:
        fail(cx, node, f"{len(fitting)} overloads of {name} take these arguments", Kind.DUPLICATE)
    return fitting[0]


def accepts(signature: t.Signature, given: list[str | None]) -> bool:
    parameters = signature.parameters
    least = sum(1 for p in parameters if p.default is None and not p.is_optional)
    if not least <= len(given) <= len(parameters):
        return False
    names = {p.name for p in parameters}
    return all(name is None or name in names for name in given)


def match(
    cx: Context,
    node: s.Call,
    signature: t.Signature,
    what: str,
    *,
    variables: tuple[t.TypeVariable, ...] = (),
    given: tuple[t.Type | None, ...] = (),
    is_action: bool = False,
    is_constructor: bool = False,
) -> tuple[tuple[r.Bound, ...], Inference]:
    """Arguments in parameter order, converted and checked against directions; and the inferred types.

    ``variables`` are further type parameters, and ``given`` their types as far as they are written.
    """
    pairs = _paired(cx, node, signature, what)
    inference = Inference((*signature.type_parameters, *variables))
    _explicit(cx, node, signature, inference)
    inference.known.update((v, type_) for v, type_ in zip(variables, given, strict=False) if type_ is not None)
    values = [
        (parameter, argument, None if argument is None or argument.value is None else _argument(cx, argument))
        for parameter, argument in pairs
    ]
    for parameter, argument, value in values:
        if argument is not None and value is None and parameter.direction != "out":
            text = f"{what}: argument {parameter.name!r}: '_' is only allowed for an out parameter"
            fail(cx, argument, text, Kind.DIRECTION)
        if argument is not None and value is not None and parameter.direction in ("out", "inout"):
            coerce.require_lvalue(cx, value, argument.value, f"{what}: argument {parameter.name!r}")
    if inference.variables:
        _infer(cx, node, what, inference, values)
    bound: list[r.Bound] = []
    order = {id(argument): position for position, argument in enumerate(node.arguments)}
    for parameter, argument, value in values:
        if inference.variables:
            target = inference.result(parameter.type)
            parameter = t.Parameter(
                parameter.name, parameter.direction, target, parameter.default, parameter.is_optional
            )
        found = _bind(cx, node, parameter, argument, value, what, is_action or is_constructor)
        found.position = order.get(id(argument), len(order))
        bound.append(found)
    return tuple(bound), inference


def _argument(cx: Context, argument: s.Argument) -> r.Expr:
    assert argument.value is not None
    found = cx.expression(argument.value)
    if isinstance(found, r.TypeRef | r.Method) or found.type is t.VOID:
        return cx.value(argument.value)
    return found


def _paired(
    cx: Context, node: s.Call, signature: t.Signature, what: str
) -> list[tuple[t.Parameter, s.Argument | None]]:
    parameters, given = signature.parameters, node.arguments
    named = [a for a in given if a.name is not None]
    if named and len(named) != len(given):
        fail(cx, node, f"{what}: either all arguments are named or none")
    if not named:
        if len(given) == len(parameters):
            return list(zip(parameters, given, strict=True))
        rest = parameters[len(given) :]
        if len(given) > len(parameters) or any(p.default is None and not p.is_optional for p in rest):
            fail(cx, node, f"{what} takes {counted(len(parameters), 'argument')}, {len(given)} given")
        return [*zip(parameters, given, strict=False), *((p, None) for p in rest)]
    by_name = {a.name: a for a in named}
    if len(by_name) != len(named):
        fail(cx, node, f"{what}: an argument is given twice", Kind.DUPLICATE)
    for argument in named:
        if all(p.name != argument.name for p in parameters):
            fail(cx, argument, f"{what} has no parameter {argument.name!r}", Kind.NAME)
    for parameter in parameters:
        if parameter.name not in by_name and parameter.default is None and not parameter.is_optional:
            fail(cx, node, f"{what}: no argument for {parameter.name!r}")
    return [(p, by_name.get(p.name)) for p in parameters]


def _explicit(cx: Context, node: s.Call, signature: t.Signature, inference: Inference) -> None:
    if node.type_arguments is None:
        return
    expected = signature.type_parameters
    if len(node.type_arguments) != len(expected):
        takes = counted(len(expected), "type argument")
        fail(cx, node, f"{signature.name} takes {takes}, {len(node.type_arguments)} given")
    for variable, argument in zip(expected, node.type_arguments, strict=True):
        if not types.is_open(argument):
            inference.known[variable] = types.type_of(cx, argument)
            inference.fixed.add(variable)


def _infer(
    cx: Context,
    node: s.Call,
    what: str,
    inference: Inference,
    values: list[tuple[t.Parameter, s.Argument | None, r.Expr | None]],
) -> None:
    """Arguments that have a type first, then literals, which adapt."""
    ordered = [v for v in values if v[2] is not None]
    ordered.sort(key=lambda v: isinstance(v[2], r.Aggregate) or (v[2] is not None and v[2].type is t.INT))
    for parameter, argument, value in ordered:
        assert value is not None
        try:
            inference.unify(parameter.type, value.type)
        except InferenceError as error:
            fail(cx, argument or node, f"{what}: argument {parameter.name!r}: {error}")
    for variable in inference.variables:
        found = inference.known.get(variable)
        if found is None and _is_left_out(variable, values):
            inference.known[variable] = variable
            continue
        if found is None:
            fail(cx, node, f"{what}: the type argument {variable} cannot be inferred")
        if found is t.UNKNOWN:
            raise Abandoned
        if inference.has_int(found):
            fail(
                cx,
                node,
                f"{what}: the width of an int cannot be inferred ({variable} = {found}); write 16w0 or cast it",
            )


def _is_left_out(variable: t.TypeVariable, values: list[tuple[t.Parameter, s.Argument | None, r.Expr | None]]) -> bool:
    """Whether the type occurs in parameters without arguments only."""
    users = [argument for parameter, argument, _ in values if t.mentions(parameter.type, variable)]
    return bool(users) and all(argument is None for argument in users)


def _bind(
    cx: Context,
    node: s.Call,
    parameter: t.Parameter,
    argument: s.Argument | None,
    value: r.Expr | None,
    what: str,
    takes_values: bool,
) -> r.Bound:
    if argument is None:
        return r.Bound(parameter, parameter.default)
    text = f"{what}: argument {parameter.name!r}"
    if value is None:
        return r.Bound(parameter, None)
    at = argument.value or argument
    if parameter.direction in ("out", "inout"):
        if value.type is not parameter.type and value.type is not t.UNKNOWN:
            fail(cx, at, f"{text}: {value.type} where {parameter.type} is needed (out arguments are not cast)")
        return r.Bound(parameter, value)
    if isinstance(parameter.type, t.BlockType):
        return r.Bound(parameter, block_argument(cx, parameter.type, value, at, text))
    found = coerce.assign(cx, value, parameter.type, at, text)
    is_known = constants.is_known(found) or _may_be_runtime(cx, node, takes_values) or _is_passed_on(cx, node, found)
    if not parameter.direction and not is_known:
        fail(cx, at, f"{text} has no direction, so it must be known at compile time", Kind.CONSTANT)
    return r.Bound(parameter, found)


def _may_be_runtime(cx: Context, node: s.Call, takes_values: bool) -> bool:
    """Actions called directly take values for parameters without direction; constructors take none."""
    return takes_values and cx.place.where in (Where.APPLY, Where.ACTION)


def _is_passed_on(cx: Context, node: s.Call, value: r.Expr) -> bool:
    """A parameter without direction: p4c takes any for known, and other architectures' libraries need that."""
    is_ours = isinstance(node.callee, s.Name) and node.callee.name in cx.architecture.functions
    if is_ours or not isinstance(value, r.Ref) or not isinstance(value.symbol, r.VariableSymbol):
        return False
    return not value.symbol.direction


def block_argument(cx: Context, target: t.BlockType, value: r.Expr, at: s.Node, text: str) -> r.Expr:
    if value.type is target or value.type is t.UNKNOWN:
        return value
    if not isinstance(value.type, t.BlockType) or not isinstance(value, r.Construct | r.Ref):
        fail(cx, at, f"{text}: {value.type} where {target} is needed")
    try:
        Inference(()).unify(target, value.type)
    except InferenceError as error:
        fail(cx, at, f"{text}: {error}")
    return value
