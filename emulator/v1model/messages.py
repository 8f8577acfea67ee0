"""log_msg: messages of a program, as records that the switch keeps until they are read.

Both engines record numbers; the text is made when it is read. The rules of the braces are bmv2's: each pair is
replaced by the next value in decimal, whatever is between them; a backslash escapes a brace; a pair at the very
beginning is not replaced, for the search starts at the second character. A message with more or fewer values than pairs
ends bmv2; here the packet is dropped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.arithmetic import wrap
from emulator.p4.layout import WORD_BYTES, Cell, pack_cells, round_up, width_of

LOG_CAPACITY = 1024
"""Messages kept until they are taken; later ones are lost, counted."""

# The log's memory, in bytes: how many messages there are, then LOG_CAPACITY records: u64 number of the format, values.
LOG_COUNT = 0
LOG_HEADER_BYTES = 64


@dataclass(frozen=True, slots=True)
class Format:
    """One log_msg of the program, by what it prints."""

    text: str
    types: tuple[ir.Type, ...]

    @property
    def is_sound(self) -> bool:
        """The number of pairs of braces is that of the values."""
        return _pieces(self.text) is not None and len(_pieces(self.text) or ()) == len(self.types) + 1

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Where the values lie in a record."""
        return pack_cells(tuple(width_of(t) for t in self.types), WORD_BYTES)[0]

    def render(self, values: tuple[int, ...]) -> str:
        """``values`` are unsigned bit patterns; signed types are shown with their sign."""
        pieces = _pieces(self.text) or [self.text]
        shown = [str(wrap(v, t)) for v, t in zip(values, self.types, strict=True)]
        return "".join(piece + value for piece, value in zip(pieces, [*shown, ""], strict=True))


def format_of(call: ir.CallExtern) -> Format:
    text = call.arguments[0]
    assert isinstance(text, ir.Text)
    return Format(text.text, tuple(v.type for v in values_of(call)))


def values_of(call: ir.CallExtern) -> tuple[ir.Expr, ...]:
    data = call.arguments[1] if len(call.arguments) > 1 else ()
    assert not isinstance(data, ir.Text)
    return data if isinstance(data, tuple) else (data,)


def formats_of(program: ir.Program) -> tuple[Format, ...]:
    """All messages of the program, each once, in order of first mention."""
    from emulator.p4.ir import walk

    result: dict[Format, None] = {}
    for block in walk.root_blocks(program):
        for statement in walk.statements(block):
            if isinstance(statement, ir.CallExtern) and statement.name == "log_msg":
                result[format_of(statement)] = None
    return tuple(result)


def record_bytes(formats: tuple[Format, ...]) -> int:
    """Size of a record that holds any of them."""
    ends = (pack_cells(tuple(width_of(t) for t in f.types), WORD_BYTES)[1] for f in formats)
    return round_up(max(ends), WORD_BYTES)


def _pieces(text: str) -> list[str] | None:
    """The text between the pairs of braces, backslashes taken off; None when a brace isn't closed."""
    pieces, start, position = [], 0, 1
    while (opening := _brace(text, "{", position)) >= 0:
        closing = _brace(text, "}", opening + 1)
        if closing < 0:
            return None
        pieces.append(text[start:opening])
        start = closing + 1
        position = max(start, 1)
    pieces.append(text[start:])
    return [p.replace("\\{", "{").replace("\\}", "}") for p in pieces]


def _brace(text: str, brace: str, start: int) -> int:
    """The next brace without a backslash before it; -1: none."""
    position = text.find(brace, start)
    while position > 0 and text[position - 1] == "\\":
        position = text.find(brace, position + 1)
    return position
