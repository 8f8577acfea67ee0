"""The header as a scapy layer, for people and tests. Importing this module imports scapy, which takes a while."""

from __future__ import annotations

import struct
from typing import Any

from scapy.fields import BitField, Field
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

from hostagent.protocol.wire import FORWARDED_KINDS, HEADER, LANE_BYTES, NETSUM_PORT, NETSUM_VERSION, Kind, Operator

NAMES: dict[str, type[Kind] | type[Operator]] = {"kind": Kind, "operator": Operator}
"""Fields with named values."""


class Lanes(Field[list[int], list[int]]):
    """As many unsigned 32-bit integers as the header says, or as there are. Scapy's FieldListField takes one object
    for each."""

    islist = 1

    def addfield(self, pkt: Packet, s: bytes, val: list[int] | None) -> bytes:
        return s + struct.pack(f">{len(val or [])}I", *(val or []))

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, list[int]]:
        count = min(pkt.lanes, len(s) // LANE_BYTES)
        return s[count * LANE_BYTES :], list(struct.unpack_from(f">{count}I", s))


class Netsum(Packet):
    """Header and lanes, behind UDP port 48864 in either direction. The bytes of a message are its payload (Raw)."""

    name = "netsum"
    fields_desc = [
        *(BitField(field.name, NETSUM_VERSION if field.name == "version" else 0, field.width_bits) for field in HEADER),
        Lanes("lane", []),
    ]

    def mysummary(self) -> str:
        """One line: kind, operator, job, child, epoch and chunk, by name where there is one."""
        names: dict[str, Any] = {name: self.getfieldval(name) for name in ("kind", "operator")}
        for name, members in NAMES.items():
            if names[name] in list(members):
                names[name] = members(names[name]).name.lower()
        kind, job, place = names["kind"], f"job {self.job}", f"epoch {self.epoch} chunk {self.chunk}"
        if self.kind in FORWARDED_KINDS:
            return f"netsum {kind} {job} child {self.child} to {self.peer} {place} fragment {self.operation}"
        return f"netsum {kind} ({names['operator']}) {job} child {self.child} {place}"


bind_layers(UDP, Netsum, dport=NETSUM_PORT)
bind_layers(UDP, Netsum, sport=NETSUM_PORT)
