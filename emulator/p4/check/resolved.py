"""The resolved tree: names bound, types known, casts explicit, calls matched with what they call.

The checker makes it from the syntax tree, the lowering reads it. Constants are folded: an expression whose value is
known is a `Literal` (scalars) or an `Aggregate` of them. ``at`` is the number of the first token, as in `syntax`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from emulator.p4.check import type_system
from emulator.p4.errors import Diagnostic
from emulator.p4.syntax import tree as syntax

# --- Symbols ----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Symbol:
    name: str
    type: type_system.Type
    at: int


@dataclass(eq=False, slots=True)
class VariableSymbol(Symbol):
    """A variable or a parameter with storage."""

    direction: str = "var"
    """``var`` for variables, else the parameter's: ``in``, ``out``, ``inout`` or empty."""
    is_writable: bool = True
    is_constructor: bool = False
    """A constructor's parameter: its value is known when the block is instantiated."""
    annotations: syntax.Annotations = ()


@dataclass(eq=False, slots=True)
class ConstantSymbol(Symbol):
    value: Expr
    base: int = 10
    """Base in which the source writes the number."""


@dataclass(eq=False, slots=True)
class InstanceSymbol(Symbol):
    """An instantiated extern, parser or control."""

    construct: Construct
    annotations: syntax.Annotations
    end: int


@dataclass(eq=False, slots=True)
class FunctionSymbol(Symbol):
    signature: type_system.Signature
    parameters: tuple[VariableSymbol, ...]
    body: Block
    end: int
    overloads: list[FunctionSymbol] = field(default_factory=list)
    """Other functions of this name."""


@dataclass(eq=False, slots=True)
class ExternFunctionSymbol(Symbol):
    """All overloads of an extern function."""

    signatures: list[type_system.Signature]


@dataclass(eq=False, slots=True)
class ActionSymbol(Symbol):
    signature: type_system.Signature
    parameters: tuple[VariableSymbol, ...]
    body: Block
    annotations: syntax.Annotations
    end: int
    owner: BlockSymbol | None
    """The control it is declared in."""


@dataclass(eq=False, slots=True)
class KeyElement:
    value: Expr
    match_kind: str
    annotations: syntax.Annotations
    at: int
    node: syntax.Expr
    name: str
    """Name that the control plane sees."""


@dataclass(eq=False, slots=True)
class TableAction:
    action: ActionSymbol
    bound: tuple[Bound, ...]
    """Arguments of the parameters with directions."""
    annotations: syntax.Annotations
    at: int
    written: tuple[syntax.Argument, ...] = ()
    """The same as written in the list."""


@dataclass(eq=False, slots=True)
class ActionChoice:
    """An action with the control plane's arguments: a default action or an entry's."""

    action: ActionSymbol
    arguments: tuple[Expr, ...]
    at: int


@dataclass(eq=False, slots=True)
class Entry:
    keyset: tuple[Expr, ...]
    choice: ActionChoice
    priority: int | None
    annotations: syntax.Annotations
    is_const: bool
    at: int
    end: int


@dataclass(eq=False, slots=True)
class TableSymbol(Symbol):
    annotations: syntax.Annotations
    end: int
    keys: list[KeyElement] = field(default_factory=list)
    actions: list[TableAction] = field(default_factory=list)
    default: ActionChoice | None = None
    default_is_const: bool = False
    size: Expr | None = None
    """Known when the control is instantiated."""
    entries: list[Entry] = field(default_factory=list)
    entries_are_const: bool = False
    largest_priority_wins: bool = True
    priority_delta: int = 1
    properties: dict[str, tuple[Expr, int, syntax.Annotations]] = field(default_factory=dict)
    """The architecture's ones: (value, token, annotations)."""
    flags: dict[str, bool] = field(default_factory=dict)
    """The architecture's ones that are true or false."""


@dataclass(eq=False, slots=True)
class ValueSetSymbol(Symbol):
    """A parser's value set; ``type`` is the set's."""

    element: type_system.Type
    size: Expr
    annotations: syntax.Annotations
    end: int


@dataclass(eq=False, slots=True)
class State:
    name: str
    body: Block
    keys: tuple[Expr, ...]
    """Keys of the select; empty for a plain transition."""
    cases: tuple[tuple[tuple[Expr, ...], str], ...]
    """Keysets and next state; a plain transition is one case without keysets. A value set is a `Ref`, alone in its
    case; any other keyset that is not known at compile time is an expression that the key is compared with."""
    at: int
    end: int
    select_at: int = 0


@dataclass(eq=False, slots=True)
class BlockSymbol(Symbol):
    """A parser or control with its body."""

    kind: str
    parameters: tuple[VariableSymbol, ...]
    constructor: tuple[VariableSymbol, ...]
    annotations: syntax.Annotations
    locals: list[Statement] = field(default_factory=list)
    """Variables, in order."""
    members: list[Symbol] = field(default_factory=list)
    """Instances, actions and tables, in order."""
    body: Block | None = None
    states: list[State] = field(default_factory=list)
    type_parameters: tuple[type_system.TypeVariable, ...] = ()
    hides_block_type: bool = False
    """Whether the architecture declares a type of parsers or controls by its name."""


# --- Expressions ------------------------------------------------------------------------------------------------


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
    """A type's name in the place of an expression; ``type`` is the type."""

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


# --- Statements -------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Assign:
    at: int
    end: int
    target: Expr
    value: Expr


@dataclass(eq=False, slots=True)
class Update:
    """``target += x`` and the like: in ``value``, ``held`` is the value of the target, which is evaluated once."""

    at: int
    end: int
    target: Expr
    held: VariableSymbol
    value: Expr


@dataclass(eq=False, slots=True)
class CallStatement:
    at: int
    end: int
    call: Expr


@dataclass(eq=False, slots=True)
class Declare:
    """A local variable; without a value it keeps what it holds (headers become invalid)."""

    at: int
    end: int
    symbol: VariableSymbol
    value: Expr | None


@dataclass(eq=False, slots=True)
class If:
    at: int
    end: int
    condition: Expr
    then: Block
    otherwise: Block


@dataclass(eq=False, slots=True)
class SwitchCase:
    labels: tuple[int, ...]
    """Values, or positions in the table's action list."""
    is_default: bool
    body: Block


@dataclass(eq=False, slots=True)
class Switch:
    at: int
    end: int
    value: Expr
    cases: tuple[SwitchCase, ...]


@dataclass(eq=False, slots=True)
class For:
    at: int
    end: int
    init: Block
    condition: Expr
    update: Block
    body: Block


@dataclass(eq=False, slots=True)
class ForIn:
    """``collection`` is a `Range` of the variable's type, an `Aggregate` of values of it, or a header stack."""

    at: int
    end: int
    symbol: VariableSymbol
    collection: Expr
    body: Block


@dataclass(eq=False, slots=True)
class Break:
    at: int
    end: int


@dataclass(eq=False, slots=True)
class Continue:
    at: int
    end: int


@dataclass(eq=False, slots=True)
class Return:
    at: int
    end: int
    value: Expr | None


@dataclass(eq=False, slots=True)
class Exit:
    at: int
    end: int


Statement: TypeAlias = (
    Assign | Update | CallStatement | Declare | If | Switch | For | ForIn | Break | Continue | Return | Exit
)
Block: TypeAlias = list[Statement]


@dataclass(eq=False, slots=True)
class Program:
    main: InstanceSymbol | None
    errors: tuple[str, ...]
    globals: list[InstanceSymbol]
    """Extern instances at the top level."""
    declarations: list[Symbol | type_system.Type]
    """Everything at the top level, in order (P4Info and tools look there)."""
    field_lists: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Numbers in each ``@field_list``, by the annotation's token."""
    refusals: tuple[Diagnostic, ...] = ()
    """Legal constructs that the architecture's engines lack."""
