"""Types as the checker sees them.

Structural types (``bit<W>``, tuples, stacks) are made by cached functions, so equal types are one object; nominal ones
(structs, headers, enums, externs, blocks) are one object for each declaration and its type arguments.
Therefore types are compared with ``is``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class Type:
    """Base of all types; ``str()`` is how it is written in P4."""


@dataclass(eq=False, slots=True)
class SimpleType(Type):
    name: str

    def __str__(self) -> str:
        return self.name


BOOL = SimpleType("bool")
INT = SimpleType("int")
"""Arbitrary precision; only compile-time values have it."""
STRING = SimpleType("string")
ERROR = SimpleType("error")
MATCH_KIND = SimpleType("match_kind")
VOID = SimpleType("void")
INVALID_HEADER = SimpleType("{#}")
"""Type of the literal, until it meets a header type."""
DEFAULTS = SimpleType("...")
UNKNOWN = SimpleType("unknown")
"""Type of an expression with an error that was reported already; accepted everywhere, silently."""
PACKET = SimpleType("packet")


@dataclass(eq=False, slots=True)
class BitsType(Type):
    width: int
    is_signed: bool

    def __str__(self) -> str:
        return f"{'int' if self.is_signed else 'bit'}<{self.width}>"


_BITS: dict[tuple[int, bool], BitsType] = {}


def bits(width: int, is_signed: bool = False) -> BitsType:
    """The one object for each width and sign (`functools.cache` distinguishes ``bits(8)`` and ``bits(8, False)``)."""
    found = _BITS.get((width, is_signed))
    if found is None:
        found = _BITS[width, is_signed] = BitsType(width, is_signed)
    return found


@dataclass(eq=False, slots=True)
class VarbitType(Type):
    width: int

    def __str__(self) -> str:
        return f"varbit<{self.width}>"


@functools.cache
def varbit(width: int) -> VarbitType:
    return VarbitType(width)


@dataclass(eq=False, slots=True)
class TypeVariable(Type):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class Field:
    name: str
    type: Type
    annotations: Any = ()
    at: int = 0


@dataclass(eq=False, slots=True)
class StructLike(Type):
    """A struct, header or header union."""

    kind: str
    name: str
    fields: dict[str, Field]
    arguments: tuple[Type, ...] = ()
    declaration: Any = None
    control_name: str = ""

    def __str__(self) -> str:
        if not self.name:
            return "{" + ", ".join(f"{f.name} = {f.type}" for f in self.fields.values()) + "}"
        return self.name + _written(self.arguments)


@functools.cache
def unnamed_struct(items: tuple[tuple[str, Type], ...]) -> StructLike:
    """What ``{f = a}`` is when nothing else gives it a type."""
    return StructLike("struct", "", {name: Field(name, type_) for name, type_ in items})


@dataclass(eq=False, slots=True)
class StackType(Type):
    element: Type
    size: int

    def __str__(self) -> str:
        return f"{self.element}[{self.size}]"


@functools.cache
def stack(element: Type, size: int) -> StackType:
    return StackType(element, size)


@dataclass(eq=False, slots=True)
class TupleType(Type):
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return "tuple" + (_written(self.items) or "<>")


@functools.cache
def tuple_of(items: tuple[Type, ...]) -> TupleType:
    return TupleType(items)


@dataclass(eq=False, slots=True)
class ListLiteralType(Type):
    """Type of ``{a, b}`` until it meets a tuple, struct, header or list type."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


@functools.cache
def list_literal(items: tuple[Type, ...]) -> ListLiteralType:
    return ListLiteralType(items)


@dataclass(eq=False, slots=True)
class StructLiteralType(Type):
    """Type of ``{f = a}`` until it meets a struct or header type."""

    items: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{n} = {t}" for n, t in self.items) + "}"


@dataclass(eq=False, slots=True)
class ListType(Type):
    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


@functools.cache
def list_of(element: Type) -> ListType:
    return ListType(element)


@dataclass(eq=False, slots=True)
class SetType(Type):
    """Type of masks, ranges and value sets."""

    element: Type

    def __str__(self) -> str:
        return f"set<{self.element}>"


@functools.cache
def set_of(element: Type) -> SetType:
    return SetType(element)


@dataclass(eq=False, slots=True)
class EnumType(Type):
    name: str
    members: dict[str, int]
    """Values of a serializable enum, else numbers in declaration order."""
    base: BitsType | None = None
    declaration: Any = None

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class NewType(Type):
    name: str
    base: Type
    declaration: Any = None

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class Parameter:
    name: str
    direction: str
    type: Type
    default: Any = None
    is_optional: bool = False
    annotations: Any = ()
    at: int = 0


@dataclass(eq=False, slots=True)
class Signature:
    """A function, method, action, constructor, or a block's ``apply``."""

    name: str
    type_parameters: tuple[TypeVariable, ...]
    parameters: tuple[Parameter, ...]
    result: Type
    declaration: Any = None
    is_abstract: bool = False


@dataclass(eq=False, slots=True)
class ExternType(Type):
    name: str
    arguments: tuple[Type, ...]
    methods: dict[str, list[Signature]]
    constructors: list[Signature]
    declaration: Any = None

    def __str__(self) -> str:
        return self.name + _written(self.arguments)


@dataclass(eq=False, slots=True)
class BlockType(Type):
    """A parser, control or package: its type, or one that is declared with a body."""

    kind: str
    name: str
    apply: Signature
    constructor: Signature | None
    """None where it cannot be instantiated (a type without a body)."""
    arguments: tuple[Type, ...] = ()
    declaration: Any = None

    def __str__(self) -> str:
        return self.name + _written(self.arguments)


@dataclass(eq=False, slots=True)
class ActionType(Type):
    name: str

    def __str__(self) -> str:
        return f"action {self.name}"


@dataclass(eq=False, slots=True)
class TableType(Type):
    name: str

    def __str__(self) -> str:
        return f"table {self.name}"


@dataclass(eq=False, slots=True)
class ApplyResultType(Type):
    """Type of ``t.apply()``: has hit, miss and action_run."""

    table: Any

    def __str__(self) -> str:
        return f"apply_result({self.table.name})"


@dataclass(eq=False, slots=True)
class ActionRunType(Type):
    """Type of ``t.apply().action_run``."""

    table: Any

    def __str__(self) -> str:
        return f"action_list({self.table.name})"


@dataclass(eq=False, slots=True)
class Generic:
    """A type declaration with type parameters; ``made`` holds its specialisations, the first for the parameters."""

    name: str
    parameters: tuple[TypeVariable, ...]
    made: dict[tuple[Type, ...], Type] = field(default_factory=dict)
    symbol: Any = None
    """Symbol of a parser or control with a body."""

    def specialise(self, arguments: tuple[Type, ...]) -> Type:
        found = self.made.get(arguments)
        if found is None:
            found = _specialised(self, arguments)
        return found


def _specialised(generic: Generic, arguments: tuple[Type, ...]) -> Type:
    """The declaration's type with the parameters replaced; entered before it is filled, as it may name itself."""
    pattern = generic.made[generic.parameters]
    known = dict(zip(generic.parameters, arguments, strict=True))
    if isinstance(pattern, StructLike):
        struct = StructLike(pattern.kind, pattern.name, {}, arguments, generic, pattern.control_name)
        generic.made[arguments] = struct
        for f in pattern.fields.values():
            struct.fields[f.name] = Field(f.name, substitute(f.type, known), f.annotations, f.at)
        return struct
    if isinstance(pattern, ExternType):
        extern = ExternType(pattern.name, arguments, {}, [], generic)
        generic.made[arguments] = extern
        for name, overloads in pattern.methods.items():
            extern.methods[name] = [substitute_signature(o, known) for o in overloads]
        extern.constructors += [substitute_signature(c, known) for c in pattern.constructors]
        return extern
    assert isinstance(pattern, BlockType)
    apply = substitute_signature(pattern.apply, known)
    constructor = pattern.constructor
    if constructor is not None:
        constructor = apply if constructor is pattern.apply else substitute_signature(constructor, known)
    block = BlockType(pattern.kind, pattern.name, apply, constructor, arguments, generic)
    generic.made[arguments] = block
    return block


def _written(arguments: tuple[Type, ...]) -> str:
    return "<" + ", ".join(map(str, arguments)) + ">" if arguments else ""


@functools.cache
def has_variables(type_: Type) -> bool:
    if isinstance(type_, TypeVariable):
        return True
    if isinstance(type_, StackType | SetType | ListType):
        return has_variables(type_.element)
    if isinstance(type_, TupleType | ListLiteralType):
        return any(map(has_variables, type_.items))
    if isinstance(type_, StructLike | ExternType | BlockType):
        return any(map(has_variables, type_.arguments))
    return False


def substitute(type_: Type, known: Mapping[TypeVariable, Type]) -> Type:
    """The type with type variables replaced by what ``known`` says."""
    if not known:
        return type_
    if isinstance(type_, TypeVariable):
        return known.get(type_, type_)
    if not has_variables(type_):
        return type_
    if isinstance(type_, StackType):
        return stack(substitute(type_.element, known), type_.size)
    if isinstance(type_, SetType):
        return set_of(substitute(type_.element, known))
    if isinstance(type_, ListType):
        return list_of(substitute(type_.element, known))
    if isinstance(type_, TupleType):
        return tuple_of(tuple(substitute(t, known) for t in type_.items))
    if isinstance(type_, ListLiteralType):
        return list_literal(tuple(substitute(t, known) for t in type_.items))
    if isinstance(type_, StructLike | ExternType | BlockType):
        generic = type_.declaration
        return generic.specialise(tuple(substitute(t, known) for t in type_.arguments))  # type: ignore[no-any-return]
    return type_


def substitute_signature(signature: Signature, known: Mapping[TypeVariable, Type]) -> Signature:
    parameters = tuple(
        Parameter(p.name, p.direction, substitute(p.type, known), p.default, p.is_optional, p.annotations, p.at)
        for p in signature.parameters
    )
    return Signature(
        signature.name, signature.type_parameters, parameters, substitute(signature.result, known),
        signature.declaration, signature.is_abstract,
    )  # fmt: skip


def mentions(type_: Type, variable: TypeVariable) -> bool:
    """Whether the type is made of that type variable."""
    return has_variables(type_) and substitute(type_, {variable: VOID}) is not type_


def takes_the_same(one: Signature, other: Signature) -> bool:
    """As many parameters with the same names: a call would be ambiguous (section 7.2.9)."""
    return [p.name for p in one.parameters] == [p.name for p in other.parameters]


def unwrapped(type_: Type) -> Type:
    """Behind ``type`` names and serializable enums: what the value is made of."""
    while True:
        base = type_.base if isinstance(type_, NewType | EnumType) else None
        if base is None:
            return type_
        type_ = base


def is_scalar(type_: Type) -> bool:
    """One number at run time; ``bit<0>`` is none, it has no bits."""
    type_ = unwrapped(type_)
    if isinstance(type_, BitsType):
        return type_.width > 0
    return isinstance(type_, EnumType) or type_ is BOOL or type_ is ERROR


def is_empty(type_: Type) -> bool:
    """``bit<0>`` and ``varbit<0>``: types of one value, which takes no storage (section 8.24)."""
    type_ = unwrapped(type_)
    return isinstance(type_, BitsType | VarbitType) and type_.width == 0


def width_bits(type_: Type) -> int | None:
    """Bits on the wire of a type of fixed width; None for all others."""
    least, most = size_bits(type_, largest=False), size_bits(type_, largest=True)
    return most if least == most and not _has_union(type_) else None


@functools.cache
def size_bits(type_: Type, *, largest: bool) -> int | None:
    """What minSizeInBits() or maxSizeInBits() gives (section 9); None for types without a size."""
    type_ = unwrapped(type_)
    if isinstance(type_, BitsType):
        return type_.width
    if isinstance(type_, VarbitType):
        return type_.width if largest else 0
    if type_ is BOOL:
        return 1
    parts: list[int | None]
    if isinstance(type_, StructLike):
        parts = [size_bits(f.type, largest=largest) for f in type_.fields.values()]
    elif isinstance(type_, TupleType):
        parts = [size_bits(item, largest=largest) for item in type_.items]
    elif isinstance(type_, StackType):
        parts = [size_bits(type_.element, largest=largest)] * type_.size
    else:
        return None
    sizes = [part for part in parts if part is not None]
    if len(sizes) != len(parts):
        return None
    is_union = isinstance(type_, StructLike) and type_.kind == "header_union"
    return max(sizes, default=0) if is_union else sum(sizes)


@functools.cache
def _has_union(type_: Type) -> bool:
    if isinstance(type_, StackType):
        return _has_union(type_.element)
    if isinstance(type_, TupleType):
        return any(map(_has_union, type_.items))
    if isinstance(type_, StructLike):
        return type_.kind == "header_union" or any(_has_union(f.type) for f in type_.fields.values())
    return False
