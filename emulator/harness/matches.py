"""What an entry says of a key, as people write it, by the key's match kind.

exact      VALUE
lpm        "10.0.0.0/8", (VALUE, LENGTH), or a whole VALUE
ternary    "VALUE&&&MASK", (VALUE, MASK), "10.0.0.0/8", "0x08**", a whole VALUE, "*" for anything
range      "LOW..HIGH", (LOW, HIGH), one VALUE, "*"
optional   VALUE, "*"
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from emulator.harness.errors import WrongTest
from emulator.harness.names import find
from emulator.harness.values import IPV4_BITS, number, shown
from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, Ternary
from emulator.v1model.control_view import KeyView, TableView

ANYTHING = ("*", "_", None)


def entry_match(table: TableView, match: dict[str, Any]) -> tuple[FieldMatch, ...]:
    """Match fields in ascending field id; keys that are not mentioned match anything. Raises `WrongTest`."""
    matches: dict[int, FieldMatch | None] = {}
    for name, value in match.items():
        key = find(f"key of table {table.name}", name, table.keys)
        if key.id in matches:
            raise WrongTest(f"table {table.name}: key {key.name} is given twice")
        matches[key.id] = field_match(f"table {table.name}, key {key.name}", key, value)
    missing = [k.name for k in table.keys if k.match_kind == "exact" and k.id not in matches]
    if missing:
        raise WrongTest(f"table {table.name}: an exact key cannot be left out: {', '.join(missing)}")
    return tuple(m for _, m in sorted(matches.items()) if m is not None)


def field_match(where: str, key: KeyView, value: Any) -> FieldMatch | None:
    """None where it matches anything."""
    if key.match_kind == "exact":
        return Exact(key.id, number(where, value, key.width_bits))
    if isinstance(value, str | None) and value in ANYTHING:
        return None
    if key.match_kind == "lpm":
        return _lpm(where, key, value)
    if key.match_kind == "ternary":
        found, mask = masked(where, value, key.width_bits)
        return Ternary(key.id, found, mask) if mask else None
    if key.match_kind == "range":
        return _range(where, key, value)
    return Optional(key.id, number(where, value, key.width_bits))


def _lpm(where: str, key: KeyView, value: Any) -> FieldMatch | None:
    found, length = _prefix(where, value, key.width_bits)
    return Lpm(key.id, found, length) if length else None


def _prefix(where: str, value: Any, width_bits: int) -> tuple[int, int]:
    length: Any = width_bits
    if isinstance(value, str) and "/" in value:
        value, _, length = value.partition("/")
    elif isinstance(value, tuple):
        value, length = value
    elif isinstance(value, ipaddress.IPv4Network | ipaddress.IPv6Network):
        value, length = value.network_address, value.prefixlen
    bits, size = number(where, value, width_bits), int(length)
    if not 0 <= size <= width_bits:
        raise WrongTest(f"{where} has {width_bits} bits: a prefix of {size} is none")
    kept = bits >> (width_bits - size) << (width_bits - size)
    if kept != bits:
        raise WrongTest(
            f"{where}: {shown(bits, width_bits)} has bits beyond its prefix of {size}; "
            f"did you mean {prefix_text(kept, size, width_bits)}?"
        )
    return bits, size


def masked(where: str, value: Any, width_bits: int) -> tuple[int, int]:
    """(value, mask), the value cut to the mask."""
    ones = (1 << width_bits) - 1
    if isinstance(value, str) and "&&&" in value:
        value = tuple(part.strip() for part in value.split("&&&", 1))
    elif isinstance(value, str) and "/" in value:
        found, length = _prefix(where, value, width_bits)
        return found, ones ^ ones >> length
    elif isinstance(value, str) and value[:2].lower() in ("0x", "0b") and "*" in value:
        mask = number(where, value[:2] + _wild(value), width_bits)
        return number(where, value.replace("*", "0"), width_bits), mask
    if isinstance(value, tuple):
        mask = number(f"{where}, mask", value[1], width_bits)
        return number(where, value[0], width_bits) & mask, mask
    return number(where, value, width_bits), ones


def _digit_bits(text: str) -> int:
    return 4 if text[1] in "xX" else 1


def _wild(text: str) -> str:
    """The mask's digits: ones for each digit written, zeros for each ``*``."""
    full = "f" if _digit_bits(text) == 4 else "1"
    return "".join("0" if digit == "*" else full for digit in text[2:])


def _range(where: str, key: KeyView, value: Any) -> FieldMatch | None:
    ends = value
    if isinstance(value, str) and ".." in value:
        ends = tuple(part.strip() for part in value.split("..", 1))
    elif isinstance(value, range):
        if value.step != 1 or not value:
            raise WrongTest(f"{where}: {value!r} is not a range of neighbours")
        ends = (value.start, value.stop - 1)
    if not isinstance(ends, tuple):
        ends = (ends, ends)
    low, high = (number(where, end, key.width_bits) for end in ends)
    if low > high:
        raise WrongTest(f"{where}: the range {value!r} is empty")
    return None if (low, high) == (0, (1 << key.width_bits) - 1) else Range(key.id, low, high)


# --- Back to text ---------------------------------------------------------------------------------------------------


def prefix_text(value: int, length: int, width_bits: int) -> str:
    """``10.0.0.0/8`` for what is as wide as an IPv4 address."""
    text = str(ipaddress.IPv4Address(value)) if width_bits == IPV4_BITS else shown(value, width_bits)
    return f"{text}/{length}"


def match_text(table: TableView, match: Iterable[FieldMatch]) -> str:
    """What `entry_match` made, keys that match anything left out."""
    keys = {k.id: k for k in table.keys}
    return ", ".join(f"{keys[m.field_id].name}={parts_text(keys[m.field_id], *_parts(keys, m))}" for m in match)


def _parts(keys: Mapping[int, KeyView], match: FieldMatch) -> tuple[int, int]:
    """As `parts_text` takes them."""
    ones = (1 << keys[match.field_id].width_bits) - 1
    match match:
        case Range(_, low, high):
            return low, high
        case Ternary(_, value, mask):
            return value, mask
        case Lpm(_, value, length):
            return value, ones ^ ones >> length
        case Exact(_, value) | Optional(_, value):
            return value, ones


def parts_text(key: KeyView, first: int, second: int) -> str:
    """A key of an entry in place: (low, high) of a range key, else (value, mask)."""
    width, ones = key.width_bits, (1 << key.width_bits) - 1
    if key.match_kind == "range":
        return "*" if (first, second) == (0, ones) else f"{shown(first, width)}..{shown(second, width)}"
    if second == 0:
        return "*"
    if key.match_kind == "lpm":
        return prefix_text(first, second.bit_count(), width)
    return shown(first, width) if second == ones else f"{shown(first, width)}&&&{second:#x}"
