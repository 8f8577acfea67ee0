"""The seam between a process group and whatever moves its operations: one channel per job.

A channel numbers operations in the order they are submitted (0, 1, 2, ...), sends and receives from a large number
on; ``wait`` and what follows take either. Everything here may be called from
any thread. Two channels exist: ``loopback`` (ranks of one process, for tests and for groups of one) and ``job``
(the compiled transport loop).
"""

from __future__ import annotations

from typing import Protocol

from hostagent.protocol.messages import Message
from hostagent.protocol.operation import Operation


class Channel(Protocol):
    """One rank's end of a job."""

    def submit(self, operation: Operation) -> int:
        """Queue an operation and return its number at once.

        Raises TransportError when the job has failed or is closed.
        """

    def post(self, message: Message) -> int:
        """Start a send or a receive and return its number at once: another sequence than the operations', which it
        does not wait for, and in which numbers come in no order.

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

    def fail(self, error: Exception) -> None:
        """End the job on every rank for a cause outside the transport."""

    def leave(self) -> None:
        """Leave the job. Where nothing is in flight this returns at once, and the job lingers in the background until
        the other ranks have their results; else as ``close``."""

    def close(self) -> None:
        """Leave the job; operations in flight fail. May linger, bounded, until the other ranks have their results."""
