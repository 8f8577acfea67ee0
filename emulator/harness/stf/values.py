"""Conversion of the digits of a test to match values.

Masks and prefix lengths come from the digits written, not from the key's width: ``0x12`` on a 16-bit ternary key is the
value 0x0012 under the mask 0x00ff, as p4c's driver has it. ``&&&`` and ``..`` are ours and say what they mean.
"""

from __future__ import annotations

from emulator.harness.stf import syntax as s
from emulator.harness.stf.cursor import to_int
from emulator.harness.stf.errors import StfError, refuse
from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, Ternary
from emulator.v1model.control_view import KeyView


def fitted(line: int, what: str, text: str, width_bits: int) -> int:
    """The number, cut to the width inside its last byte (bmv2 does that); more bytes than the width has are refused."""
    if "*" in text:
        raise refuse(line, f"{what}: '*' has no meaning in {text}, which is matched or passed on whole")
    value = to_int(text)
    if value >> 8 * -(-width_bits // 8):
        raise refuse(line, f"{what}: {text} is larger than its {width_bits} bits")
    return value & ((1 << width_bits) - 1)


def by_digits(text: str) -> tuple[int, int] | None:
    """(value, mask): ones for each digit written, zeros for each ``*``; None for a decimal number."""
    base = text[:2].lower()
    if base not in ("0x", "0b"):
        return None
    width = 4 if base == "0x" else 1
    value = mask = 0
    for digit in text[2:]:
        wild = digit == "*"
        value = value << width | (0 if wild else int(digit, 16))
        mask = mask << width | (0 if wild else (1 << width) - 1)
    return value, mask


def field_match(match: s.Match, key: KeyView) -> FieldMatch | None:
    """What an entry says of a key; None where it says nothing. Raises `StfError` for what the kind does not take."""
    return _MAKERS[key.match_kind](match, key)


def _unfit(match: s.Match, key: KeyView) -> StfError:
    return refuse(match.line, f"key {key.name}: {_ALLOWED[key.match_kind]}")


def _exact(match: s.Match, key: KeyView) -> FieldMatch | None:
    if match.length or match.mask or match.high:
        raise _unfit(match, key)
    return Exact(key.id, fitted(match.line, f"key {key.name}", match.value, key.width_bits))


def _lpm(match: s.Match, key: KeyView) -> FieldMatch | None:
    if match.mask or match.high:
        raise _unfit(match, key)
    if match.length is not None:
        value = fitted(match.line, f"key {key.name}", match.value, key.width_bits)
        length = to_int(match.length)
    else:
        digits = match.value[2:]
        found = by_digits(match.value)
        if found is None or "*" in digits.rstrip("*"):
            raise _unfit(match, key)
        value = found[0] & ((1 << key.width_bits) - 1)
        length = len(digits.rstrip("*")) * (4 if match.value[1].lower() == "x" else 1)
    if length > key.width_bits:
        raise refuse(match.line, f"key {key.name}: a prefix of {length} bits, and the key has {key.width_bits}")
    ones = (1 << key.width_bits) - 1
    return Lpm(key.id, value & (ones ^ ones >> length), length) if length else None


def _masked(match: s.Match, key: KeyView) -> tuple[int, int]:
    if match.length or match.high:
        raise _unfit(match, key)
    if match.mask is not None:
        mask = fitted(match.line, f"mask of {key.name}", match.mask, key.width_bits)
        return fitted(match.line, f"key {key.name}", match.value, key.width_bits) & mask, mask
    found = by_digits(match.value)
    if found is None:
        raise _unfit(match, key)
    ones = (1 << key.width_bits) - 1
    return found[0] & ones, found[1] & ones


def _ternary(match: s.Match, key: KeyView) -> FieldMatch | None:
    value, mask = _masked(match, key)
    return Ternary(key.id, value, mask) if mask else None


def _optional(match: s.Match, key: KeyView) -> FieldMatch | None:
    """As a ternary key, which it is in bmv2's eyes; a plain decimal is the whole value."""
    ones = (1 << key.width_bits) - 1
    if match.mask is None and match.high is None and match.length is None and by_digits(match.value) is None:
        return Optional(key.id, fitted(match.line, f"key {key.name}", match.value, key.width_bits))
    value, mask = _masked(match, key)
    if mask == ones:
        return Optional(key.id, value)
    return Ternary(key.id, value, mask) if mask else None


def _range(match: s.Match, key: KeyView) -> FieldMatch | None:
    if match.length or match.mask:
        raise _unfit(match, key)
    low = fitted(match.line, f"key {key.name}", match.value, key.width_bits)
    high = low if match.high is None else fitted(match.line, f"key {key.name}", match.high, key.width_bits)
    if low > high:
        raise refuse(match.line, f"key {key.name}: the range {match.value}..{match.high} is empty")
    return None if (low, high) == (0, (1 << key.width_bits) - 1) else Range(key.id, low, high)


_MAKERS = {"exact": _exact, "lpm": _lpm, "ternary": _ternary, "optional": _optional, "range": _range}
_ALLOWED = {
    "exact": "an exact key takes one number",
    "lpm": "an lpm key takes VALUE/LENGTH, or 0x or 0b digits with '*' only at the end (each digit counts)",
    "ternary": "a ternary key takes 0x or 0b digits with '*' for any (the mask covers the digits written), or "
    "VALUE&&&MASK; not a plain decimal",
    "optional": "an optional key takes a number, or what a ternary key takes",
    "range": "a range key takes LOW..HIGH, or one number",
}
