"""The header as a scapy layer, for people and tests. Importing this module imports scapy, which takes a while."""

from __future__ import annotations

from typing import Any

from scapy.fields import BitField, FieldListField, IntField
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

from hostagent.protocol.wire import HEADER, NETSUM_PORT, NETSUM_VERSION, Kind, Operator

NAMES: dict[str, type[Kind] | type[Operator]] = {"kind": Kind, "operator": Operator}
"""Fields with named values."""


class Netsum(Packet):
    """Header and lanes, behind UDP port 48864 in either direction."""

    name = "netsum"
    fields_desc = [
        *(BitField(field.name, NETSUM_VERSION if field.name == "version" else 0, field.width_bits) for field in HEADER),
        FieldListField("lane", [], IntField("", 0), count_from=lambda packet: packet.lanes),
    ]

    def mysummary(self) -> str:
        """One line: kind, operator, job, child, epoch and chunk, by name where there is one."""
        names: dict[str, Any] = {name: self.getfieldval(name) for name in ("kind", "operator")}
        for name, members in NAMES.items():
            if names[name] in list(members):
                names[name] = members(names[name]).name.lower()
        where = f"job {self.job} child {self.child} epoch {self.epoch} chunk {self.chunk}"
        return f"netsum {names['kind']} ({names['operator']}) {where}"


bind_layers(UDP, Netsum, dport=NETSUM_PORT)
bind_layers(UDP, Netsum, sport=NETSUM_PORT)
