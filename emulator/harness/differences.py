"""Expected and received, field by field, then byte by byte with the differences marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.harness.fields import Field, header_fields, scapy_fields
from emulator.harness.packets import Expected, is_scapy
from emulator.harness.walk.events import Placed

ROW_BYTES = 16
MOST_TEXT = 44


def difference_lines(wanted: Expected, received: bytes, headers: Sequence[Placed]) -> Iterator[str]:
    """``headers`` are those that the deparser wrote into the received packet."""
    yield from _field_lines(wanted, received, headers)
    yield from _byte_lines(wanted, received)


def _field_lines(wanted: Expected, received: bytes, headers: Sequence[Placed]) -> Iterator[str]:
    ours, theirs = _layouts(wanted, received, headers)
    groups = [list(dict.fromkeys(f.group for f in fields)) for fields in (ours, theirs)]
    if groups[0] != groups[1]:
        yield f"expected {' / '.join(groups[0])}, received {' / '.join(groups[1])}"
    by_place = {(f.path, f.offset_bits): f for f in theirs}
    rows, same = [], 0
    for f in ours:
        other = by_place.get((f.path, f.offset_bits))
        if other is None:
            if f.group in groups[1] or wanted.differs_at(received, f.offset_bits, f.width_bits):
                rows.append((f.path, _cut(f.text), "(not there)"))
        elif f.width_bits != other.width_bits or wanted.differs_at(received, f.offset_bits, f.width_bits):
            rows.append((f.path, _cut(f.text), _cut(other.text)))
        else:
            same += 1
    places = {(f.path, f.offset_bits) for f in ours}
    extra = [f for f in theirs if (f.path, f.offset_bits) not in places]
    if not wanted.is_prefix:
        rows += [(f.path, "(not there)", _cut(f.text)) for f in extra]
    if rows:
        yield from _table(rows)
        yield f"({same} other fields are as expected)"


def _layouts(wanted: Expected, received: bytes, headers: Sequence[Placed]) -> tuple[list[Field], list[Field]]:
    if is_scapy(wanted.packet):
        kind = wanted.packet.__class__
        return scapy_fields(kind(wanted.content)), scapy_fields(kind(received))
    return header_fields(headers, wanted.content), header_fields(headers, received)


def _table(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    rows = [("field", "expected", "received"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    for name, ours, theirs in rows:
        yield f"{name:<{widths[0]}}  {ours:<{widths[1]}}  {theirs}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."


def _byte_lines(wanted: Expected, received: bytes) -> Iterator[str]:
    """Rows of bytes that differ; what does not count is shown as dots."""
    ours, theirs = wanted.content, received
    if len(ours) != len(theirs) and not (wanted.is_prefix and len(theirs) > len(ours)):
        yield f"expected {len(ours)} bytes, received {len(theirs)}"
    last = len(ours) if wanted.is_prefix else max(len(ours), len(theirs))
    for row in range(0, last, ROW_BYTES):
        places = range(row, min(row + ROW_BYTES, last))
        marks = ["^^" if wanted.differs_at(received, i * 8, 8) else "  " for i in places]
        if "^^" not in marks:
            continue
        yield f"{row:4d}  expected  {' '.join(_byte(ours, i, wanted.mask) for i in places)}"
        yield f"      received  {' '.join(_byte(theirs, i) for i in places)}"
        yield f"                {' '.join(marks)}".rstrip()


def _byte(content: bytes, index: int, mask: bytes | None = None) -> str:
    if index >= len(content):
        return "--"
    digits = f"{content[index]:02x}"
    if mask is None:
        return digits
    return "".join(d if mask[index] >> shift & 0xF else "." for d, shift in zip(digits, (4, 0), strict=True))
