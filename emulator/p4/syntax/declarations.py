"""Declarations of the top level: types, externs, and the dispatch to all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from emulator.p4.errors import Abandoned
from emulator.p4.syntax import annotation_list, blocks, expressions, functions, types, variables
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import GENERIC_TYPE, TYPE, Cursor


def parse(cx: Cursor) -> s.Decl:  # noqa: RET503
    at = cx.position
    annotations = annotation_list.parse(cx)
    handler = _DECLARATIONS.get(cx.kinds[cx.position])
    if handler is not None and not _is_error_type(cx):
        cx.is_lost = cx.is_lost and cx.kinds[cx.position] in ("action", "const")
        return handler(cx, at, annotations)
    if types.is_start(cx) or _is_generic_function(cx):
        return functions.or_instantiation(cx, at, annotations)
    if cx.texts[cx.position] == "header_type" and cx.peek() == "ID" and cx.peek(2) == "{":
        _give_up_p4_14(cx)
    if cx.is_at("ID") and cx.peek() in ("ID", "<", "("):
        cx.undeclared_type(cx.position)
    cx.lose("expected a declaration")


def recover(cx: Cursor, start: int) -> None:
    """After an error in a top-level declaration that began at ``start``: go behind its end."""
    while cx.names.depth > 1:
        cx.names.leave()
    failed_at, cx.position = cx.position, start
    depth = 0
    while (kind := cx.kinds[cx.position]) != "EOF":
        cx.position += 1
        if kind == "{":
            depth += 1
        elif kind == "}":
            depth -= 1
        if depth <= 0 and kind in (";", "}") and cx.position > failed_at:
            return


def _give_up_p4_14(cx: Cursor) -> NoReturn:
    """One error for the whole program, in which nothing would be right."""
    cx.report("this is P4_14; p4c rewrites it in P4_16: p4test --std p4-14 --pp NEW.p4 OLD.p4", cx.position)
    cx.position = len(cx.kinds) - 1
    raise Abandoned


def _is_error_type(cx: Cursor) -> bool:
    """``error f(...)`` is a function, ``error { ... }`` a declaration; ``type`` and the like may be names."""
    kind, after = cx.kinds[cx.position], cx.peek()
    return kind in ("error", "match_kind") and after != "{"


def _is_generic_function(cx: Cursor) -> bool:
    """``T f<T>(...)``: the return type is declared only behind the function's name."""
    return cx.is_at("ID") and cx.peek() == "ID" and cx.peek(2) == "<"


# --- types -----------------------------------------------------------------------------------------------------------


def _struct(cx: Cursor, at: int, annotations: s.Annotations) -> s.Struct:
    kind = cx.kinds[cx.position]
    cx.position += 1
    name, name_at = cx.name(f"of a {kind}")
    type_parameters = types.parameter_list(cx)
    cx.declare(name, GENERIC_TYPE if type_parameters else TYPE)
    cx.names.enter()
    for parameter in type_parameters:
        cx.declare(parameter, TYPE)
    cx.expect("{", f"before the {kind}'s fields")
    fields: list[s.StructField] = []
    while not cx.is_at("}"):
        start = cx.position
        field_annotations = annotation_list.parse(cx)
        target = types.parse(cx)
        field_name, field_at = cx.name("of a field")
        end = cx.expect(";", "after a field")
        fields.append(s.StructField(start, end, field_annotations, field_name, field_at, target))
    cx.names.leave()
    end = cx.expect("}", f"after the {kind}'s fields")
    return s.Struct(at, end, annotations, name, name_at, kind, type_parameters, tuple(fields))


def _enum(cx: Cursor, at: int, annotations: s.Annotations) -> s.Enum:
    cx.position += 1
    is_plain = cx.peek() == "{"
    representation = None if is_plain else types.parse(cx)
    name, name_at = cx.name("of an enum")
    cx.declare(name, TYPE)
    cx.expect("{", "before the enum's members")
    members: list[tuple[str, int, s.Expr | None]] = []
    while not members or not cx.is_at("}"):
        member, member_at = cx.name("of an enum's member")
        value = None
        if representation is not None:
            cx.expect("=", "after the member's name: an enum with a representation gives values")
            value = expressions.parse(cx)
        members.append((member, member_at, value))
        if not cx.accept(","):
            break
    end = cx.expect("}", "after the enum's members")
    return s.Enum(at, end, annotations, name, name_at, representation, tuple(members))


def _members(cx: Cursor, at: int, annotations: s.Annotations) -> s.Members:
    name_at = cx.position
    cx.position += 1
    cx.expect("{", f"after {cx.texts[name_at]}")
    members: list[tuple[str, int]] = []
    while not members or not cx.is_at("}"):
        members.append(cx.name("of a member"))
        if not cx.accept(","):
            break
    end = cx.expect("}", "after the members")
    return s.Members(at, end, annotations, cx.texts[name_at], name_at, tuple(members))


def _typedef(cx: Cursor, at: int, annotations: s.Annotations) -> s.Typedef:
    is_new = cx.kinds[cx.position] == "type"
    cx.position += 1
    inner_at = cx.position
    inner_annotations = annotation_list.parse(cx)
    target: s.TypeNode | s.Struct | s.Enum
    if cx.kinds[cx.position] in ("struct", "header", "header_union"):
        target = _struct(cx, inner_at, inner_annotations)
    elif cx.is_at("enum"):
        target = _enum(cx, inner_at, inner_annotations)
    else:
        target = types.parse(cx)
    name, name_at = cx.name("of the new type")
    cx.declare(name, TYPE)
    end = cx.expect(";", "after a type definition")
    return s.Typedef(at, end, annotations, name, name_at, is_new, target)


def _constant(cx: Cursor, at: int, annotations: s.Annotations) -> s.Constant:
    return variables.constant(cx, annotations)


# --- externs ---------------------------------------------------------------------------------------------------------


def _extern(cx: Cursor, at: int, annotations: s.Annotations) -> s.ExternObject | s.ExternFunction:
    cx.position += 1
    if cx.kinds[cx.position] in ("ID",) and cx.peek() in ("{", "<") and not _is_function_ahead(cx):
        return _extern_object(cx, at, annotations)
    head = functions.prototype(cx, at, annotations, declare=True)
    end = cx.expect(";", "after an extern function")
    return s.ExternFunction(at, end, annotations, head.name, head.name_at, head)


def _is_function_ahead(cx: Cursor) -> bool:
    """``extern X<T> f(...)`` (X a type) against ``extern X<T> { ... }``."""
    position = cx.position
    while cx.kinds[position] not in ("{", "(", ";", "EOF"):
        position += 1
    return cx.kinds[position] != "{"


def _extern_object(cx: Cursor, at: int, annotations: s.Annotations) -> s.ExternObject:
    name, name_at = cx.name("of an extern")
    type_parameters = types.parameter_list(cx)
    cx.declare(name, GENERIC_TYPE if type_parameters else TYPE)
    cx.names.enter()
    for parameter in type_parameters:
        cx.declare(parameter, TYPE)
    cx.expect("{", "before an extern's methods")
    methods: list[s.Prototype] = []
    while not cx.is_at("}"):
        methods.append(_method(cx, name))
    cx.names.leave()
    end = cx.expect("}", "after an extern's methods")
    return s.ExternObject(at, end, annotations, name, name_at, type_parameters, tuple(methods))


def _method(cx: Cursor, extern_name: str) -> s.Prototype:
    at = cx.position
    annotations = annotation_list.parse(cx)
    is_abstract = cx.accept("abstract")
    if cx.texts[cx.position] == extern_name and cx.peek() == "(":
        name_at = cx.position
        cx.position += 1
        parameters = functions.parameter_list(cx)
        end = cx.expect(";", "after a constructor")
        return s.Prototype(at, end, annotations, extern_name, name_at, None, (), parameters, False)
    head = functions.prototype(cx, at, annotations, declare=False, is_abstract=is_abstract)
    cx.expect(";", "after a method")
    return head


_DECLARATIONS: dict[str, Callable[[Cursor, int, s.Annotations], s.Decl]] = {
    "const": _constant,
    "extern": _extern,
    "action": functions.action,
    "parser": blocks.parse,
    "control": blocks.parse,
    "package": blocks.parse,
    "struct": _struct,
    "header": _struct,
    "header_union": _struct,
    "enum": _enum,
    "typedef": _typedef,
    "type": _typedef,
    "error": _members,
    "match_kind": _members,
    "void": functions.or_instantiation,
}
