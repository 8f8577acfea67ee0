"""The typed IR: what every pass, the interpreter and the LLVM engine agree on.

The front end resolves names, types, generics, sub-controls, functions and directions; what is left here is small:
scalars, headers, statements and a few kinds of block. The IR knows the P4 language and nothing of an architecture:
externs stay calls (`CallExtern`) that the architecture implements for both engines.

Rules every producer keeps (``emulator.p4.verify`` checks them after each pass):

* Types are erased to ``Bits`` and ``Bool``; enums without a representation and errors are ``Bits(32)`` numbered in
  declaration order; structs and tuples are flattened into scalar variables whose names are dotted paths.
* Every variable starts a packet as zero (that is what bmv2 does with uninitialised scalars), every header invalid.
* Expressions have no side effects. The front end hoists calls into temporaries, left to right (P4_16 section 6.7).
* Widths are explicit: both operands of an arithmetic operator have the same type; literals are already cast.
* Nodes are frozen and compare by value; spans do not take part in comparison.

Section numbers in this file refer to the P4_16 language specification 1.2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text: file as the user named it, 1-based line and column, exclusive end column."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# --- Types ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bits:
    """``bit<W>`` or ``int<W>``; values are held as Python integers, signed ones as two's complement values."""

    width_bits: int
    signed: bool = False

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width_bits}>"


@dataclass(frozen=True, slots=True)
class Bool:
    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class VarBits:
    """``varbit<W>``: 0 to W bits, as many as the last write gave it. Its value is never an operand of arithmetic."""

    max_width_bits: int

    def __str__(self) -> str:
        return f"varbit<{self.max_width_bits}>"


Type: TypeAlias = Bits | Bool | VarBits

BOOL = Bool()
INDEX = Bits(32)
"""Type of stack indices, enum and error values, and ``action_run`` numbers."""


# --- Storage ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar that lives for one packet: a metadata field, a local, an action parameter. Identity is the name."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class HeaderField:
    name: str
    offset_bits: int
    """From the first bit of the header, most significant first: the wire's order, a varbit field taken as full."""
    type: Type
    """``Bits``; a bool field is ``Bool`` and takes one bit; a varbit field stands at its largest width."""

    @property
    def width_bits(self) -> int:
        match self.type:
            case Bits(width_bits=width_bits) | VarBits(max_width_bits=width_bits):
                return width_bits
            case Bool():
                return 1


@dataclass(frozen=True, slots=True)
class HeaderType:
    name: str
    fields: tuple[HeaderField, ...]

    @property
    def length_bits(self) -> int:
        """The largest. Fields follow each other without gaps (``verify`` checks), so the last one tells."""
        return self.fields[-1].offset_bits + self.fields[-1].width_bits if self.fields else 0

    @property
    def varbit(self) -> HeaderField | None:
        """The one field of variable width, if any (more than one is refused: no extract could fill it)."""
        return next((f for f in self.fields if isinstance(f.type, VarBits)), None)


@dataclass(frozen=True, slots=True)
class Header:
    """One header instance, or one element of a stack (then its name ends in ``[i]``)."""

    name: str
    type: HeaderType


@dataclass(frozen=True, slots=True)
class HeaderStack:
    name: str
    element: HeaderType
    size: int

    @property
    def headers(self) -> tuple[Header, ...]:
        return tuple(Header(f"{self.name}[{i}]", self.element) for i in range(self.size))


@dataclass(frozen=True, slots=True)
class StackAt:
    """``s[e]`` with ``e`` not a constant (constant ones are the ``Header`` itself). Out of range: section 8.18."""

    stack: HeaderStack
    index: Expr

    @property
    def type(self) -> HeaderType:
        return self.stack.element


@dataclass(frozen=True, slots=True)
class StackNext:
    """``s.next``, in parsers only. Full stack: error.StackOutOfBounds."""

    stack: HeaderStack

    @property
    def type(self) -> HeaderType:
        return self.stack.element


@dataclass(frozen=True, slots=True)
class StackLast:
    """``s.last``, in parsers only. Empty stack: error.StackOutOfBounds."""

    stack: HeaderStack

    @property
    def type(self) -> HeaderType:
        return self.stack.element


HeaderRef: TypeAlias = Header | StackAt | StackNext | StackLast


# --- Expressions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    value: int
    """Already reduced to the type's range (a bool is 0 or 1)."""
    type: Type


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A header's field; as a value it is a read, as a target a write. Invalid headers: `facts` of the architecture."""

    header: HeaderRef
    field: HeaderField

    @property
    def type(self) -> Type:
        return self.field.type


@dataclass(frozen=True, slots=True)
class IsValid:
    header: HeaderRef

    @property
    def type(self) -> Type:
        return BOOL


@dataclass(frozen=True, slots=True)
class StackLastIndex:
    """``s.lastIndex``."""

    stack: HeaderStack

    @property
    def type(self) -> Type:
        return INDEX


class UnaryOp(Enum):
    NEGATE = "-"
    COMPLEMENT = "~"
    NOT = "!"


class BinaryOp(Enum):
    """Arithmetic wraps at the width unless it saturates; shifts take any unsigned right operand (section 8.6)."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    ADD_SAT = "|+|"
    SUB_SAT = "|-|"
    AND = "&"
    OR = "|"
    XOR = "^"
    SHL = "<<"
    SHR = ">>"
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    LOGICAL_AND = "&&"
    """Short-circuit; operands have no side effects, so both engines may evaluate both."""
    LOGICAL_OR = "||"


@dataclass(frozen=True, slots=True)
class Unary:
    op: UnaryOp
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinaryOp
    left: Expr
    right: Expr
    type: Type
    """Type of the result: BOOL for comparisons and logic, else the left operand's."""


@dataclass(frozen=True, slots=True)
class Mux:
    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """Explicit casts of section 8.11 between Bits and Bool: zero- or sign-extend by the operand's sign, or truncate."""

    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Slice:
    """``operand[high:low]``; the result is unsigned."""

    operand: Expr
    high: int
    low: int

    @property
    def type(self) -> Type:
        return Bits(self.high - self.low + 1)


@dataclass(frozen=True, slots=True)
class Concat:
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class LaneField:
    """Only in a ``Repeat``: in turn i, the field that lies ``i * stride_bits`` after ``first`` in ``header``."""

    header: Header
    first: HeaderField
    stride_bits: int

    @property
    def type(self) -> Type:
        return self.first.type


@dataclass(frozen=True, slots=True)
class FieldRun:
    """Only in list arguments: neighbouring fields of one header, in order, as one stretch of its bits."""

    header: Header
    offset_bits: int
    width_bits: int

    @property
    def type(self) -> Type:
        return Bits(self.width_bits)


@dataclass(frozen=True, slots=True)
class PacketLength:
    """``packet.length()``: bytes of the packet as the parser sees it (section 13.8.4)."""

    @property
    def type(self) -> Type:
        return Bits(32)


Expr: TypeAlias = (
    Constant
    | Variable
    | FieldRef
    | IsValid
    | StackLastIndex
    | Unary
    | Binary
    | Mux
    | Cast
    | Slice
    | Concat
    | LaneField
    | FieldRun
    | PacketLength
)
Place: TypeAlias = Variable | FieldRef | LaneField
"""What can be assigned to. Writes to slices are lowered to read, merge, write by the front end."""


# --- Statements -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    target: Place
    value: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetValidity:
    """``setValid()`` (zeroes the fields of a header that was invalid: bmv2) or ``setInvalid()``."""

    header: HeaderRef
    valid: bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CopyHeader:
    """Header assignment: validity and, when the source is valid, all fields."""

    target: HeaderRef
    source: HeaderRef
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PushFront:
    stack: HeaderStack
    count: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PopFront:
    stack: HeaderStack
    count: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: Block
    otherwise: Block = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SwitchCase:
    values: tuple[int, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Switch:
    """``switch`` on a value; a switch on ``action_run`` switches on the variable that ``ApplyTable`` set."""

    value: Expr
    cases: tuple[SwitchCase, ...]
    default: Block = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ApplyTable:
    """Look up, run the action found; ``hit`` (bool) and ``action_run`` (index in ``Table.actions``) when asked for."""

    table: str
    hit: Variable | None = None
    action_run: Variable | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal as an extern's argument."""

    text: str


Argument: TypeAlias = Expr | Text | tuple[Expr, ...]
"""An out or inout argument is a ``Place``; a list, struct or header argument is the tuple of its scalars, in order."""


@dataclass(frozen=True, slots=True)
class LaneInstances:
    """Only in a ``Repeat``: in turn i, the i-th of these; they are neighbours in one of ``Program.groups``."""

    instances: tuple[ExternInstance, ...]


@dataclass(frozen=True, slots=True)
class CallExtern:
    """An extern function (``instance`` is None) or method. The architecture gives it its meaning in both engines."""

    name: str
    """Function name, or ``type.method`` (``register.read``)."""
    arguments: tuple[Argument, ...]
    instance: ExternInstance | LaneInstances | None = None
    span: Span | None = field(default=None, compare=False)

    def expr(self, position: int) -> Expr:
        """An argument that the extern's signature says is a value."""
        argument = self.arguments[position]
        assert not isinstance(argument, Text | tuple)
        return argument

    def place(self, position: int) -> Place:
        """An argument that the extern's signature says is written."""
        argument = self.arguments[position]
        assert isinstance(argument, Variable | FieldRef | LaneField)
        return argument


@dataclass(frozen=True, slots=True)
class Loop:
    """``for``: run ``prelude``, leave when ``condition`` is false, run ``body``, run ``update``, again (12.9).

    ``Break`` leaves the innermost loop, ``Continue`` goes on with its ``update``. Front ends write ``for (x in ..)`` in
    this form. A loop ends after ``LOOP_LIMIT`` turns whatever its condition says: a packet never hangs the switch.
    """

    condition: Expr
    body: Block
    prelude: Block = ()
    """What the condition's side effects were hoisted into; run before each test."""
    update: Block = ()
    span: Span | None = field(default=None, compare=False)


LOOP_LIMIT = 1 << 16
"""Turns of one execution of a ``Loop``; the engines count a packet that reaches it as dropped, ``loop limit``."""


@dataclass(frozen=True, slots=True)
class Break:
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Continue:
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """``count`` turns of ``body``, which no turn's result reaches another's: they may run side by side.

    The body is straight: ``Assign`` and ``CallExtern`` only. What differs from turn to turn is ``LaneField`` and
    ``LaneInstances``. Variables that the body writes are private to a turn: zero at its start, gone at its end.
    Made by the pass ``reroll``; front ends don't.
    """

    count: int
    body: Block
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Region:
    """An inlined action, function or control. ``Return`` leaves the innermost region.

    ``cleanup`` runs however the body is left, by ``Exit`` too: that is where copy-out stands (section 6.8).
    """

    name: str
    body: Block
    cleanup: Block = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Return:
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Exit:
    """Leave the whole block (parser or control), running the cleanups of the regions on the way."""

    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Extract:
    """``packet.extract(h)`` or ``extract(h, bits)``: error.PacketTooShort takes nothing and ends the parser."""

    header: HeaderRef
    variable_bits: Expr | None = None
    """Width for the header's varbit field; not whole bytes with the rest: error.ParserInvalidArgument; too wide:
    error.HeaderTooShort (section 13.8.2)."""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Read ``total_bits`` ahead without moving; each target gets its bits. Too short: error.PacketTooShort."""

    targets: tuple[tuple[Variable, int], ...]
    """(variable, offset in bits from the current position)."""
    total_bits: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Advance:
    """``packet.advance(bits)``."""

    bits: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Verify:
    """``verify(condition, error)``: a false condition ends the parser with that error number."""

    condition: Expr
    error: Expr
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Emit:
    """``packet.emit(h)``: nothing when invalid."""

    header: HeaderRef
    span: Span | None = field(default=None, compare=False)


Statement: TypeAlias = (
    Assign
    | SetValidity
    | CopyHeader
    | PushFront
    | PopFront
    | If
    | Switch
    | ApplyTable
    | CallExtern
    | Loop
    | Break
    | Continue
    | Repeat
    | Region
    | Return
    | Exit
    | Extract
    | Lookahead
    | Advance
    | Verify
    | Emit
)
Block: TypeAlias = tuple[Statement, ...]


# --- Parsers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Masked:
    """Matches when ``key & mask == value & mask``; an exact label has an all-ones mask, ``_`` and default mask 0."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Between:
    """``low .. high``, both included."""

    low: int
    high: int


KeySet: TypeAlias = Masked | Between


@dataclass(frozen=True, slots=True)
class SelectCase:
    keysets: tuple[KeySet, ...]
    """One for each key of the select; empty when ``value_set`` says what matches."""
    next_state: str
    value_set: str | None = None
    """Name of a ``ValueSet`` that has as many fields as the select has keys."""


@dataclass(frozen=True, slots=True)
class Select:
    """First case that matches; none: what the architecture says (bmv2: accept with NoError)."""

    keys: tuple[Expr, ...]
    cases: tuple[SelectCase, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Goto:
    next_state: str
    """A state's name, ``accept`` or ``reject``."""


@dataclass(frozen=True, slots=True)
class State:
    name: str
    body: Block
    transition: Select | Goto
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ValueSetField:
    name: str
    """Control-plane name; empty for a set of plain values."""
    type: Type
    match_kind: str


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A parser value set (section 13.11); the control plane fills it, empty at first."""

    name: str
    """Control-plane name."""
    fields: tuple[ValueSetField, ...]
    size: int
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Parser:
    """Starts in the state ``start``. Sub-parsers are inlined, so there is one state graph."""

    name: str
    states: tuple[State, ...]


# --- Controls, tables, actions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Annotation:
    """``@name(body)``; ``body`` is the argument text as P4Info prints it, None without parentheses."""

    name: str
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """An action that tables can run; ``parameters`` are the control plane's, bound as variables before the body."""

    name: str
    """Control-plane name, e.g. ``Ingress.set_job``."""
    parameters: tuple[Variable, ...]
    body: Block
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ActionCall:
    action: str
    arguments: tuple[int, ...] = ()


class ActionScope(Enum):
    TABLE_AND_DEFAULT = 0
    TABLE_ONLY = 1
    DEFAULT_ONLY = 2


@dataclass(frozen=True, slots=True)
class TableAction:
    action: str
    scope: ActionScope = ActionScope.TABLE_AND_DEFAULT
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TableKey:
    name: str
    """Control-plane name of the match field."""
    value: Expr
    match_kind: str
    """``exact``, ``lpm``, ``ternary``; ``range``, ``optional`` and ``selector`` come with the architecture."""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TableEntry:
    """An entry of the program. ``Masked`` serves exact, lpm (mask of leading ones) and ternary keys."""

    keysets: tuple[KeySet, ...]
    call: ActionCall
    priority: int
    """Larger wins, as in P4Runtime; 0 where the table has no priorities."""
    is_const: bool = True
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    keys: tuple[TableKey, ...]
    actions: tuple[TableAction, ...]
    default_action: ActionCall
    default_is_const: bool
    size: int
    entries: tuple[TableEntry, ...] = ()
    entries_are_const: bool = False
    attached: tuple[ExternInstance, ...] = ()
    """Direct counters and meters, an action profile: whatever the architecture's table properties name."""
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ExternInstance:
    """An instantiated extern object, e.g. ``register<bit<32>>(1024) sums``."""

    name: str
    """Control-plane name."""
    extern: str
    type_arguments: tuple[Type, ...]
    arguments: tuple[int | str, ...]
    """Constructor arguments: numbers, or an enum member's name."""
    annotations: tuple[Annotation, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Control:
    """A control applied by the architecture; sub-controls are inlined as regions."""

    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class Program:
    """A whole checked program, bound to its architecture's package.

    ``blocks`` maps the package's parameter names (v1model: p, vr, ig, eg, ck, dep) to parsers and controls. Blocks
    share storage: the architecture says which root (``hdr``, ``meta``, ``standard_metadata``) each of a block's
    parameters stands for, and all names of variables and headers begin with that root.
    """

    name: str
    headers: tuple[Header, ...]
    """All instances, stack elements included."""
    stacks: tuple[HeaderStack, ...]
    variables: tuple[Variable, ...]
    """All but action parameters."""
    blocks: tuple[tuple[str, Parser | Control], ...]
    actions: tuple[Action, ...]
    tables: tuple[Table, ...]
    externs: tuple[ExternInstance, ...]
    errors: tuple[str, ...]
    """Names by number, core.p4's first."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Registers (by name) that lie side by side in memory, cell by cell. Made by the pass ``group_registers``."""
    value_sets: tuple[ValueSet, ...] = ()
    field_lists: tuple[tuple[int, tuple[Variable, ...]], ...] = ()
    """v1model's ``@field_list(n)``: the metadata that copies of a packet keep, by number."""

    def block(self, name: str) -> Parser | Control:
        return dict(self.blocks)[name]

    def table(self, name: str) -> Table:
        return next(t for t in self.tables if t.name == name)

    def action(self, name: str) -> Action:
        return next(a for a in self.actions if a.name == name)
