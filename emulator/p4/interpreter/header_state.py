"""A header as the interpreter holds it: one integer per field."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.p4 import ir
from emulator.p4.arithmetic import unsigned, wrap


@dataclass(slots=True)
class HeaderState:
    type: ir.HeaderType
    valid: bool = False
    fields: dict[str, int] = field(default_factory=dict)
    """Values by field name; missing ones are 0. A varbit field is the number that its current bits make."""
    varbit_width: int = 0
    """Bits that the varbit field has now, if there is one."""

    @property
    def fixed_bits(self) -> int:
        """Width without the varbit field."""
        varbit = self.type.varbit
        return self.type.length_bits - (varbit.width_bits if varbit is not None else 0)

    @property
    def wire_bytes(self) -> int:
        """What ``emit`` writes now."""
        return -(-(self.fixed_bits + self.varbit_width) // 8)

    def clear(self) -> None:
        self.fields.clear()
        self.varbit_width = 0

    def bits(self) -> int:
        """All fields as one number, first field on top, a varbit field's bits first in its full width."""
        return int(self._text(full=True) or "0", 2)

    def wire(self) -> bytes:
        """The bytes to emit; an odd rest of bits is filled up with zeros."""
        text = self._text(full=False).ljust(self.wire_bytes * 8, "0")
        return int(text or "0", 2).to_bytes(self.wire_bytes, "big")

    def _text(self, *, full: bool) -> str:
        return "".join(self._field_text(f, full=full) for f in self.type.fields)

    def _field_text(self, f: ir.HeaderField, *, full: bool) -> str:
        value = self.fields.get(f.name, 0)
        if not isinstance(f.type, ir.VarBits):
            return f"{unsigned(value, f.type):0{f.width_bits}b}"
        text = f"{value:0{self.varbit_width}b}" if self.varbit_width else ""
        return text.ljust(f.width_bits, "0") if full else text

    def load(self, content: bytes, varbit_width: int = 0) -> None:
        """Read the fields from the wire; in text, for shifting a long number once per field takes quadratic time."""
        text = f"{int.from_bytes(content, 'big'):0{len(content) * 8}b}"
        position = 0
        for f in self.type.fields:
            width = varbit_width if isinstance(f.type, ir.VarBits) else f.width_bits
            self.fields[f.name] = wrap(int(text[position : position + width] or "0", 2), f.type)
            position += width
        self.varbit_width = varbit_width
