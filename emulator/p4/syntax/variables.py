"""Variables, constants and instances: declarations that may also be among statements."""

from __future__ import annotations

from emulator.p4.syntax import expressions, types
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor


def with_semicolon(cx: Cursor, annotations: s.Annotations) -> s.Variable | s.Instantiation:
    at = cx.position
    target = types.parse(cx)
    if cx.is_at("("):
        return instantiation(cx, at, annotations, target)
    found = variable(cx, at, annotations, target)
    end = cx.expect(";", "after a variable's declaration")
    return s.Variable(at, end, annotations, found.name, found.name_at, found.type, found.value)


def variable(cx: Cursor, at: int, annotations: s.Annotations, target: s.TypeNode) -> s.Variable:
    name, name_at = cx.name("of a variable")
    value = expressions.parse(cx) if cx.accept("=") else None
    cx.declare(name)
    return s.Variable(at, cx.position - 1, annotations, name, name_at, target, value)


def instantiation(cx: Cursor, at: int, annotations: s.Annotations, target: s.TypeNode) -> s.Instantiation:
    arguments = expressions.argument_list(cx)
    name, name_at = cx.name("of an instance")
    cx.declare(name)
    initializer = cx.dispatch.object_initializer(cx) if cx.accept("=") else None
    end = cx.expect(";", "after an instantiation")
    return s.Instantiation(at, end, annotations, name, name_at, target, arguments, initializer)


def constant(cx: Cursor, annotations: s.Annotations) -> s.Constant:
    at = cx.expect("const", "before a constant")
    target = types.parse(cx)
    name, name_at = cx.name("of a constant")
    cx.expect("=", "after a constant's name")
    value = expressions.parse(cx)
    cx.declare(name)
    return s.Constant(at, cx.expect(";", "after a constant"), annotations, name, name_at, target, value)
