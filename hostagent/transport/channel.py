"""The seam between a process group and whatever moves its operations: one channel per job.

A channel numbers operations in the order they are submitted (0, 1, 2, ...). Everything here may be called from
any thread. Two channels exist: ``loopback`` (ranks of one process, for tests and for groups of one) and ``job``
(the compiled transport loop).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from hostagent.protocol.served import ServedMemory


class Kind(IntEnum):
    """What the aggregator computes for an operation."""

    SUM = 0
    MAX = 1
    MIN = 2
    RAW = 3
    """Every element comes from at most one rank and is moved unchanged."""
    BARRIER = 4
    PUSH_PULL = 5
    """The first of those that only a rack server answers; they carry an announcement of what is meant."""
    PUSH = 6
    WRITE = 7
    PULL = 8
    QUERY = 9


@dataclass(frozen=True, slots=True)
class Span:
    """Part of an operation's virtual tensor that lies in this rank's memory.

    Elements ``first`` to ``first + count - 1`` of the virtual tensor start at ``address``; the memory belongs to the
    caller and must stay valid until the operation has finished or its channel is closed.
    """

    address: int
    first: int
    count: int


NOTHING = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Operation:
    """One collective over a virtual tensor of ``elements`` elements, the same on every rank of the job.

    A rank adds its ``input`` span and receives its ``output`` span. Every field but the two spans must agree between
    the ranks; when one does not, all ranks get an error that names both descriptions.
    """

    collective: str
    """The name the user called it by; goes into error messages."""
    kind: Kind
    dtype: str
    """The element type as torch names it (``float32``)."""
    element_bytes: int
    elements: int
    input: Span = NOTHING
    output: Span = NOTHING
    average: bool = False
    root: int = -1
    """The rank in the group that sends or receives alone; -1 when there is none."""
    served: ServedMemory | None = None
    """Of an operation on a rack server's weights: what is meant, and where the server's answer goes."""
    memory: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """Whatever owns the spans' memory, where the caller wants it kept alive until the operation has finished."""

    def describe(self) -> str:
        """The operation in the words of error messages: ``all_reduce(SUM, float32, 1024 elements)``."""
        parts = []
        if self.kind in (Kind.SUM, Kind.MAX, Kind.MIN):
            parts.append("AVG" if self.average else self.kind.name)
        if self.kind is not Kind.BARRIER:
            parts += [self.dtype, f"{self.elements} elements"]
        if self.root >= 0:
            parts.append(f"root {self.root}")
        if self.served is not None:
            parts.append(self.served.announcement.describe())
        return f"{self.collective}({', '.join(parts)})"


class Channel(Protocol):
    """One rank's end of a job."""

    def submit(self, operation: Operation) -> int:
        """Queue an operation and return its number at once.

        Raises TransportError when the job has failed or is closed.
        """

    def wait(self, number: int, timeout_s: float) -> bool:
        """Block (without the GIL) until the operation has finished or failed; False when the time ran out first."""

    def finished(self, number: int) -> bool:
        """Whether the operation has finished or failed."""

    def failure(self, number: int) -> Exception | None:
        """Why a finished operation failed; None when it succeeded."""

    def expire(self, number: int, timeout_s: float) -> Exception:
        """End the job because an operation's time-out of ``timeout_s`` passed; the error names the missing ranks."""

    def fail(self, error: Exception) -> None:
        """End the job on every rank for a cause found outside the transport."""

    def close(self) -> None:
        """Leave the job; operations in flight fail. May linger, bounded, until the other ranks have their results."""
