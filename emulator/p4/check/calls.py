"""Calls of functions, actions and constructors (sections 6.8, 8.20, 11.3); `methods` has those behind a dot."""

from __future__ import annotations

from emulator.p4.check import arguments, methods
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.context import Context, Where
from emulator.p4.check.reporting import fail, warn
from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import tree as s


def _is_made_and_applied(callee: s.Expr) -> bool:
    if not isinstance(callee, s.Member) or callee.name != "apply" or not isinstance(callee.base, s.Call):
        return False
    return isinstance(callee.base.callee, s.TypeName)


def _constructor(package: t.Type | t.Generic) -> t.Signature:
    pattern = package.made[package.parameters] if isinstance(package, t.Generic) else package
    assert isinstance(pattern, t.BlockType)
    assert pattern.constructor is not None
    return pattern.constructor


def call(cx: Context, node: s.Call) -> r.Expr:  # noqa: RET503
    if _is_made_and_applied(node.callee):
        assert isinstance(node.callee, s.Member)
        fail(cx, node.callee.base, "an instance that is applied has a name: declare it, then apply that")
    callee = cx.expression(node.callee)
    if isinstance(callee, r.TypeRef):
        return _construct(cx, node, callee)
    if isinstance(callee, r.Method):
        return methods.call(cx, node, callee)
    if isinstance(callee, r.Ref):
        symbol = callee.symbol
        if isinstance(symbol, r.ExternFunctionSymbol):
            return _extern_function(cx, node, symbol)
        if isinstance(symbol, r.FunctionSymbol):
            return _function(cx, node, symbol)
        if isinstance(symbol, r.ActionSymbol):
            return _action(cx, node, symbol)
    if callee.type is t.UNKNOWN:
        return callee
    fail(cx, node.callee, f"{callee.type} cannot be called")


# --- functions ---------------------------------------------------------------------------------------------------


def _extern_function(cx: Context, node: s.Call, symbol: r.ExternFunctionSymbol) -> r.Expr:
    signature = arguments.overload(cx, node, symbol.name, symbol.signatures)
    name = symbol.name
    bound, inference = arguments.match(cx, node, signature, f"{name}()")
    result = inference.result(signature.result)
    if name == "static_assert":
        return _static_assert(cx, node, bound)
    if name == "verify" and cx.place.where is not Where.STATE:
        fail(cx, node, "verify() can only be called in a parser's state", Kind.PLACE)
    return r.ExternCall(node.at, result, name, None, signature, bound, inference.arguments())


def _static_assert(cx: Context, node: s.Call, bound: tuple[r.Bound, ...]) -> r.Expr:
    condition = bound[0].value
    if not isinstance(condition, r.Literal):
        fail(cx, node, "static_assert: the condition must be known at compile time", Kind.CONSTANT)
    if not condition.value:
        text = bound[1].value.value if len(bound) > 1 and isinstance(bound[1].value, r.Literal) else ""
        fail(cx, node, f"static_assert failed{': ' + text if text else ''}", Kind.CONSTANT)
    return r.Literal(node.at, t.BOOL, True)


def _function(cx: Context, node: s.Call, symbol: r.FunctionSymbol) -> r.Expr:
    if symbol.overloads:
        every = [symbol, *symbol.overloads]
        chosen = arguments.overload(cx, node, symbol.name, [one.signature for one in every])
        symbol = next(one for one in every if one.signature is chosen)
        cx.used.add(symbol)
    bound, inference = arguments.match(cx, node, symbol.signature, f"{symbol.name}()")
    result = inference.result(symbol.signature.result)
    return r.FunctionCall(node.at, result, symbol, bound, dict(inference.known))


def _action(cx: Context, node: s.Call, symbol: r.ActionSymbol) -> r.Expr:
    if cx.place.where not in (Where.APPLY, Where.ACTION):
        fail(cx, node, f"action {symbol.name!r} can only be called in actions and apply blocks", Kind.PLACE)
    bound, _ = arguments.match(cx, node, symbol.signature, f"{symbol.name}()", is_action=True)
    return r.ActionCall(node.at, t.VOID, symbol, bound)


# --- constructors ------------------------------------------------------------------------------------------------


def is_package_overload(cx: Context, node: s.BlockType, type_: t.Type | t.Generic) -> bool:
    """Whether there is a package of this name with other parameters: p4c allows it, section 7.2.9.2 does not."""
    known = cx.packages.setdefault(node.name, [])
    known.append(type_)
    if len(known) == 1 or any(t.takes_the_same(_constructor(one), _constructor(type_)) for one in known[:-1]):
        return False
    warn(cx, node.name_at, f"the specification does not allow a second package {node.name!r}")
    return True


def _chosen_package(cx: Context, callee: r.TypeRef, given: tuple[s.Argument, ...]) -> r.TypeRef:
    """The package of that name which takes these arguments."""
    named = callee.symbol or callee.type
    if not isinstance(named, t.Generic | t.BlockType):
        return callee
    for one in cx.packages.get(named.name, ()):
        is_like = isinstance(one, t.Generic) == isinstance(named, t.Generic)
        if is_like and arguments.accepts(_constructor(one), [a.name for a in given]):
            symbol, type_ = (one, t.UNKNOWN) if isinstance(one, t.Generic) else (None, one)
            return r.TypeRef(callee.at, type_, symbol, callee.given)
    return callee


def _construct(cx: Context, node: s.Call, callee: r.TypeRef) -> r.Expr:
    """A constructor call inside an expression: an anonymous instance."""
    if cx.place.where not in (Where.TOP, Where.TABLE, Where.CONTROL, Where.PARSER):
        fail(cx, node, f"nothing can be instantiated in {cx.place.where}", Kind.PLACE)
    return instantiate(cx, node, callee, node.arguments)


def instantiate(cx: Context, node: s.Node, callee: r.TypeRef, given: tuple[s.Argument, ...]) -> r.Construct:
    """Match constructor arguments; type arguments that were left out are inferred."""
    callee = _chosen_package(cx, callee, given)
    generic = callee.symbol
    if isinstance(generic, t.Generic):
        type_: t.Type = generic.specialise(generic.parameters)
    else:
        type_ = callee.type
    if isinstance(type_, t.ExternType):
        call = s.Call(node.at, s.Name(node.at, type_.name), None, given)
        signature = arguments.overload(cx, call, type_.name, type_.constructors) if type_.constructors else None
        if signature is None:
            fail(cx, node, f"{type_} has no constructor")
    elif isinstance(type_, t.BlockType) and type_.constructor is not None:
        signature = type_.constructor
        call = s.Call(node.at, s.Name(node.at, type_.name), None, given)
    elif type_ is t.UNKNOWN:
        raise Abandoned
    else:
        fail(cx, node, f"{type_} cannot be instantiated")
    variables = generic.parameters if isinstance(generic, t.Generic) else ()
    bound, inference = arguments.match(
        cx, call, signature, str(type_), variables=variables, given=callee.given, is_constructor=True
    )
    if isinstance(generic, t.Generic):
        type_ = generic.specialise(tuple(inference.known[v] for v in variables))
    return r.Construct(node.at, type_, methods.declared_block(type_), bound)
