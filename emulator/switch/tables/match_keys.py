"""Match keys: from what a control plane says to numbers that are compared, back again, and compared.

bmv2's rules (behavioral-model, bm_sim/match_units): a table's overall kind is range if any key is, else ternary if any
key is ternary or optional, else lpm if any is, else exact. In range and ternary tables entries have priorities and an
lpm key is just a mask; in lpm tables the longest prefix wins.
"""

from __future__ import annotations

from collections.abc import Callable

from emulator.switch.control import (
    Code,
    ControlError,
    Exact,
    FieldMatch,
    Lpm,
    Optional,
    Range,
    RowKey,
    Ternary,
    ValueSetMember,
)
from emulator.v1model.control_view import KeyParts, KeyView, TableView, TupleView


class MatchKeys:
    """The match keys of one table."""

    def __init__(self, view: TableView) -> None:
        self._table = view.name
        self._keys = view.keys
        self._has_priority = view.has_priority
        self._positions = {k.id: i for i, k in enumerate(view.keys)}
        self._anything = tuple((0, (1 << k.width_bits) - 1 if k.match_kind == "range" else 0) for k in view.keys)
        self._prefixes = [i for i, k in enumerate(view.keys) if k.match_kind == "lpm"]
        self._exact = [i for i, k in enumerate(view.keys) if k.match_kind == "exact"]
        self._order = sorted(range(len(view.keys)), key=lambda i: view.keys[i].id)

    def parts(self, match: tuple[FieldMatch, ...]) -> KeyParts:
        """INVALID_ARGUMENT for unknown fields, wrong kinds, values out of range."""
        parts = list(self._anything)
        for given in match:
            position = self._positions.get(given.field_id)
            if position is None:
                raise self._invalid(f"table {self._table} has no match field with id {given.field_id}")
            key = self._keys[position]
            convert = _FROM.get((key.match_kind, type(given)))
            if convert is None:
                raise self._invalid(f"{self._where(key)}: the key is {key.match_kind}, not {type(given).__name__}")
            first, second = convert(given, (1 << key.width_bits) - 1)
            self._check(key, first, second)
            parts[position] = (first, second)
        for i in self._exact:
            if not parts[i][1]:
                raise self._invalid(f"table {self._table}: the exact field {self._keys[i].name} is missing")
        return tuple(parts)

    def match(self, parts: KeyParts) -> tuple[FieldMatch, ...]:
        """Fields that don't match everything, in ascending field id."""
        found = []
        for i in self._order:
            if parts[i] != self._anything[i] or self._keys[i].match_kind == "exact":
                found.append(_TO[self._keys[i].match_kind](self._keys[i].id, *parts[i]))
        return tuple(found)

    def row_keys(self) -> tuple[RowKey, ...]:
        keys = zip(self._keys, self._anything, strict=True)
        return tuple(RowKey(key.id, key.match_kind, key.width_bits, anything) for key, anything in keys)

    def priority(self, parts: KeyParts, priority: int) -> int:
        """The one to compare by: without priorities the longest prefix wins, so its length is used instead."""
        if self._has_priority:
            return priority
        return sum(parts[i][1].bit_count() for i in self._prefixes) if self._prefixes else 0

    def matches(self, parts: KeyParts, values: tuple[int, ...]) -> bool:
        """Do a packet's values match?"""
        for value, (first, second), key in zip(values, parts, self._keys, strict=True):
            inside = first <= value <= second if key.match_kind == "range" else value & second == first
            if not inside:
                return False
        return True

    def _check(self, key: KeyView, first: int, second: int) -> None:
        ones = (1 << key.width_bits) - 1
        if key.match_kind == "range":
            if not 0 <= first <= second <= ones:
                raise self._invalid(f"{self._where(key)}: {first} .. {second} is not a range of {key.width_bits} bits")
        elif not 0 <= first <= ones or not 0 <= second <= ones or first & ~second:
            raise self._invalid(f"{self._where(key)}: {first:#x} is not in {second & ones:#x}")

    def _where(self, key: KeyView) -> str:
        return f"table {self._table}, field {key.name}"

    def _invalid(self, message: str) -> ControlError:
        return ControlError(Code.INVALID_ARGUMENT, message)


def _prefix(length: int, ones: int) -> int:
    """-1, which no check lets pass, for a length beyond the key's width."""
    return ones ^ ones >> length if 0 <= length <= ones.bit_length() else -1


_FROM: dict[tuple[str, type], Callable[[FieldMatch, int], tuple[int, int]]] = {
    ("exact", Exact): lambda m, ones: (m.value, ones),  # type: ignore[union-attr]
    ("lpm", Lpm): lambda m, ones: (m.value, _prefix(m.prefix_len, ones)),  # type: ignore[union-attr]
    ("ternary", Ternary): lambda m, _: (m.value, m.mask),  # type: ignore[union-attr]
    ("range", Range): lambda m, _: (m.low, m.high),  # type: ignore[union-attr]
    ("optional", Optional): lambda m, ones: (m.value, ones),  # type: ignore[union-attr]
    ("optional", Exact): lambda m, ones: (m.value, ones),  # type: ignore[union-attr]
}

_TO: dict[str, Callable[[int, int, int], FieldMatch]] = {
    "exact": lambda number, value, _: Exact(number, value),
    "lpm": lambda number, value, mask: Lpm(number, value, mask.bit_count()),
    "ternary": Ternary,
    "range": Range,
    "optional": lambda number, value, _: Optional(number, value),
}


def member_keys(view: TupleView, member: ValueSetMember) -> KeyParts:
    """Keys of a value set's member. INVALID_ARGUMENT for what does not fit its fields."""
    ones = [(1 << width) - 1 for width in view.widths_bits]
    kinds = view.match_kinds
    one_value = tuple(v if kind == "range" else o for v, o, kind in zip(member.values, ones, kinds, strict=False))
    keys = tuple(zip(member.values, member.seconds or one_value, strict=False))
    fits = len(keys) == len(ones) == len(member.values) and all(
        _fits(*key, *field) for key, field in zip(keys, zip(ones, kinds, strict=True), strict=True)
    )
    if not fits:
        raise ControlError(
            Code.INVALID_ARGUMENT,
            f"value set {view.name} has {', '.join(kinds)} fields of {view.widths_bits} bits, not {member.values}"
            + (f" under {member.seconds}" if member.seconds else ""),
        )
    return keys


def _fits(first: int, second: int, ones: int, kind: str) -> bool:
    if not 0 <= first <= ones or not 0 <= second <= ones:
        return False
    if kind == "range":
        return first <= second
    is_whole = second == ones
    return not first & ~second and (is_whole or kind != "exact")


def in_member(keys: KeyParts, kinds: tuple[str, ...], values: tuple[int, ...]) -> bool:
    """Do a packet's values match a value set's member?"""
    return all(
        first <= value <= second if kind == "range" else value & second == first
        for value, (first, second), kind in zip(values, keys, kinds, strict=True)
    )
