"""What a device config's bytes are: a package of P4 source, or bmv2's JSON, bare or in the wrapper of old controllers.

The wrapper is the message p4.tmp.P4DeviceConfig of the first P4Runtime drafts: ``bool reassign = 1``, a message
``extras = 2``, ``bytes device_data = 3``. It is read by hand, for its proto is in no release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from emulator.bmv2json.document import looks_like_json
from emulator.p4runtime.pipeline.package import Package, PackageError, unpack

ZIP_START = b"PK"
DEVICE_DATA = 3
VARINT, EIGHT_BYTES, DELIMITED, FOUR_BYTES = 0, 1, 2, 5
"""Wire types of protobuf."""


BEGINNING_BYTES = 4096
"""Enough to see, behind blank lines, whether a file is JSON."""


@dataclass(frozen=True, slots=True)
class JsonConfig:
    """bmv2's JSON, and the P4Info that came with it, serialized; empty: none did."""

    content: bytes
    p4info: bytes = b""


DeviceConfig: TypeAlias = Package | JsonConfig


def read_device_config(message: Any) -> DeviceConfig:
    """The program in a ForwardingPipelineConfig, by its first bytes. Raises PackageError."""
    content: bytes = message.p4_device_config
    if not content.startswith(ZIP_START) and not looks_like_json(content):
        content = unwrap(content)
    if looks_like_json(content):
        given = message.HasField("p4info") and message.p4info.ByteSize()
        return JsonConfig(content, message.p4info.SerializeToString(deterministic=True) if given else b"")
    if not content.startswith(ZIP_START):
        what = "neither a package (a zip; `netsum package PROGRAM.p4` makes one) nor bmv2's JSON"
        raise PackageError(f"the device config is {what}" if content else "the device config is empty")
    return unpack(content)


def read_config_file(path: str) -> DeviceConfig | None:
    """A program in a file of bmv2's JSON, or a package; None where the file is something else, or cannot be read.

    Raises PackageError.
    """
    try:
        with open(path, "rb") as file:
            beginning = file.read(BEGINNING_BYTES)
            if not beginning.startswith(ZIP_START) and not looks_like_json(beginning):
                return None
            content = beginning + file.read()
    except OSError:
        return None
    if not content.startswith(ZIP_START):
        return JsonConfig(content)
    try:
        return unpack(content)
    except PackageError as error:
        raise PackageError(f"{path}: {error}") from None


def unwrap(content: bytes) -> bytes:
    """The ``device_data`` of a P4DeviceConfig; the content itself where it is not such a message."""
    try:
        found = [value for number, value in _fields(content) if number == DEVICE_DATA]
    except (IndexError, ValueError):
        return content
    return found[-1] if found else content


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, content) of a message's fields; of length-delimited ones the content. Raises IndexError, ValueError."""
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        number, kind = tag >> 3, tag & 7
        if kind == DELIMITED:
            size, position = _varint(content, position)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        elif kind == VARINT:
            _, end = _varint(content, position)
            size = end - position
        else:
            raise ValueError(kind)
        if number == 0 or position + size > len(content):
            raise ValueError(number)
        yield number, content[position : position + size]
        position += size


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """A number and the position behind it."""
    value = shift = 0
    while True:
        byte = content[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
        if shift > 63:
            raise ValueError(position)
