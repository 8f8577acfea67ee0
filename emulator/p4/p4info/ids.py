"""P4Info's ids and aliases by p4c's rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ACTION, TABLE, VALUE_SET, CONTROLLER_HEADER = 0x01, 0x02, 0x03, 0x04
ACTION_PROFILE, COUNTER, DIRECT_COUNTER, METER, DIRECT_METER, REGISTER, DIGEST = (
    0x11,
    0x12,
    0x13,
    0x14,
    0x15,
    0x16,
    0x17,
)
"""Type bytes of ids: ``P4Ids.Prefix`` in p4info.proto."""

WORD = 0xFFFFFFFF


def name_hash(name: str) -> int:
    """Jenkins' one-at-a-time hash, 32 bits, seed 0."""
    h = 0
    for byte in name.encode():
        h = (h + byte) & WORD
        h = (h + (h << 10)) & WORD
        h ^= h >> 6
    h = (h + (h << 3)) & WORD
    h ^= h >> 11
    return (h + (h << 15)) & WORD


def assign_ids(
    named: Mapping[int, Iterable[str]], explicit: Mapping[tuple[int, str], int]
) -> dict[tuple[int, str], int]:
    """Ids of (type byte, name): ``explicit`` ones first, then by hash, in order of type and name; the next free one on
    a collision."""
    found = dict(explicit)
    taken = set(found.values())
    for prefix in sorted(named):
        for name in sorted(named[prefix], key=str.encode):
            if (prefix, name) in found:
                continue
            number = name_hash(name)
            while (full := prefix << 24 | number & 0xFFFFFF) in taken:
                number = (number + 1) & WORD
            taken.add(full)
            found[prefix, name] = full
    return found


def aliases(names: Iterable[str]) -> dict[str, str]:
    """For each name its shortest suffix, in whole components, that no other name shares."""
    names = list(dict.fromkeys(names))
    owners: dict[str, int] = {}
    suffixes = {name: _suffixes(name) for name in names}
    for name in names:
        for suffix in suffixes[name]:
            owners[suffix] = owners.get(suffix, 0) + 1
    return {name: next((x for x in suffixes[name] if owners[x] == 1), name) for name in names}


def _suffixes(name: str) -> list[str]:
    """Shortest first."""
    parts = name.split(".")
    return [".".join(parts[i:]) for i in range(len(parts) - 1, -1, -1)]
