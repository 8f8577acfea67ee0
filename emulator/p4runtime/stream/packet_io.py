"""PacketIn and PacketOut: metadata as the header in front of the packet (P4Runtime, "Packet I/O")."""

from __future__ import annotations

from typing import Any

from emulator.p4runtime.entities.bytestrings import BytestringError, decode, encode
from emulator.p4runtime.errors import invalid
from emulator.p4runtime.pipeline.schema import PacketHeaderSchema
from emulator.rpc.p4protos import p4runtime_pb2


def frame_of(header: PacketHeaderSchema | None, message: Any) -> bytes:
    """The frame that enters the switch for a PacketOut. INVALID_ARGUMENT for unknown metadata.

    Fields that are left out are zero, as bmv2 has it: controllers leave out padding.
    """
    values = _values_of(header, message.metadata)
    if header is None:
        return bytes(message.payload)
    bits, width = 0, 0
    for field in header.fields:
        bits, width = bits << field.width_bits | values.get(field.id, 0), width + field.width_bits
    return (bits << -width % 8).to_bytes((width + 7) // 8, "big") + bytes(message.payload)


def _values_of(header: PacketHeaderSchema | None, metadata: Any) -> dict[int, int]:
    fields = {field.id: field for field in header.fields} if header else {}
    values: dict[int, int] = {}
    for item in metadata:
        field = fields.get(item.metadata_id)
        if field is None:
            raise invalid(f"packet_out has no metadata with id {item.metadata_id}")
        if field.id in values:
            raise invalid(f"packet_out, metadata {field.name} occurs twice")
        try:
            values[field.id] = decode(item.value, field.width_bits)
        except BytestringError as error:
            raise invalid(f"packet_out, metadata {field.name}: {error}") from None
    return values


def packet_in_of(header: PacketHeaderSchema | None, frame: bytes) -> Any | None:
    """The StreamMessageResponse for a frame sent to the CPU port; None when it is shorter than the header."""
    response = p4runtime_pb2.StreamMessageResponse()
    packet = response.packet
    if header is None:
        packet.payload = frame
        return response
    width = sum(field.width_bits for field in header.fields)
    size = (width + 7) // 8
    if len(frame) < size:
        return None
    packet.payload = frame[size:]
    bits, left = int.from_bytes(frame[:size], "big"), 8 * size
    for field in header.fields:
        left -= field.width_bits
        packet.metadata.add(metadata_id=field.id, value=encode(bits >> left & (1 << field.width_bits) - 1))
    return response
