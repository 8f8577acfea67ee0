"""What of a WriteRequest is read straight from its bytes: see `bulk_scan`."""

from __future__ import annotations

ID, NUMBER, LONG, BYTES, OPAQUE, MESSAGE = 1, 2, 3, 4, 5, 6
"""What a field is: part of the shape, a varint (of 31 bits, or of 56), a bytestring, bytes of which only place and
length count (as for `WIDE`), or a message whose fields are listed in turn."""

PATHS: dict[str, int] = {
    "updates": MESSAGE,
    "updates.type": ID,
    "updates.entity": MESSAGE,
    "updates.entity.table_entry": MESSAGE,
    "updates.entity.table_entry.table_id": ID,
    "updates.entity.table_entry.priority": NUMBER,
    "updates.entity.table_entry.idle_timeout_ns": LONG,
    "updates.entity.table_entry.controller_metadata": LONG,
    "updates.entity.table_entry.metadata": OPAQUE,
    "updates.entity.table_entry.match": MESSAGE,
    "updates.entity.table_entry.match.field_id": ID,
    "updates.entity.table_entry.match.exact": MESSAGE,
    "updates.entity.table_entry.match.exact.value": BYTES,
    "updates.entity.table_entry.match.lpm": MESSAGE,
    "updates.entity.table_entry.match.lpm.value": BYTES,
    "updates.entity.table_entry.match.lpm.prefix_len": NUMBER,
    "updates.entity.table_entry.match.ternary": MESSAGE,
    "updates.entity.table_entry.match.ternary.value": BYTES,
    "updates.entity.table_entry.match.ternary.mask": BYTES,
    "updates.entity.table_entry.match.range": MESSAGE,
    "updates.entity.table_entry.match.range.low": BYTES,
    "updates.entity.table_entry.match.range.high": BYTES,
    "updates.entity.table_entry.match.optional": MESSAGE,
    "updates.entity.table_entry.match.optional.value": BYTES,
    "updates.entity.table_entry.action": MESSAGE,
    "updates.entity.table_entry.action.action_profile_member_id": NUMBER,
    "updates.entity.table_entry.action.action_profile_group_id": NUMBER,
    "updates.entity.table_entry.action.action": MESSAGE,
    "updates.entity.table_entry.action.action.action_id": ID,
    "updates.entity.table_entry.action.action.params": MESSAGE,
    "updates.entity.table_entry.action.action.params.param_id": ID,
    "updates.entity.table_entry.action.action.params.value": BYTES,
}
_ENTRY = "updates.entity.table_entry."
CODES = {path.removeprefix(_ENTRY): code for code, path in enumerate(PATHS, 1)}
"""Of the fields, as they stand in shapes; those of a table entry without what leads to it. 0 is the request."""


def path_of(name: str) -> str:
    """In `PATHS`, of a name in `CODES`."""
    return name if name in PATHS else f"{_ENTRY}{name}"


WIDE = 1 << 8
"""In a shape, added to the code of a bytestring that is longer than fits `values`: there then are its place and length,
``place << 32 | length``."""
