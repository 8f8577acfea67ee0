"""Types as the program writes them: ``bit<W>``, names, stacks, tuples, type arguments (section 7.2)."""

from __future__ import annotations

from emulator.p4.check import constants
from emulator.p4.check import type_system as t
from emulator.p4.check.constants import MAX_VARBIT, MAX_WIDTH
from emulator.p4.check.context import Context
from emulator.p4.check.reporting import fail
from emulator.p4.errors import Kind, counted
from emulator.p4.syntax import tree as s

MAX_STACK = 4096
"""Elements of a stack: more would not fit any packet, and each has separate storage."""
_SIMPLE = {
    "bool": t.BOOL,
    "error": t.ERROR,
    "string": t.STRING,
    "match_kind": t.MATCH_KIND,
    "int": t.INT,
    "void": t.VOID,
    "_": t.UNKNOWN,
}


def type_of(cx: Context, node: s.TypeNode) -> t.Type:
    """The type that ``node`` denotes; ``_`` is the caller's to handle (`is_open`)."""
    if isinstance(node, s.BitType):
        return _bit_type(cx, node)
    if isinstance(node, s.SimpleType):
        return _SIMPLE[node.name]
    if isinstance(node, s.NamedType):
        return _named(cx, node)
    if isinstance(node, s.StackTypeNode):
        return _stack_type(cx, node)
    if isinstance(node, s.TupleTypeNode):
        return t.tuple_of(tuple(_tuple_element(cx, a) for a in node.arguments))
    return t.list_of(_element_type(cx, node.argument))


def _element_type(cx: Context, node: s.TypeNode) -> t.Type:
    found = type_of(cx, node)
    if found is t.VOID or isinstance(found, t.ExternType | t.BlockType):
        fail(cx, node, f"{found} cannot be an element's type")
    return found


def _tuple_element(cx: Context, node: s.TypeNode) -> t.Type:
    found = _element_type(cx, node)
    if found in (t.INT, t.STRING, t.MATCH_KIND) or isinstance(found, t.ListType):
        fail(cx, node, f"a tuple's element cannot have type {found}")
    return found


def _named(cx: Context, node: s.NamedType) -> t.Type:
    found = cx.find(node.name, node.is_absolute)
    if found is None and node.name == cx.place.unfinished_type:
        fail(cx, node, f"type {node.name!r} cannot be part of itself", Kind.NAME)
    if found is None:
        fail(cx, node, f"type {node.name!r} is not declared", Kind.NAME)
    if isinstance(found, t.Generic):
        return _specialised(cx, node, found)
    if not isinstance(found, t.Type):
        fail(cx, node, f"{node.name!r} is not a type")
    if node.arguments is not None:
        fail(cx, node, f"{node.name} takes no type arguments")
    return found


def type_arguments(cx: Context, node: s.NamedType, generic: t.Generic) -> tuple[t.Type | None, ...]:
    """What is written in the brackets behind a generic type's name; None for ``_``, to be inferred."""
    if node.arguments is None:
        return ()
    if len(node.arguments) != len(generic.parameters):
        expected = counted(len(generic.parameters), "type argument")
        fail(cx, node, f"{node.name} takes {expected}, {len(node.arguments)} given")
    return tuple(None if is_open(a) else type_of(cx, a) for a in node.arguments)


def _specialised(cx: Context, node: s.NamedType, generic: t.Generic) -> t.Type:
    if node.arguments is None:
        fail(cx, node, f"{node.name} needs {counted(len(generic.parameters), 'type argument')}")
    for argument in filter(is_open, node.arguments):
        if not cx.place.allows_any_type:
            fail(cx, argument, "'_' cannot be inferred here")
    arguments = type_arguments(cx, node, generic)
    found = generic.specialise(tuple(t.TypeVariable("_") if a is None else a for a in arguments))
    if isinstance(found, t.StructLike):
        for field in found.fields.values():
            if not is_legal_field(found.kind, field.type):
                fail(cx, node, f"a field of a {found.kind} cannot have type {field.type} ({field.name!r})")
    return found


def _bit_type(cx: Context, node: s.BitType) -> t.Type:
    if isinstance(node.width, s.IntLiteral):
        width = node.width.value
    else:
        width = constants.integer(cx, node.width, "a width")
    least = 1 if node.kind == "int" else 0
    if width < least:
        fail(cx, node.width, f"{node.kind}<{width}>: the width must be at least {least}", Kind.CONSTANT)
    most = MAX_VARBIT if node.kind == "varbit" else MAX_WIDTH
    if width > most:
        fail(cx, node.width, f"{node.kind}<{width}> is wider than {most} bits", Kind.CONSTANT)
    if node.kind == "varbit":
        return t.varbit(width)
    return t.bits(width, node.kind == "int")


def _stack_type(cx: Context, node: s.StackTypeNode) -> t.Type:
    element = type_of(cx, node.element)
    if not isinstance(element, t.StructLike) or element.kind == "struct":
        fail(cx, node.element, f"a stack's elements are headers, not {element}")
    size = constants.integer(cx, node.size, "a stack's size")
    if size < 1:
        fail(cx, node.size, "a stack's size must be at least 1", Kind.CONSTANT)
    if size > MAX_STACK:
        fail(cx, node.size, f"a stack's size must be at most {MAX_STACK}", Kind.CONSTANT)
    return t.stack(element, size)


def storable(cx: Context, node: s.TypeNode, what: str) -> t.Type:
    """A type that a variable may have."""
    found = type_of(cx, node)
    if found is t.VOID or found is t.MATCH_KIND or isinstance(found, t.ExternType | t.BlockType):
        fail(cx, node, f"{what} cannot have type {found}")
    if found in (t.STRING, t.INT) or isinstance(found, t.ListType):
        fail(cx, node, f"{what} cannot have type {found}: only compile-time values can")
    return found


def is_open(argument: s.TypeNode) -> bool:
    """Whether a type argument is ``_``."""
    return isinstance(argument, s.SimpleType) and argument.name == "_"


def is_legal_field(kind: str, type_: t.Type) -> bool:
    """Section 7.2.8's table: legal field types of structs, headers and header unions."""
    base = t.unwrapped(type_)
    if isinstance(base, t.TypeVariable) or base is t.UNKNOWN:
        return True
    if kind == "header_union":
        return isinstance(base, t.StructLike) and base.kind == "header"
    if kind == "header":
        return isinstance(base, t.VarbitType) or _is_wire_type(base)
    if isinstance(base, t.BitsType | t.VarbitType | t.EnumType | t.StructLike | t.StackType | t.TupleType):
        return True
    return base in (t.BOOL, t.ERROR)


def _is_wire_type(type_: t.Type) -> bool:
    """Whether it has a fixed width in a header: numbers, bools, serializable enums, and structs of them."""
    base = t.unwrapped(type_)
    if isinstance(base, t.StructLike):
        return base.kind == "struct" and all(_is_wire_type(f.type) for f in base.fields.values())
    return isinstance(base, t.BitsType | t.TypeVariable) or base in (t.BOOL, t.UNKNOWN)
