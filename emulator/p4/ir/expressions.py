"""Expressions, all without side effects, and where values live: variables, headers, header stacks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from emulator.p4.ir.types import BOOL, INDEX, Bits, Type, VarBits, width_of

# --- storage -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A scalar that lives for one packet: a metadata field, a local, an action parameter. Identity is the name."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class HeaderField:
    name: str
    offset_bits: int
    """Offset from the header's first bit, most significant first: the wire's order, a varbit field taken as full."""
    type: Type
    """``Bits``; a bool field is ``Bool`` and takes one bit; a varbit field takes its largest width."""

    @property
    def width_bits(self) -> int:
        return width_of(self.type)


@dataclass(frozen=True, slots=True)
class HeaderType:
    name: str
    fields: tuple[HeaderField, ...]

    @property
    def length_bits(self) -> int:
        """The largest. Fields follow each other without gaps (``verify`` checks), so the last one gives it."""
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

# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    value: int
    """Already reduced to the type's range (a bool is 0 or 1)."""
    type: Type


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A header's field; as a value it is a read, as a target a write.

    A read of an invalid header gives what the architecture defines: for v1model as in bmv2 (src/bm_sim/headers.cpp and
    match_units.cpp), see emulator/v1model/README.md.
    """

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
    """Both arms are evaluated: a parser error in one (``s.last`` of an empty stack) is raised."""

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
    """Only in a ``Repeat``: in turn i, the field ``i * stride_bits`` after ``first`` in ``header``."""

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
