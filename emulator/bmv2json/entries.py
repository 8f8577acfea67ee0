"""Entries that stand in the document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emulator.bmv2json.document import Node
from emulator.p4 import ir

WITHOUT_PRIORITY = ("exact", "lpm")
MAX_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class KeyShape:
    """A key, and how the numbers of entries become numbers of it."""

    key: ir.TableKey
    width: int
    shift: int = 0
    """The key is a slice that begins at this bit of its field."""
    field_width: int = 0
    """Of the field that the key is a slice of; 0: it is no slice."""
    mask: int | None = None
    """Values are looked at under this mask."""

    @property
    def ones(self) -> int:
        return (1 << self.width) - 1

    def value(self, node: Node) -> int:
        """Cut to the key's width, as bmv2 does."""
        number = node.hexadecimal() >> self.shift & self.ones
        return number if self.mask is None else number & self.mask


def read_entries(
    table: Node, keys: Sequence[KeyShape], call: Callable[[Node], ir.ActionCall]
) -> tuple[ir.TableEntry, ...]:
    """The entries of a table; bmv2's smaller priorities win, the IR's larger ones do. Raises Bmv2JsonError."""
    nodes = table.list("entries")
    needs_priority = any(shape.key.match_kind not in WITHOUT_PRIORITY for shape in keys)
    numbers = [_priority(node, i) for i, node in enumerate(nodes)] if needs_priority else [0] * len(nodes)
    top = max(numbers, default=0) + 1
    found: list[ir.TableEntry] = []
    seen: set[object] = set()
    for node, number in zip(nodes, numbers, strict=True):
        parts = node["match_key"].exactly(len(keys), "one for each key of the table")
        keysets = tuple(_keyset(part, shape) for part, shape in zip(parts, keys, strict=True))
        if (keysets, number) in seen:
            node.fail("there is an entry with the same key already")
        seen.add((keysets, number))
        found.append(ir.TableEntry(keysets, call(node), top - number if needs_priority else 0, True, node.span()))
    return tuple(found)


def _priority(node: Node, position: int) -> int:
    given = node.get("priority")
    return given.number(0, MAX_PRIORITY) if given is not None else position + 1


def _keyset(node: Node, shape: KeyShape) -> ir.KeySet:
    given = node.get("match_type")
    kind = given.text() if given is not None else shape.key.match_kind
    ones = shape.ones
    if kind == "range":
        low, high = shape.value(node["start"]), shape.value(node["end"])
        if low > high:
            node.fail("the range ends before it starts")
        return ir.Between(low, high)
    if kind == "valid":
        key = node["key"]
        return ir.Masked(int(key.flag() if isinstance(key.value, bool) else bool(key.hexadecimal())), 1)
    value = shape.value(node["key"])
    if kind == "lpm":
        length = node["prefix_length"].number(0, shape.field_width or shape.width)
        length = min(length, shape.width)
        mask = ones ^ (ones >> length)
    elif kind in ("ternary", "optional"):
        mask_node = node.get("mask")
        mask = ones if mask_node is None else mask_node.hexadecimal() >> shape.shift & ones
    elif kind == "exact":
        mask = ones
    else:
        node["match_type"].fail(f"{kind!r} is no kind of match")
    if shape.key.match_kind == "range":
        if mask == 0:
            return ir.Between(0, ones)
        return ir.Between(value & mask, value | (ones ^ mask))
    if shape.key.match_kind == "exact" and mask != ones:
        node.fail("an exact key takes no mask")
    if shape.key.match_kind == "optional" and mask not in (0, ones):
        node.fail("an optional key is there or not: its mask must be all ones or 0")
    return ir.Masked(value & mask, mask)
