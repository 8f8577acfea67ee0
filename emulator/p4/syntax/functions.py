"""Functions, actions and methods: heads, parameters, and the bodies of instances that hold them."""

from __future__ import annotations

from emulator.p4.errors import Abandoned, Kind
from emulator.p4.syntax import annotation_list, expressions, statements, types, variables
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import GENERIC_FUNCTION, NAME_KINDS, TYPE, VALUE, Cursor


def parameter_list(cx: Cursor) -> tuple[s.Parameter, ...]:
    cx.expect("(", "before parameters")
    found: list[s.Parameter] = []
    if not cx.is_at(")"):
        found.append(_parameter(cx))
        while cx.accept(","):
            found.append(_parameter(cx))
    cx.expect(")", "after the parameters")
    return tuple(found)


def _parameter(cx: Cursor) -> s.Parameter:
    at = cx.position
    annotations = annotation_list.parse(cx)
    direction = ""
    if cx.kinds[cx.position] in ("in", "out", "inout"):
        direction = cx.kinds[cx.position]
        cx.position += 1
    target = types.parse(cx)
    name, name_at = cx.name("of a parameter")
    default = expressions.parse(cx) if cx.accept("=") else None
    return s.Parameter(at, cx.position - 1, annotations, name, name_at, direction, target, default)


def declare_head(cx: Cursor, type_parameters: tuple[str, ...], parameters: tuple[s.Parameter, ...]) -> None:
    for name in type_parameters:
        cx.declare(name, TYPE)
    for parameter in parameters:
        cx.declare(parameter.name)


def prototype(
    cx: Cursor, at: int, annotations: s.Annotations, *, declare: bool, is_abstract: bool = False
) -> s.Prototype:
    """typeOrVoid name optTypeParameters ( parameterList ); the return type may name the type parameters."""
    start, behind = cx.position, types.end(cx)
    is_generic = cx.kinds[behind] in NAME_KINDS and cx.kinds[behind + 1] == "<"
    is_open = is_generic or (cx.is_at("ID") and not cx.is_type_name())
    if is_open:
        cx.position = behind
    else:
        return_type: s.TypeNode = types.parse(cx)
    name, name_at = cx.name("of a function")
    type_parameters = types.parameter_list(cx)
    if declare:
        cx.declare(name, GENERIC_FUNCTION if type_parameters else VALUE)
    elif type_parameters:
        cx.names.generic_methods.add(name)
    cx.names.enter()
    for parameter in type_parameters:
        cx.declare(parameter, TYPE)
    after, cx.position = cx.position, start
    if is_open:
        return_type = types.parse(cx)
    cx.position = after
    parameters = parameter_list(cx)
    cx.names.leave()
    end = cx.position - 1
    return s.Prototype(at, end, annotations, name, name_at, return_type, type_parameters, parameters, is_abstract)


def or_instantiation(cx: Cursor, at: int, annotations: s.Annotations) -> s.Function | s.Instantiation:
    if types.is_start(cx):
        behind = types.end(cx)
        if cx.kinds[behind] == "(":
            return variables.instantiation(cx, at, annotations, types.parse(cx))
        if cx.kinds[behind] in NAME_KINDS and cx.peek(behind + 1 - cx.position) in (";", "="):
            cx.report("a variable cannot be declared at the top level", at, Kind.PLACE)
            raise Abandoned
    head = prototype(cx, at, annotations, declare=True)
    cx.names.enter()
    declare_head(cx, head.type_parameters, head.parameters)
    body = statements.block(cx)
    cx.names.leave()
    return s.Function(at, body.end, annotations, head.name, head.name_at, head, body)


def action(cx: Cursor, at: int, annotations: s.Annotations) -> s.Action:
    cx.position += 1
    name, name_at = cx.name("of an action")
    cx.declare(name)
    parameters = parameter_list(cx)
    cx.names.enter()
    declare_head(cx, (), parameters)
    body = statements.block(cx)
    cx.names.leave()
    return s.Action(at, body.end, annotations, name, name_at, parameters, body)


def object_initializer(cx: Cursor) -> tuple[s.Decl, ...]:
    cx.expect("{", "before an object's initialiser")
    found: list[s.Decl] = []
    while not cx.is_at("}"):
        at = cx.position
        found.append(or_instantiation(cx, at, annotation_list.parse(cx)))
    cx.expect("}", "after an object's initialiser")
    return tuple(found)
