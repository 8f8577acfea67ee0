"""Statements and blocks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import annotation_list, expressions, types, variables
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import NAME_KINDS, Cursor

NO_STATEMENTS = frozenset((
    "action", "table", "control", "parser", "package", "extern", "struct", "header", "header_union", "enum",
    "value_set",
))  # fmt: skip
"""Words that begin declarations which are never among statements."""
ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "|+|=", "|-|="])


def block(cx: Cursor, annotations: s.Annotations = ()) -> s.BlockStatement:
    at = cx.expect("{", "before a block")
    cx.names.enter()
    body = sequence(cx)
    cx.names.leave()
    return s.BlockStatement(at, cx.expect("}", "after a block"), annotations, body)


def sequence(cx: Cursor) -> tuple[s.Statement, ...]:
    """Statements up to the closing brace; after an error parsing goes on behind the statement."""
    found: list[s.Statement] = []
    depth = cx.names.depth
    kinds = cx.kinds
    while (kind := kinds[cx.position]) != "}" and kind != "EOF" and kind != "transition":
        start = cx.position
        try:
            found.append(parse(cx))
        except Abandoned:
            while cx.names.depth > depth:
                cx.names.leave()
            recover(cx, start)
    return tuple(found)


def recover(cx: Cursor, start: int) -> None:
    failed_at, cx.position = cx.position, start
    while True:
        cx.skip_to(";")
        if cx.is_at(";"):
            cx.position += 1
        if cx.position > failed_at or cx.kinds[cx.position] in ("}", "EOF"):
            break
    while cx.accept("else"):  # of an if that was wrong
        cx.skip_to(";")
        cx.accept(";")


def parse(cx: Cursor) -> s.Statement:
    position = cx.position
    kind = cx.kinds[position]
    if kind in NO_STATEMENTS or _is_block(cx, kind):
        lose_braces(cx, kind)
    handler = _STATEMENTS.get(kind)
    if handler is not None:
        return handler(cx)
    annotations: s.Annotations = ()
    if kind == "@":
        annotations = annotation_list.parse(cx)
        if cx.is_at("{"):
            return block(cx, annotations)
        if cx.is_at("for"):
            return loop(cx, annotations)
        if cx.is_at("const"):
            return variables.constant(cx, annotations)
    if types.is_start(cx) and _is_declaration(cx):
        return variables.with_semicolon(cx, annotations)
    if annotations:
        cx.fail("annotations are allowed before blocks, loops and declarations, not before this")
    _check_undeclared(cx)
    simple = assignment_or_call(cx)
    cx.expect(";", "after a statement")
    return simple


def _is_block(cx: Cursor, kind: str) -> bool:
    """``apply { }`` or ``state s { }``, where ``apply`` and ``state`` may also be variables."""
    if kind == "apply":
        return cx.peek() == "{"
    return kind == "state" and cx.peek() in NAME_KINDS and cx.peek(2) == "{"


def lose_braces(cx: Cursor, kind: str) -> NoReturn:
    """Behind a brace that is missing all declarations are in a block."""
    cx.lose(f"{kind!r} is not allowed here: is a closing brace missing above?")


def _is_declaration(cx: Cursor) -> bool:
    """A type here begins a declaration unless it is ``E.member``, ``T.apply(...)`` or ``T(...).apply(...)``."""
    behind = types.end(cx)
    return cx.kinds[behind] != "." and not (cx.kinds[behind] == "(" and _is_applied(cx, behind))


def _is_applied(cx: Cursor, position: int) -> bool:
    """Whether a dot follows the parenthesis that closes the one at ``position``."""
    depth = 0
    while cx.kinds[position] != "EOF":
        depth += (cx.kinds[position] == "(") - (cx.kinds[position] == ")")
        position += 1
        if depth == 0:
            return cx.kinds[position] == "."
    return False


def _check_undeclared(cx: Cursor) -> None:
    """``T x;`` with T unknown: say that rather than "expected '='"."""
    if cx.is_at("ID") and cx.peek() == "ID" and cx.peek(2) in (";", "="):
        cx.undeclared_type(cx.position)


def assignment_or_call(cx: Cursor) -> s.Assign | s.CallStatement:
    at = cx.position
    target = expressions.postfix(cx, expressions.primary(cx))
    op = cx.kinds[cx.position]
    if op in ASSIGNMENTS:
        cx.position += 1
        value = expressions.parse(cx)
        return s.Assign(at, cx.position - 1, target, op, value)
    if not isinstance(target, s.Call):
        cx.fail("expected '=' or a call")
    return s.CallStatement(at, cx.position - 1, target)


# --- control flow ----------------------------------------------------------------------------------------------------


def branch(cx: Cursor) -> s.Statement:
    """What follows ``if``, ``else`` or a loop's head: a statement, no declaration."""
    start = cx.position
    found = parse(cx)
    if isinstance(found, s.Variable | s.Instantiation | s.Constant):
        cx.report("a declaration is not allowed here alone: put it in braces", start)
    return found


def _if(cx: Cursor) -> s.If:
    at = cx.expect("if", "")
    cx.expect("(", "after 'if'")
    condition = expressions.parse(cx)
    cx.expect(")", "after the condition")
    then = branch(cx)
    otherwise = branch(cx) if cx.accept("else") else None
    return s.If(at, cx.position - 1, condition, then, otherwise)


def _switch(cx: Cursor) -> s.Switch:
    at = cx.expect("switch", "")
    cx.expect("(", "after 'switch'")
    value = expressions.parse(cx)
    cx.expect(")", "after the switch's expression")
    cx.expect("{", "before the switch's cases")
    cases: list[s.SwitchCase] = []
    while not cx.is_at("}") and not cx.is_at("EOF"):
        start = cx.position
        if cx.is_at("{"):
            cx.fail("expected a label")
        label = s.DontCare(start) if cx.accept("default") else expressions.parse(cx)
        cx.expect(":", "after a switch's label")
        annotations = annotation_list.parse(cx)  # such as @likely
        has_body = bool(annotations) or cx.is_at("{")
        cases.append(s.SwitchCase(start, label, block(cx, annotations) if has_body else None))
    return s.Switch(at, cx.expect("}", "after the switch's cases"), value, tuple(cases))


def _return(cx: Cursor) -> s.Return:
    at = cx.expect("return", "")
    value = None if cx.is_at(";") else expressions.parse(cx)
    return s.Return(at, cx.expect(";", "after return"), value)


def _simple(cx: Cursor) -> s.Statement:
    at = cx.position
    nodes: dict[str, type[s.Exit | s.Break | s.Continue]]
    nodes = {"exit": s.Exit, "break": s.Break, "continue": s.Continue}
    node = nodes[cx.kinds[at]]
    cx.position += 1
    return node(at, cx.expect(";", f"after {cx.texts[at]}"))


def _empty(cx: Cursor) -> s.Empty:
    at = cx.expect(";", "")
    return s.Empty(at, at)


def loop(cx: Cursor, annotations: s.Annotations = ()) -> s.For | s.ForIn:
    at = cx.expect("for", "")
    cx.expect("(", "after 'for'")
    cx.names.enter()
    found = _for_in(cx, at, annotations) or _for_three(cx, at, annotations)
    cx.names.leave()
    return found


def _for_in(cx: Cursor, at: int, annotations: s.Annotations) -> s.ForIn | None:
    start = cx.position
    annotation_list.parse(cx)
    if not types.is_start(cx) or not _is_declaration(cx):
        cx.position = start
        return None
    if cx.peek(types.end(cx) + 1 - cx.position) != "in":
        cx.position = start
        return None
    target = types.parse(cx)
    name, _ = cx.name("of a loop's variable")
    cx.expect("in", "")
    cx.declare(name)
    collection = expressions.simple_keyset(cx)
    cx.expect(")", "after a loop's head")
    body = branch(cx)
    return s.ForIn(at, cx.position - 1, annotations, target, name, collection, body)


def _for_three(cx: Cursor, at: int, annotations: s.Annotations) -> s.For:
    init = _for_list(cx, ";", may_declare=True)
    cx.expect(";", "in a loop's head")
    condition = expressions.parse(cx)
    cx.expect(";", "in a loop's head")
    update = _for_list(cx, ")", may_declare=False)
    cx.expect(")", "after a loop's head")
    body = branch(cx)
    return s.For(at, cx.position - 1, annotations, init, condition, update, body)


def _for_list(cx: Cursor, closing: str, *, may_declare: bool) -> tuple[s.Statement, ...]:
    found: list[s.Statement] = []
    while not cx.is_at(closing):
        at = cx.position
        annotations = annotation_list.parse(cx)
        if may_declare and types.is_start(cx) and _is_declaration(cx):
            found.append(variables.variable(cx, at, annotations, types.parse(cx)))
        else:
            found.append(assignment_or_call(cx))
        if not cx.accept(","):
            break
    return tuple(found)


_STATEMENTS: dict[str, Callable[[Cursor], s.Statement]] = {
    "{": block,
    "if": _if,
    "switch": _switch,
    "return": _return,
    "exit": _simple,
    "break": _simple,
    "continue": _simple,
    ";": _empty,
    "for": loop,
    "const": lambda cx: variables.constant(cx, ()),
}
