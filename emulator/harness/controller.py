"""Headers in front of packets to and from the controller, by the names of their fields in P4Info."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.harness.errors import WrongTest
from emulator.harness.names import unknown
from emulator.harness.values import number

PACKET_IN, PACKET_OUT = "packet_in", "packet_out"
"""P4Runtime, "Packet I/O": to the controller, and from it."""


@dataclass(frozen=True, slots=True)
class ControllerHeader:
    """A header that the program declares with ``@controller_header(NAME)``."""

    name: str
    fields: tuple[tuple[str, int], ...]
    """(name, width in bits), in order."""

    def content(self, values: Mapping[str, Any]) -> bytes:
        """The header; fields that are not given are 0. Raises `WrongTest`."""
        names = [name for name, _ in self.fields]
        for name in values:
            if name not in names:
                raise WrongTest(unknown(f"field of header {self.name}", name, names))
        bits, size = 0, 0
        for name, width in self.fields:
            bits = bits << width | number(f"header {self.name}, field {name}", values.get(name, 0), width)
            size += width
        padding = -size % 8
        return (bits << padding).to_bytes((size + padding) // 8, "big")


def controller_headers(p4info: Any) -> dict[str, ControllerHeader]:
    """By name."""
    headers = (
        ControllerHeader(c.preamble.name, tuple((m.name, m.bitwidth) for m in c.metadata))
        for c in p4info.controller_packet_metadata
    )
    return {header.name: header for header in headers}
