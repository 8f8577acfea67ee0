"""bmv2 documents with something wrong in them, by a seed."""

from __future__ import annotations

import copy
import random
from typing import Any

WEIRD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 1 << 31, 1 << 63, 1 << 200, 0.5, "", "x", "0x", "0x0", "-0x1", "0xffffffffffffffff",
    "start", "accept", "$valid$", "é\n", "standard_metadata", [], {}, [[]], [None, None], ["standard_metadata", "nope"],
    {"type": "expression", "value": {"op": "+", "left": None, "right": None}}, {"type": "hexstr", "value": "0xff"},
    {"type": "field", "value": ["standard_metadata", "egress_spec"]}, {"type": "bool", "value": True},
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of everything inside."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found += paths(each, (*path, key))
    return found


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def damaged(document: Any, seed: int, changes: int = 1) -> Any:
    """A copy with that many changes: values replaced by odd ones or by others of the document, gone, or doubled."""
    source = random.Random(seed)
    result = copy.deepcopy(document)
    for _ in range(changes):
        everywhere = paths(result)
        if not everywhere:
            break
        path = source.choice(everywhere)
        holder, key = at(result, path[:-1]), path[-1]
        match source.randrange(5):
            case 0:
                del holder[key]
            case 1:
                holder[key] = copy.deepcopy(source.choice(WEIRD))
            case 2:
                holder[key] = copy.deepcopy(at(result, source.choice(everywhere)))
            case 3 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 3 | 4:
                holder[key] = _nudged(holder[key], source)
    return result


def _nudged(value: Any, source: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + source.choice((-1, 1, 1000))
    if isinstance(value, str):
        return value[:-1] if source.random() < 0.5 else value + source.choice("0f_.")
    if isinstance(value, list):
        return value[::-1]
    if not isinstance(value, dict):
        return 0
    return {**value, source.choice(("op", "type", "value", "name")): source.choice(WEIRD)}
