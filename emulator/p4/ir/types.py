"""Types of values, places in the source text, and annotations: used by all other nodes."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Annotation:
    """``@name(body)``; ``body`` is the argument text as P4Info prints it, None without parentheses."""

    name: str
    body: str | None = None


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
    """``varbit<W>``: 0 to W bits, as set by the last write. Its value is never an operand of arithmetic."""

    max_width_bits: int

    def __str__(self) -> str:
        return f"varbit<{self.max_width_bits}>"


Scalar: TypeAlias = Bits | Bool
"""What operators take and give."""
Type: TypeAlias = Scalar | VarBits

BOOL = Bool()
INDEX = Bits(32)
"""Type of stack indices, enum and error values, and ``action_run`` numbers."""


def width_of(kind: Type) -> int:
    """Bits that a value of the type takes in storage: 1 for bool, the largest width for varbit."""
    match kind:
        case Bits(width_bits=width_bits) | VarBits(max_width_bits=width_bits):
            return width_bits
        case Bool():
            return 1


class ActionScope(Enum):
    """Where a table's action may be used."""

    TABLE_AND_DEFAULT = 0
    TABLE_ONLY = 1
    DEFAULT_ONLY = 2
