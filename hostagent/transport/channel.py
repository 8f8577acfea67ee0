"""The seam between a process group and whatever moves its operations: one channel per job.

A channel numbers operations in the order they are submitted (0, 1, 2, ...), sends and receives from a large number
on; ``wait`` and what follows take either. Everything here may be called from
any thread. Two channels exist: ``loopback`` (ranks of one process, for tests and for groups of one) and ``job``
(the compiled transport loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hostagent.protocol.messages import Message
from hostagent.protocol.operation import Operation


class Channel(Protocol):
    """One rank's end of a job."""

    def submit(self, operation: Operation) -> int:
        """Queue an operation and return its number at once.

        Raises TransportError when the job has failed or is closed.
        """

    def post(self, messages: Sequence[Message]) -> list[int]:
        """Start sends and receives and return their numbers at once: another sequence than the operations', which
        they do not wait for, and in which numbers come in no order.

        Raises TransportError as ``submit`` does, and where the network does not forward messages.
        """

    def lanes(self, timeout_s: float) -> int:
        """Lanes of the job's frames; blocks until the network has said so. Raises TransportError."""

    def wait(self, number: int, timeout_s: float) -> bool:
        """Block (without the GIL) until the operation has finished or failed; False when the time ran out first."""

    def finished(self, number: int) -> bool:
        """Whether the operation has finished or failed."""

    def failure(self, number: int) -> Exception | None:
        """Why a finished operation failed; None when it succeeded."""

    def expire(self, number: int, timeout_s: float) -> Exception:
        """End the job because an operation's time-out of ``timeout_s`` passed; the error names the missing ranks."""

    def overdue(self, bound_s: float) -> list[int]:
        """Ranks for which the oldest unfinished operation has been waiting for so long, without anything completed
        meanwhile, as far as the aggregator has said so; to be asked more often than that."""

    def proceed(self, bound_s: float) -> None:
        """Ask late ranks to take part without data in the operations that were submitted so long ago and have a
        ``unit``. Returns at once."""

    def collect(self, number: int) -> None:
        """Called once for an operation that succeeded, before its memory is used: one that this rank has missed
        brings its results there now."""

    def fail(self, error: Exception) -> None:
        """End the job on every rank for a cause outside the transport."""

    def leave(self) -> None:
        """Leave the job. Where nothing is in flight this returns at once, and the job lingers in the background until
        the other ranks have their results; else as ``close``."""

    def close(self) -> None:
        """Leave the job; operations in flight fail. May linger, bounded, until the other ranks have their results."""
