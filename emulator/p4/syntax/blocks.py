"""Parsers and controls, their types, locals, states and value sets."""

from __future__ import annotations

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import annotation_list, expressions, functions, statements, tables, types, variables
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import GENERIC_TYPE, TYPE, Cursor


def parse(cx: Cursor, at: int, annotations: s.Annotations) -> s.BlockType | s.Parser | s.Control:
    kind = cx.kinds[cx.position]
    cx.position += 1
    name, name_at = cx.name(f"of a {kind}")
    type_parameters = types.parameter_list(cx)
    cx.declare(name, GENERIC_TYPE if type_parameters else TYPE)
    cx.names.enter()
    for parameter in type_parameters:
        cx.declare(parameter, TYPE)
    parameters = functions.parameter_list(cx)
    end = cx.position - 1
    head = s.BlockType(at, end, annotations, name, name_at, kind, type_parameters, parameters)
    if kind == "package" or cx.is_at(";"):
        cx.names.leave()
        cx.expect(";", f"after a {kind} type")
        return head
    constructor_parameters = functions.parameter_list(cx) if cx.is_at("(") else ()
    functions.declare_head(cx, (), (*parameters, *constructor_parameters))
    cx.expect("{", f"before the {kind}'s body")
    local = _locals(cx)
    found = (_parser_rest if kind == "parser" else _control_rest)(cx, head, constructor_parameters, local)
    cx.names.leave()
    return found


def _locals(cx: Cursor) -> tuple[s.Decl, ...]:
    found: list[s.Decl] = []
    depth = cx.names.depth
    while cx.kinds[cx.position] not in ("apply", "}", "EOF") and not _is_state(cx):
        start = cx.position
        try:
            found.append(_local(cx))
        except Abandoned:
            while cx.names.depth > depth:
                cx.names.leave()
            _recover_local(cx, start)
    return tuple(found)


def _recover_local(cx: Cursor, start: int) -> None:
    failed_at, cx.position = cx.position, start
    depth = 0
    while (kind := cx.kinds[cx.position]) != "EOF":
        if depth == 0 and cx.position > start and (kind == "}" or (kind == "apply" and cx.peek() == "{")):
            return
        depth += (kind == "{") - (kind == "}")
        cx.position += 1
        if depth == 0 and kind in (";", "}") and cx.position > failed_at:
            return


def _is_state(cx: Cursor) -> bool:
    start = cx.position
    while cx.is_at("@"):
        annotation_list.parse(cx)
    found = cx.is_at("state") and cx.peek(2) == "{"
    cx.position = start
    return found


def _local(cx: Cursor) -> s.Decl:
    at = cx.position
    annotations = annotation_list.parse(cx)
    kind = cx.kinds[cx.position]
    if kind == "action":
        return functions.action(cx, at, annotations)
    if kind == "table":
        return tables.parse(cx, at, annotations)
    if kind == "const":
        return variables.constant(cx, annotations)
    if kind == "value_set":
        return _value_set(cx, at, annotations)
    if not types.is_start(cx):
        if kind == "ID" and cx.peek() != "=":
            cx.undeclared_type(cx.position)
        if kind in statements.NO_STATEMENTS:
            statements.lose_braces(cx, kind)
        cx.lose("expected a declaration, 'apply' or a state")
    return variables.with_semicolon(cx, annotations)


def _value_set(cx: Cursor, at: int, annotations: s.Annotations) -> s.ValueSet:
    cx.position += 1
    arguments = types.argument_list(cx)
    if len(arguments) != 1:
        cx.fail("value_set takes one type argument", at)
    cx.expect("(", "before a value set's size")
    size = expressions.parse(cx)
    cx.expect(")", "after a value set's size")
    name, name_at = cx.name("of a value set")
    cx.declare(name)
    return s.ValueSet(at, cx.expect(";", "after a value set"), annotations, name, name_at, arguments[0], size)


def _control_rest(
    cx: Cursor, head: s.BlockType, constructor: tuple[s.Parameter, ...], local: tuple[s.Decl, ...]
) -> s.Control:
    cx.expect("apply", "in a control")
    body = statements.block(cx)
    end = cx.expect("}", "after a control")
    return s.Control(head.at, end, head.annotations, head.name, head.name_at, head, constructor, local, body)


def _parser_rest(
    cx: Cursor, head: s.BlockType, constructor: tuple[s.Parameter, ...], local: tuple[s.Decl, ...]
) -> s.Parser:
    states: list[s.State] = []
    while _is_state(cx):
        states.append(_state(cx))
    end = cx.expect("}", "or a state in a parser")
    if not states:
        cx.fail("a parser needs at least the state 'start'", end)
    return s.Parser(head.at, end, head.annotations, head.name, head.name_at, head, constructor, local, tuple(states))


def _state(cx: Cursor) -> s.State:
    at = cx.position
    annotations = annotation_list.parse(cx)
    cx.expect("state", "")
    name, name_at = cx.name("of a state")
    cx.expect("{", "before a state's body")
    cx.names.enter()
    body = statements.sequence(cx)
    transition = _transition(cx) if cx.accept("transition") else None
    cx.names.leave()
    end = cx.expect("}", "after a state")
    return s.State(at, end, annotations, name, name_at, body, transition)


def _transition(cx: Cursor) -> s.Name | s.Select:
    at = cx.position
    if not cx.accept("select"):
        name, _ = cx.name("of the next state")
        cx.expect(";", "after a transition")
        return s.Name(at, name)
    cx.expect("(", "after 'select'")
    keys: list[s.Expr] = []
    while not cx.is_at(")"):
        keys.append(expressions.parse(cx))
        if not cx.accept(","):
            break
    cx.expect(")", "after the select's keys")
    cx.expect("{", "before the select's cases")
    cases: list[s.SelectCase] = []
    while not cx.is_at("}"):
        start = cx.position
        keyset = expressions.keyset(cx)
        cx.expect(":", "after a select's label")
        state_at = cx.position
        name, _ = cx.name("of the next state")
        cx.expect(";", "after a select's case")
        cases.append(s.SelectCase(start, keyset, s.Name(state_at, name)))
    return s.Select(at, cx.expect("}", "after the select's cases"), tuple(keys), tuple(cases))
