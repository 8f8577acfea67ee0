"""Where the fields of a frame lie, and what they hold: by scapy's layers, or by the headers that the deparser wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.harness.values import shown
from emulator.harness.walk.events import Placed
from emulator.p4 import ir

PAYLOAD = "payload"


@dataclass(frozen=True, slots=True)
class Field:
    """A stretch of bits of a frame, the most significant first."""

    group: str
    """The layer (the second one of a kind is ``IP[1]``), or the header."""
    name: str
    offset_bits: int
    width_bits: int
    text: str

    @property
    def path(self) -> str:
        return f"{self.group}.{self.name}" if self.name else self.group


def scapy_fields(packet: Any) -> list[Field]:
    """The fields of a scapy packet, by building its layers field by field; ``packet`` may be made or dissected.

    Values and places are those of the built packet: lengths and checksums are there.
    """
    whole = packet.__class__(bytes(packet))
    found: list[Field] = []
    offset, seen = 0, {}  # type: ignore[var-annotated]
    layer = whole
    while layer and layer.__class__.__name__ not in ("NoPayload",):
        kind = layer.__class__.__name__
        number = seen[kind] = seen.get(kind, -1) + 1
        group = f"{kind}[{number}]" if number else kind
        mine = list(_layer_fields(group, layer, offset))
        found += mine
        offset = mine[-1].offset_bits + mine[-1].width_bits if mine else offset
        layer = layer.payload
    return found


def _layer_fields(group: str, layer: Any, start_bits: int) -> Iterable[Field]:
    built: Any = b""
    position = 0
    for description in layer.fields_desc:
        value = layer.getfieldval(description.name)
        built = description.addfield(layer, built, value)
        end = len(built[0]) * 8 + built[1] if isinstance(built, tuple) else len(built) * 8
        if end > position:
            text = _text(description, layer, value)
            yield Field(group, description.name, start_bits + position, end - position, text)
        position = end


def _text(description: Any, layer: Any, value: Any) -> str:
    try:
        return str(description.i2repr(layer, value))
    except Exception:
        # a field of somebody's own that can't show itself
        return repr(value)


def header_fields(headers: Sequence[Placed], content: bytes) -> list[Field]:
    """The fields of the headers that the deparser wrote, then the payload."""
    bits = int.from_bytes(content, "big")
    found: list[Field] = []
    end = 0
    for placed in headers:
        offset = placed.offset_bytes * 8
        for f in placed.type.fields:
            width = placed.varbit_width if isinstance(f.type, ir.VarBits) else f.width_bits
            if width:
                found.append(_header_field(placed.name, f.name, offset, width, bits, len(content) * 8))
            offset += width
        end = -(-offset // 8) * 8
    rest = len(content) * 8 - end
    if rest > 0:
        found.append(Field(PAYLOAD, "", end, rest, content[end // 8 :].hex()))
    return found


def _header_field(group: str, name: str, offset: int, width: int, bits: int, size: int) -> Field:
    if offset + width > size:
        return Field(group, name, offset, width, "(cut off)")
    value = bits >> (size - offset - width) & ((1 << width) - 1)
    return Field(group, name, offset, width, shown(value, width))
