"""Match keys as rows have them, as the switch's control interface tells them one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, RowKey, Ternary
from emulator.v1model.view import KeyParts

RowKeys: TypeAlias = tuple[RowKey, ...]


def is_given(key: RowKey, pair: tuple[int, int]) -> bool:
    """Whether a message has the field: it is left out where it matches anything."""
    return pair != key.anything or key.match_kind == "exact"


def match_of(keys: RowKeys, parts: KeyParts) -> tuple[FieldMatch, ...]:
    """In ascending field id, as an entry's key has it."""
    found = [
        MATCHES[key.match_kind](key.field_id, *pair)
        for key, pair in zip(keys, parts, strict=True)
        if is_given(key, pair)
    ]
    return tuple(sorted(found, key=lambda part: part.field_id))


def _lpm(number: int, value: int, mask: int) -> Lpm:
    return Lpm(number, value, mask.bit_count())


MATCHES: Mapping[str, Callable[[int, int, int], FieldMatch]] = {
    "exact": lambda number, value, _: Exact(number, value),
    "lpm": _lpm,
    "ternary": Ternary,
    "range": Range,
    "optional": lambda number, value, _: Optional(number, value),
}
"""From a field's id and its pair in a row."""
