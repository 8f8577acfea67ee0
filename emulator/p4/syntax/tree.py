"""The syntax tree: what was written, nothing resolved.

Every node's ``at`` is the number of its first token; statements and declarations also keep their last one (``end``).
`children` walks any node, so the extent of an expression is computed only when a diagnostic needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Node:
    at: int


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    name: str
    tokens: tuple[str, ...] | None
    """The raw body; None without brackets."""
    is_structured: bool
    """``@name[...]`` rather than ``@name(...)``."""


Annotations: TypeAlias = tuple[Annotation, ...]

# --- Types ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SimpleType(Node):
    """``bool``, ``error``, ``string``, ``match_kind``, ``int``, ``void`` and the ``_`` of type arguments."""

    name: str


@dataclass(frozen=True, slots=True)
class BitType(Node):
    kind: str
    """``bit``, ``int`` or ``varbit``."""
    width: Expr


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    name: str
    is_absolute: bool
    arguments: tuple[TypeNode, ...] | None


@dataclass(frozen=True, slots=True)
class StackTypeNode(Node):
    element: TypeNode
    size: Expr


@dataclass(frozen=True, slots=True)
class TupleTypeNode(Node):
    arguments: tuple[TypeNode, ...]


@dataclass(frozen=True, slots=True)
class ListTypeNode(Node):
    argument: TypeNode


TypeNode: TypeAlias = SimpleType | BitType | NamedType | StackTypeNode | TupleTypeNode | ListTypeNode

# --- Expressions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntLiteral(Node):
    value: int
    width: int | None
    is_signed: bool


@dataclass(frozen=True, slots=True)
class BoolLiteral(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str
    is_absolute: bool = False


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """A type where an expression may be: ``E.member``, ``error.NoError``, a constructor."""

    type: TypeNode


@dataclass(frozen=True, slots=True)
class This(Node):
    pass


@dataclass(frozen=True, slots=True)
class Dots(Node):
    """``...``: default values."""


@dataclass(frozen=True, slots=True)
class InvalidHeader(Node):
    """``{#}``."""


@dataclass(frozen=True, slots=True)
class Member(Node):
    base: Expr
    name: str
    name_at: int


@dataclass(frozen=True, slots=True)
class Index(Node):
    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class SliceOf(Node):
    """``base[high:low]``, or ``base[low +: width]`` (then ``high`` is the low bit and ``low`` the width)."""

    base: Expr
    high: Expr
    low: Expr
    is_plus: bool


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class StructOf(Node):
    fields: tuple[tuple[str, Expr, int], ...]
    """(name, value, token of the name)."""
    has_defaults: bool


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Mux(Node):
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Cast(Node):
    type: TypeNode
    operand: Expr


@dataclass(frozen=True, slots=True)
class Argument(Node):
    name: str | None
    value: Expr | None
    """None for ``_``."""


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call, or a constructor's when ``callee`` is a `TypeName`."""

    callee: Expr
    type_arguments: tuple[TypeNode, ...] | None
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class MaskOf(Node):
    value: Expr
    mask: Expr


@dataclass(frozen=True, slots=True)
class RangeOf(Node):
    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class DontCare(Node):
    """``_`` or ``default`` in a keyset."""


@dataclass(frozen=True, slots=True)
class TupleKeyset(Node):
    items: tuple[Expr, ...]


Expr: TypeAlias = (
    IntLiteral
    | BoolLiteral
    | StringLiteral
    | Name
    | TypeName
    | This
    | Dots
    | InvalidHeader
    | Member
    | Index
    | SliceOf
    | ListOf
    | StructOf
    | Unary
    | Binary
    | Mux
    | Cast
    | Call
    | MaskOf
    | RangeOf
    | DontCare
    | TupleKeyset
)

# --- Statements -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign(Node):
    end: int
    target: Expr
    op: str
    """``=`` or a compound one such as ``|+|=``."""
    value: Expr


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    end: int
    call: Call


@dataclass(frozen=True, slots=True)
class If(Node):
    end: int
    condition: Expr
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True, slots=True)
class BlockStatement(Node):
    end: int
    annotations: Annotations
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class SwitchCase(Node):
    label: Expr
    """`DontCare` for default."""
    body: BlockStatement | None
    """None falls through."""


@dataclass(frozen=True, slots=True)
class Switch(Node):
    end: int
    value: Expr
    cases: tuple[SwitchCase, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    end: int
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Exit(Node):
    end: int


@dataclass(frozen=True, slots=True)
class Break(Node):
    end: int


@dataclass(frozen=True, slots=True)
class Continue(Node):
    end: int


@dataclass(frozen=True, slots=True)
class Empty(Node):
    end: int


@dataclass(frozen=True, slots=True)
class For(Node):
    end: int
    annotations: Annotations
    init: tuple[Statement, ...]
    condition: Expr
    update: tuple[Statement, ...]
    body: Statement


@dataclass(frozen=True, slots=True)
class ForIn(Node):
    end: int
    annotations: Annotations
    type: TypeNode
    name: str
    collection: Expr
    """`RangeOf` for ``low .. high``."""
    body: Statement


# --- Declarations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    end: int
    annotations: Annotations
    name: str
    name_at: int


@dataclass(frozen=True, slots=True)
class Variable(Declaration):
    type: TypeNode
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Constant(Declaration):
    type: TypeNode
    value: Expr


@dataclass(frozen=True, slots=True)
class Instantiation(Declaration):
    type: TypeNode
    arguments: tuple[Argument, ...]
    initializer: tuple[Decl, ...] | None


@dataclass(frozen=True, slots=True)
class Parameter(Declaration):
    direction: str
    """``in``, ``out``, ``inout`` or empty."""
    type: TypeNode
    default: Expr | None


@dataclass(frozen=True, slots=True)
class ValueSet(Declaration):
    type: TypeNode
    size: Expr


@dataclass(frozen=True, slots=True)
class State(Declaration):
    body: tuple[Statement, ...]
    transition: Name | Select | None


@dataclass(frozen=True, slots=True)
class SelectCase(Node):
    keyset: Expr
    state: Name


@dataclass(frozen=True, slots=True)
class Select(Node):
    end: int
    keys: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]


@dataclass(frozen=True, slots=True)
class BlockType(Declaration):
    """A parser, control or package type, or the head of a parser's or control's declaration."""

    kind: str
    """``parser``, ``control`` or ``package``."""
    type_parameters: tuple[str, ...]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Parser(Declaration):
    head: BlockType
    constructor_parameters: tuple[Parameter, ...]
    locals: tuple[Decl, ...]
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Control(Declaration):
    head: BlockType
    constructor_parameters: tuple[Parameter, ...]
    locals: tuple[Decl, ...]
    body: BlockStatement


@dataclass(frozen=True, slots=True)
class Action(Declaration):
    parameters: tuple[Parameter, ...]
    body: BlockStatement


@dataclass(frozen=True, slots=True)
class KeyElement(Node):
    value: Expr
    match_kind: Name
    annotations: Annotations


@dataclass(frozen=True, slots=True)
class ActionRef(Node):
    annotations: Annotations
    name: Name
    arguments: tuple[Argument, ...] | None


@dataclass(frozen=True, slots=True)
class Entry(Node):
    end: int
    annotations: Annotations
    is_const: bool
    priority: Expr | None
    keyset: Expr
    action: ActionRef


@dataclass(frozen=True, slots=True)
class Property(Declaration):
    is_const: bool
    value: Expr | tuple[KeyElement, ...] | tuple[ActionRef, ...] | tuple[Entry, ...]
    """Value of the property: ``key``, ``actions`` and ``entries`` have the tuples, all others an expression."""


@dataclass(frozen=True, slots=True)
class Table(Declaration):
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class Prototype(Declaration):
    """A function's or method's head; a constructor's return type is None."""

    return_type: TypeNode | None
    type_parameters: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    is_abstract: bool


@dataclass(frozen=True, slots=True)
class Function(Declaration):
    head: Prototype
    body: BlockStatement


@dataclass(frozen=True, slots=True)
class ExternFunction(Declaration):
    head: Prototype


@dataclass(frozen=True, slots=True)
class ExternObject(Declaration):
    type_parameters: tuple[str, ...]
    methods: tuple[Prototype, ...]


@dataclass(frozen=True, slots=True)
class StructField(Declaration):
    type: TypeNode


@dataclass(frozen=True, slots=True)
class Struct(Declaration):
    kind: str
    """``struct``, ``header`` or ``header_union``."""
    type_parameters: tuple[str, ...]
    fields: tuple[StructField, ...]


@dataclass(frozen=True, slots=True)
class Enum(Declaration):
    type: TypeNode | None
    """The representation of a serializable enum."""
    members: tuple[tuple[str, int, Expr | None], ...]
    """(name, its token, value)."""


@dataclass(frozen=True, slots=True)
class Members(Declaration):
    """``error { ... }`` or ``match_kind { ... }``; ``name`` is which."""

    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Typedef(Declaration):
    is_new: bool
    """``type`` rather than ``typedef``."""
    type: TypeNode | Struct | Enum


Statement: TypeAlias = (
    Assign
    | CallStatement
    | If
    | BlockStatement
    | Switch
    | Return
    | Exit
    | Break
    | Continue
    | Empty
    | For
    | ForIn
    | Variable
    | Constant
    | Instantiation
)
Decl: TypeAlias = (
    Variable
    | Constant
    | Instantiation
    | ValueSet
    | BlockType
    | Parser
    | Control
    | Action
    | Table
    | Function
    | ExternFunction
    | ExternObject
    | Struct
    | Enum
    | Members
    | Typedef
)
Program: TypeAlias = tuple[Decl, ...]


def children(node: object) -> Iterator[Node]:
    """The nodes directly inside a node."""
    values = [getattr(node, f.name) for f in fields(node)]  # type: ignore[arg-type]
    while values:
        value = values.pop(0)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            values.extend(value)


def last_token(node: Node) -> int:
    """Number of the last token that a node is known to cover."""
    end = getattr(node, "end", None)
    if end is not None:
        return int(end)
    own = int(getattr(node, "name_at", node.at))
    return max([node.at, own, *(last_token(child) for child in children(node))])
