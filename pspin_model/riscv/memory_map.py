"""Where a C handler finds things: the addresses of its program, as `handlers/link.ld` has them, and of its memories."""

from __future__ import annotations

from dataclasses import dataclass

PAGE = 4096
SPACE = 1 << 20
"""Size of each memory's address range; nothing else begins within it."""
PACKET, STACK, PACKET_L2 = 0x1000_0000, 0x1010_0000, 0x1B00_0000
VARIABLES, CODE = 0x1C00_0000, 0x1D00_0000
SCRATCHPADS, HANDLER_MEMORY, END = 0x2000_0000, 0x8000_0000, 0xC000_0000
BACK = CODE + SPACE - 16
"""Where a handler returns to."""
STACK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Region:
    """A memory as a handler sees it."""

    name: str
    start: int
    size: int
    host: int
    """Address in the simulating process, or 0 where commands of handlers cannot reach it."""
    far: bool
    """Whether it is L2, and its accesses cost what those cost."""

    def holds(self, address: int, size: int) -> bool:
        """Whether all of ``size`` bytes are in it."""
        return self.start <= address and address + size <= self.start + self.size


def pages(size: int) -> int:
    """Bytes, up to the next whole page."""
    return -(-size // PAGE) * PAGE
