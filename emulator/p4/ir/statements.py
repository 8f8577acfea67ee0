"""Statements, and the extern objects that they call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.p4.ir.expressions import Expr, FieldRef, HeaderRef, HeaderStack, LaneField, Place, Variable
from emulator.p4.ir.types import Annotation, Span, Type


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
class CopyNext:
    """The target's next index becomes the source's: part of an assignment of stacks (8.18). Seen in parsers only."""

    target: HeaderStack
    source: HeaderStack
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
    """Look up and run the selected action; ``hit`` (bool) and ``action_run`` (index in ``Table.actions``) are set."""

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
class CallExtern:
    """An extern function (``instance`` is None) or method. The architecture gives it its meaning in both engines."""

    name: str
    """Function name, or ``type.method`` (``register.read``)."""
    arguments: tuple[Argument, ...]
    instance: ExternInstance | LaneInstances | None = None
    span: Span | None = field(default=None, compare=False)

    def expr(self, position: int) -> Expr:
        """An argument that is a value by the extern's signature."""
        argument = self.arguments[position]
        assert not isinstance(argument, Text | tuple)
        return argument

    def place(self, position: int) -> Place:
        """An argument that is written by the extern's signature."""
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

    ``cleanup`` runs however the body is left, by ``Exit`` too: that is where copy-out is done (section 6.8).
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
    | CopyNext
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
