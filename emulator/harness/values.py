"""Numbers as people write them (addresses, digits of any base), and back again."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

from emulator.harness.errors import WrongTest
from emulator.ports.units import TIME_UNITS_NS

Value: TypeAlias = int | bool | str | bytes | ipaddress.IPv4Address | ipaddress.IPv6Address
MAC = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}|[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5}")
IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+")
DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s)\s*")
MAC_BITS, IPV4_BITS, IPV6_BITS = 48, 32, 128
SHORT_BITS = 16
"""Ether types and ports: people know some by hexadecimal, some by decimal digits."""
SMALL = 1 << 16
"""Numbers below are shown in decimal."""


def number(where: str, value: Value, width_bits: int) -> int:
    """The unsigned value; negative numbers are two's complement. Raises `WrongTest` that names ``where``."""
    integer, natural_bits = _read(where, value)
    if natural_bits > width_bits:
        raise WrongTest(f"{where} has {width_bits} bits: {value!r} is an address of {natural_bits}")
    if integer < 0 and -integer <= 1 << (width_bits - 1):
        integer += 1 << width_bits
    if integer < 0 or integer >> width_bits:
        raise WrongTest(f"{where} has {width_bits} bits: {value!r} does not fit")
    return integer


def _read(where: str, value: Value) -> tuple[int, int]:
    """(number, bits that its notation has by nature; 0: any)."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "big"), 0
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return int(value), value.max_prefixlen
    if not isinstance(value, str):
        try:
            return value.__index__(), 0
        except AttributeError:
            raise WrongTest(f"{where}: {value!r} is not a number, address or text of one") from None
    text = value.strip()
    if MAC.fullmatch(text):
        return int("".join(part.zfill(2) for part in re.split("[:-]", text)), 16), MAC_BITS
    try:
        if IPV4.fullmatch(text):
            return int(ipaddress.IPv4Address(text)), IPV4_BITS
        if ":" in text:
            return int(ipaddress.IPv6Address(text)), IPV6_BITS
        return int(text.replace(" ", "_"), 0), 0
    except ValueError:
        raise WrongTest(
            f"{where}: {value!r} is not a number: write 10, 0x0a, 0b1010, 10.0.0.1, 02:00:00:00:00:01 or 2001:db8::1"
        ) from None


def shown(value: int, width_bits: int) -> str:
    """Text for people: a MAC by its 48 bits, an IPv6 address by its 128, large numbers of 32 bits both ways."""
    if width_bits == MAC_BITS and value >= SMALL:
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    if width_bits == IPV6_BITS and value >= SMALL:
        return str(ipaddress.IPv6Address(value))
    if width_bits == SHORT_BITS and value >= 1 << 10:
        return f"{value:#06x} ({value})"
    if value < SMALL:
        return str(value)
    if width_bits == IPV4_BITS:
        return f"{value:#x} ({ipaddress.IPv4Address(value)})"
    return f"{value:#x}"


def duration_ns(value: str | int) -> int:
    """``"1.5ms"``, or nanoseconds. Raises `WrongTest`."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value >= 0:
            return value
        raise WrongTest(f"time runs forward only: {value} ns")
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise WrongTest(f"{value!r} is not a duration: write '5ms', '1.5s', '200us', or a number of nanoseconds")
    return round(float(match[1]) * TIME_UNITS_NS[match[2]])
