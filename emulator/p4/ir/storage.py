"""Where values live: variables, headers, header stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from emulator.p4.ir.types import Type, VarBits, width_of

if TYPE_CHECKING:
    from emulator.p4.ir.expressions import Expr


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
        return width_of(self.type)


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
