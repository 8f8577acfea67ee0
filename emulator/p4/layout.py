"""How values, action data and tables lie in memory: one description for the code that reads and the code that writes.

A *cell* holds one value in the machine's byte order. Widths up to 64 bits take 1, 2, 4 or 8 bytes; wider ones whole
64-bit words, least significant first. Tables are described in ``emulator.p4.table_layout``.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4.ir.types import width_of as width_of

WORD_BYTES = 8
CACHE_LINE_BYTES = 64


def cell_bytes(width_bits: int) -> int:
    """Size of a cell."""
    for size in (1, 2, 4, 8):
        if width_bits <= size * 8:
            return size
    return round_up((width_bits + 7) // 8, WORD_BYTES)


def round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Cell:
    """Where one value lies, relative to the start of its record."""

    offset_bytes: int
    width_bits: int

    @property
    def size_bytes(self) -> int:
        return cell_bytes(self.width_bits)


def pack_cells(widths_bits: tuple[int, ...], start_bytes: int = 0) -> tuple[tuple[Cell, ...], int]:
    """Cells one after the other, each aligned to its size (at most a word), and the end of the last."""
    cells, offset = [], start_bytes
    for width in widths_bits:
        offset = round_up(offset, min(cell_bytes(width), WORD_BYTES))
        cells.append(Cell(offset, width))
        offset += cell_bytes(width)
    return tuple(cells), offset


@dataclass(frozen=True, slots=True)
class ScratchLayout:
    """Offsets of the headers that live in memory in a scratch area, and its size."""

    offsets: dict[str, int]
    size_bytes: int
    zero_bytes: int
    """Size of the largest header: the static area of zeros must be as large."""
