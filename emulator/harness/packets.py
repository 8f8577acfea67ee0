"""Packets as tests give them: scapy's, bytes, or hex digits with ``*`` for any nibble; and what of them counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.harness.errors import WrongTest
from emulator.harness.frame_fields import Field, header_fields, scapy_fields
from emulator.harness.names import unknown
from emulator.harness.walk.events import Placed

Packet: TypeAlias = Any
"""A scapy packet, bytes, or a text of hex digits."""
Ignored: TypeAlias = str | range | slice
"""A field by name (``IP.id``, a whole layer ``IP``, ``hdr.ipv4.ttl``), or a stretch of bytes."""

HEX = re.compile(r"(0[xX])?[0-9a-fA-F*\s:._]*")
BLANKS = re.compile(r"[\s:._]")


def content_of(packet: Packet) -> bytes:
    """The frame to send. Raises `WrongTest`."""
    if isinstance(packet, str):
        digits = _digits(packet)
        if "*" in digits:
            raise WrongTest("a packet to send has no '*': only an expected one may leave digits open")
        return bytes.fromhex(digits)
    return _built(packet)


def _digits(text: str) -> str:
    if not HEX.fullmatch(text):
        raise WrongTest(f"{text[:40]!r} is not a packet: write hex digits, give bytes, or a scapy packet")
    digits = BLANKS.sub("", text.removeprefix("0x").removeprefix("0X"))
    if len(digits) % 2:
        raise WrongTest(f"a packet is whole bytes, and {len(digits)} is an odd number of hex digits")
    return digits


def _built(packet: Packet) -> bytes:
    if isinstance(packet, bytes | bytearray | memoryview) or is_scapy(packet):
        return bytes(packet)
    hint = ", one at a time" if isinstance(packet, list | tuple) else ""
    raise WrongTest(f"{type(packet).__name__} is not a packet: give a scapy packet, bytes, or hex digits as text{hint}")


def is_scapy(packet: Packet) -> bool:
    return hasattr(packet, "fields_desc") and hasattr(packet, "payload")


@dataclass(frozen=True, slots=True)
class Expected:
    """A packet that a test expects, and which bits of it count."""

    content: bytes
    mask: bytes
    """As long as the content; ones count."""
    is_prefix: bool
    """What follows the content counts for nothing."""
    packet: Packet
    """As the test gave it."""

    def matches(self, received: bytes) -> bool:
        size = len(self.content)
        if len(received) < size or (len(received) != size and not self.is_prefix):
            return False
        difference = int.from_bytes(received[:size], "big") ^ int.from_bytes(self.content, "big")
        return difference & int.from_bytes(self.mask, "big") == 0

    def differs_at(self, received: bytes, offset_bits: int, width_bits: int) -> bool:
        """Do bits that count differ there? Bits that only one of the two has do."""
        end = offset_bits + width_bits
        if end > len(received) * 8 or end > len(self.content) * 8:
            return end <= len(self.content) * 8 or (end <= len(received) * 8 and not self.is_prefix)
        ones = (1 << width_bits) - 1

        def cut(content: bytes) -> int:
            return int.from_bytes(content, "big") >> (len(content) * 8 - end) & ones

        return bool((cut(received) ^ cut(self.content)) & cut(self.mask))


def expected(
    packet: Packet,
    *,
    ignore: Iterable[Ignored] = (),
    mask: bytes | str | int | None = None,
    prefix: bool = False,
    headers: Sequence[Placed] = (),
) -> Expected:
    """``headers`` are those that the deparser wrote into the received packet; names that scapy lacks mean them."""
    if isinstance(packet, str):
        digits = _digits(packet)
        content = bytes.fromhex(digits.replace("*", "0"))
        bits = int("".join("0" if d == "*" else "f" for d in digits) or "0", 16)
    else:
        content = _built(packet)
        bits = (1 << len(content) * 8) - 1
    size = len(content) * 8
    if mask is not None:
        bits &= _mask(mask, len(content))
    ignored = [ignore] if isinstance(ignore, str | range | slice) else list(ignore)
    if ignored:
        fields = scapy_fields(packet) if is_scapy(packet) else []
        for what in ignored:
            for offset, width in _places(what, fields, headers, content):
                width = min(width, size - offset)
                bits &= ~(((1 << max(width, 0)) - 1) << max(size - offset - width, 0))
    return Expected(content, bits.to_bytes(len(content), "big"), prefix, packet)


def names_headers(ignore: Iterable[Ignored], packet: Packet) -> bool:
    """Does any of the names mean a header of the program rather than a layer of the packet?"""
    ignored = [ignore] if isinstance(ignore, str) else list(ignore)
    fields = scapy_fields(packet) if is_scapy(packet) else []
    return any(isinstance(what, str) and not _named(what, fields) for what in ignored)


def _mask(mask: bytes | str | int, size: int) -> int:
    if isinstance(mask, int):
        value = mask
    else:
        content = bytes.fromhex(_digits(mask)) if isinstance(mask, str) else mask
        if len(content) != size:
            raise WrongTest(f"the mask has {len(content)} bytes and the packet {size}")
        value = int.from_bytes(content, "big")
    if value < 0 or value >> size * 8:
        raise WrongTest(f"the mask has more bits than the packet of {size} bytes")
    return value


def _places(what: Ignored, fields: list[Field], headers: Sequence[Placed], content: bytes) -> list[tuple[int, int]]:
    if isinstance(what, slice):
        what = range(*what.indices(len(content)))
    if isinstance(what, range):
        return [(byte * 8, 8) for byte in what if 0 <= byte < len(content)]
    own = header_fields(headers, content)
    # the program may call its headers otherwise than hdr: h.ip.ttl is hdr.ip.ttl
    found = _named(what, fields) or _named(what, own) or _named(what.partition(".")[2], own)
    if not found:
        known = list(dict.fromkeys(f.path for f in (*fields, *own)))
        raise WrongTest(unknown("field to ignore", what, known))
    return [(f.offset_bits, f.width_bits) for f in found]


def _named(name: str, fields: Iterable[Field]) -> list[Field]:
    """A field by its path or the path's end, or all fields of a layer or header."""
    every = list(fields)
    exact = [f for f in every if name in (f.path, f.group)]
    return exact or [f for f in every if f.path.endswith("." + name) or f.group.endswith("." + name)]
