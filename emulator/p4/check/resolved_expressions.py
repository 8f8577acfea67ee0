"""Expressions of the resolved tree; `resolved` re-exports them and says what the tree promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from emulator.p4.check import type_system

if TYPE_CHECKING:
    from emulator.p4.check.resolved import ActionSymbol, BlockSymbol, FunctionSymbol, Symbol, TableSymbol


@dataclass(eq=False, slots=True)
class Literal:
    """A known scalar: int, bool, an enum's or error's number, or a string."""

    at: int
    type: type_system.Type
    value: Any


@dataclass(eq=False, slots=True)
class Ref:
    at: int
    type: type_system.Type
    symbol: Symbol


@dataclass(eq=False, slots=True)
class TypeRef:
    """A type's name where an expression may stand; ``type`` is what it names."""

    at: int
    type: type_system.Type
    """UNKNOWN where type arguments are left to be inferred; then ``symbol`` is the generic type."""
    symbol: Any = None
    given: tuple[type_system.Type | None, ...] = ()
    """The generic type's arguments, None for ``_``; empty if there are none at all."""


@dataclass(eq=False, slots=True)
class FieldOf:
    at: int
    type: type_system.Type
    base: Expr
    name: str


@dataclass(eq=False, slots=True)
class ElementOf:
    """An element of a stack, tuple or list."""

    at: int
    type: type_system.Type
    base: Expr
    index: Expr


@dataclass(eq=False, slots=True)
class StackProperty:
    """``next``, ``last`` or ``lastIndex``."""

    at: int
    type: type_system.Type
    base: Expr
    name: str


@dataclass(eq=False, slots=True)
class SliceOf:
    at: int
    type: type_system.Type
    base: Expr
    high: int
    low: int


@dataclass(eq=False, slots=True)
class SliceAt:
    """``base[low +: width]`` with a low bit that is known at run time only; bits beyond the base's are zero."""

    at: int
    type: type_system.Type
    base: Expr
    low: Expr
    width: int


@dataclass(eq=False, slots=True)
class Unary:
    at: int
    type: type_system.Type
    op: str
    operand: Expr


@dataclass(eq=False, slots=True)
class Binary:
    """Operands have the types the operator wants; ``++`` is here too."""

    at: int
    type: type_system.Type
    op: str
    left: Expr
    right: Expr


@dataclass(eq=False, slots=True)
class Mux:
    at: int
    type: type_system.Type
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False, slots=True)
class Cast:
    at: int
    type: type_system.Type
    operand: Expr


@dataclass(eq=False, slots=True)
class Aggregate:
    """A list, tuple, struct or header value; parts in the type's order."""

    at: int
    type: type_system.Type
    items: tuple[Expr, ...]


@dataclass(eq=False, slots=True)
class InvalidHeader:
    at: int
    type: type_system.Type


@dataclass(eq=False, slots=True)
class Mask:
    at: int
    type: type_system.Type
    value: Expr
    mask: Expr


@dataclass(eq=False, slots=True)
class Range:
    at: int
    type: type_system.Type
    low: Expr
    high: Expr


@dataclass(eq=False, slots=True)
class DontCare:
    at: int
    type: type_system.Type


@dataclass(eq=False, slots=True)
class Bound:
    """An argument matched with its parameter; ``value`` is None for ``_`` (an out nobody reads)."""

    parameter: type_system.Parameter
    value: Expr | None
    position: int = 0
    """Among the call's arguments as written: they are evaluated in that order, also where they are named."""


@dataclass(eq=False, slots=True)
class BuiltinCall:
    """``isValid`` of a header or union; ``setValid``, ``setInvalid`` of a header; ``push_front``, ``pop_front``."""

    at: int
    type: type_system.Type
    base: Expr
    method: str
    count: int = 0


@dataclass(eq=False, slots=True)
class ExternCall:
    at: int
    type: type_system.Type
    name: str
    """Function, or ``extern.method``."""
    instance: Expr | None
    signature: type_system.Signature
    arguments: tuple[Bound, ...]
    type_arguments: tuple[type_system.Type, ...]


@dataclass(eq=False, slots=True)
class FunctionCall:
    at: int
    type: type_system.Type
    function: FunctionSymbol
    arguments: tuple[Bound, ...]
    type_arguments: dict[type_system.TypeVariable, type_system.Type]


@dataclass(eq=False, slots=True)
class ActionCall:
    at: int
    type: type_system.Type
    action: ActionSymbol
    arguments: tuple[Bound, ...]


@dataclass(eq=False, slots=True)
class TableApply:
    at: int
    type: type_system.Type
    table: TableSymbol


@dataclass(eq=False, slots=True)
class ApplyResult:
    """``hit``, ``miss`` or ``action_run`` of a table's application."""

    at: int
    type: type_system.Type
    apply: TableApply
    name: str


@dataclass(eq=False, slots=True)
class BlockApply:
    at: int
    type: type_system.Type
    instance: Expr
    """A `Ref` to an instance or constructor parameter, or a `Construct` for direct application."""
    arguments: tuple[Bound, ...]


@dataclass(eq=False, slots=True)
class Construct:
    at: int
    type: type_system.Type
    block: BlockSymbol | None
    """None for externs and packages."""
    arguments: tuple[Bound, ...]


@dataclass(eq=False, slots=True)
class Method:
    """A member that can only be called; never left in a finished tree."""

    at: int
    type: type_system.Type
    base: Expr
    name: str


Call: TypeAlias = BuiltinCall | ExternCall | FunctionCall | ActionCall | TableApply | BlockApply
Expr: TypeAlias = (
    Literal
    | Ref
    | TypeRef
    | FieldOf
    | ElementOf
    | StackProperty
    | SliceOf
    | SliceAt
    | Unary
    | Binary
    | Mux
    | Cast
    | Aggregate
    | InvalidHeader
    | Mask
    | Range
    | DontCare
    | Call
    | ApplyResult
    | Construct
    | Method
)
