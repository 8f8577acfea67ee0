"""A send or a receive: what a caller asks for, and its REQUEST record."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from zlib import crc32

from hostagent.protocol.messages.records import ANY_SOURCE, WHOLE_TAG

POINT_TO_POINT = "send and recv"

LARGEST_TAG = 2**62 - 1
"""A user's tags are 0 to this; the bit above is set in those of collectives."""
COLLECTIVE_TAGS = 1 << 62


@dataclass(slots=True)
class Message:
    """One rank's part of a message: its memory is read, or written, until it has finished.

    A message fits a receive that names its source, or ANY_SOURCE, and its tag, or None. Then the two must agree in
    ``family``, element type and number of elements; where they do not, all ranks get an error that names both calls.
    """

    collective: str
    """The name the user called it by; goes into error messages."""
    receives: bool
    peer: int
    """The other rank; ANY_SOURCE for a receive from whichever."""
    dtype: str
    """The element type as torch names it (``float32``)."""
    element_bytes: int
    elements: int
    address: int
    tag: int | None = 0
    family: str = POINT_TO_POINT
    """Name of the calls that may meet: those of one collective, or any send and receive."""
    source_address: int = 0
    """Where the source's rank is stored, as an int64, when a receive has its message; 0: nowhere."""
    memory: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """Owners of the memory, where the caller wants it kept alive until the message has finished."""

    def describe(self) -> str:
        """The call in the words of error messages: ``send(float32, 1024 elements, to rank 1, tag 5)``."""
        peer = "any rank" if self.peer == ANY_SOURCE else f"rank {self.peer}"
        parts = [self.dtype, f"{self.elements} elements", f"{'from' if self.receives else 'to'} {peer}"]
        if self.tag is None or self.tag < COLLECTIVE_TAGS:
            parts.append("any tag" if self.tag is None else f"tag {self.tag}")
        return f"{self.collective}({', '.join(parts)})"

    def hashes(self) -> tuple[int, int]:
        """32 bits of what both sides must say alike, and a 32-bit hash of ``describe``."""
        tag = COLLECTIVE_TAGS if self.tag is not None and self.tag >= COLLECTIVE_TAGS else self.tag
        return _hashes(self.collective, self.receives, self.peer, self.dtype, self.elements, tag, self.family)


@functools.lru_cache(maxsize=1024)
def _hashes(
    collective: str, receives: bool, peer: int, dtype: str, elements: int, tag: int | None, family: str
) -> tuple[int, int]:
    call = Message(collective, receives, peer, dtype, 0, elements, 0, tag).describe()
    return crc32(f"{family} {dtype} {elements}".encode()), crc32(call.encode())


def message_request_of(message: Message, number: int) -> tuple[int, ...]:
    """The values of a message's REQUEST record; assign them to an element of a REQUEST array."""
    return (  # in the order of the record's fields
        number,
        int(message.receives),
        message.peer,
        message.tag or 0,
        COLLECTIVE_TAGS if message.tag is None else WHOLE_TAG,
        message.address,
        message.elements * message.element_bytes,
        *message.hashes(),
        message.source_address,
    )
