"""Quantities as people write them (``100Mbit``, ``250us``, ``64KiB``), as integers of one unit, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping

TIME_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
RATE_UNITS_BPS = {"bit": 1, "kbit": 1_000, "Mbit": 1_000_000, "Gbit": 1_000_000_000}
SIZE_UNITS_BYTES = {"B": 1, "KB": 10**3, "KiB": 1 << 10, "MB": 10**6, "MiB": 1 << 20, "GB": 10**9, "GiB": 1 << 30}

QUANTITY = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,19})?)\s*([A-Za-z]+)")


def quantity(text: str, units: Mapping[str, int]) -> int:
    """``1.5ms`` with `TIME_UNITS_NS`: 1,500,000, rounded; case does not matter. Raises ValueError naming the units."""
    match = QUANTITY.fullmatch(text.strip())
    scale = {name.lower(): value for name, value in units.items()}.get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise ValueError(f"{text!r} is not a number with one of the units {', '.join(units)}")
    return round(float(match[1]) * scale) if "." in match[1] else int(match[1]) * scale


def quantity_text(value: int, units: Mapping[str, int]) -> str:
    """What `quantity` reads as ``value``, in the largest unit that gives a whole number."""
    name, scale = max(((n, s) for n, s in units.items() if value % s == 0 and s <= max(value, 1)), key=lambda u: u[1])
    return f"{value // scale}{name}"


def size_bytes(text: str) -> int:
    """``2GiB``, ``500MB`` or a bare number of bytes. Raises ValueError."""
    try:
        return int(text) if text.isascii() and text.isdigit() else quantity(text, SIZE_UNITS_BYTES)
    except ValueError:
        raise ValueError(f"{text!r} is not a size; write 64KiB, 500MB or a number of bytes") from None


def size_text(size_bytes: float) -> str:
    """As ``8.4 MB``, in powers of ten as the rates of links are; rounded to three digits."""
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size_bytes >= power:
            return f"{size_bytes / power:.3g} {unit}"
    return f"{size_bytes:g} B"
