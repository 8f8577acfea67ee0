"""The text of a failed expectation: expected and received, field by field, then byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.harness.frame_fields import Field, header_fields, scapy_fields
from emulator.harness.packet_history import HistoryView
from emulator.harness.packets import Expected, is_scapy
from emulator.harness.target import Received
from emulator.harness.walk.events import Placed

ROW_BYTES = 16
MOST_TEXT = 44


def difference_lines(expected: Expected, received: bytes, headers: Sequence[Placed]) -> Iterator[str]:
    """``headers`` are those that the deparser wrote into the received packet."""
    yield from _field_lines(expected, received, headers)
    yield from _byte_lines(expected, received)


def _field_lines(expected: Expected, received: bytes, headers: Sequence[Placed]) -> Iterator[str]:
    ours, theirs = _layouts(expected, received, headers)
    groups = [list(dict.fromkeys(f.group for f in fields)) for fields in (ours, theirs)]
    if groups[0] != groups[1]:
        yield f"expected {' / '.join(groups[0])}, received {' / '.join(groups[1])}"
    by_place = {(f.path, f.offset_bits): f for f in theirs}
    rows, same = [], 0
    for f in ours:
        other = by_place.get((f.path, f.offset_bits))
        if other is None:
            if f.group in groups[1] or expected.differs_at(received, f.offset_bits, f.width_bits):
                rows.append((f.path, _cut(f.text), "(not there)"))
        elif f.width_bits != other.width_bits or expected.differs_at(received, f.offset_bits, f.width_bits):
            rows.append((f.path, _cut(f.text), _cut(other.text)))
        else:
            same += 1
    places = {(f.path, f.offset_bits) for f in ours}
    extra = [f for f in theirs if (f.path, f.offset_bits) not in places]
    if not expected.is_prefix:
        rows += [(f.path, "(not there)", _cut(f.text)) for f in extra]
    if rows:
        yield from _table(rows)
        yield f"({same} other fields are as expected)"


def _layouts(expected: Expected, received: bytes, headers: Sequence[Placed]) -> tuple[list[Field], list[Field]]:
    if is_scapy(expected.packet):
        kind = expected.packet.__class__
        return scapy_fields(kind(expected.content)), scapy_fields(kind(received))
    return header_fields(headers, expected.content), header_fields(headers, received)


def _table(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    rows = [("field", "expected", "received"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    for name, ours, theirs in rows:
        yield f"{name:<{widths[0]}}  {ours:<{widths[1]}}  {theirs}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."


def _byte_lines(expected: Expected, received: bytes) -> Iterator[str]:
    """Rows of bytes that differ; what does not count is shown as dots."""
    ours, theirs = expected.content, received
    if len(ours) != len(theirs) and not (expected.is_prefix and len(theirs) > len(ours)):
        yield f"expected {len(ours)} bytes, received {len(theirs)}"
    last = len(ours) if expected.is_prefix else max(len(ours), len(theirs))
    for row in range(0, last, ROW_BYTES):
        places = range(row, min(row + ROW_BYTES, last))
        marks = ["^^" if expected.differs_at(received, i * 8, 8) else "  " for i in places]
        if "^^" not in marks:
            continue
        yield f"{row:4d}  expected  {' '.join(_byte(ours, i, expected.mask) for i in places)}"
        yield f"      received  {' '.join(_byte(theirs, i) for i in places)}"
        yield f"                {' '.join(marks)}".rstrip()


def _byte(content: bytes, index: int, mask: bytes | None = None) -> str:
    if index >= len(content):
        return "--"
    digits = f"{content[index]:02x}"
    if mask is None:
        return digits
    return "".join(d if mask[index] >> shift & 0xF else "." for d, shift in zip(digits, (4, 0), strict=True))


MOST_SHOWN = 4
ROW_BYTES = 32


def unmet(view: HistoryView, port: int | None, expected: Expected | None, within: str | int | None) -> str:
    """Nothing came out of the port, or of any where that is None."""
    bound = "" if within is None else f" within {within}"
    where = "any port" if port is None else f"port {port}"
    lines = [f"{view.label}{where}: expected a packet{bound}, nothing came out"]
    if expected is not None:
        lines.append(f"  expected {_summary(expected)}")
    others = [r for r in view.testbed.arrived if r.origin in (view.last, -1)]
    for received in others[:MOST_SHOWN]:
        where = f"{received.switch}, " if view.label else ""
        is_same = expected is not None and expected.matches(received.content)
        what = "the expected packet" if is_same else "a packet"
        lines.append(
            f"  {what} came out of {where}port {received.port} instead: {received.content[:ROW_BYTES].hex(' ')}"
        )
        if len(others) == 1 and expected is not None and not is_same:
            lines += [f"    {line}" for line in difference_lines(expected, received.content, _headers(view, received))]
    return _with_walk(lines, view, view.last)


def _headers(view: HistoryView, received: Received) -> tuple[Placed, ...]:
    left = view.left(received)
    return left.headers if left is not None else ()


def other_packet(view: HistoryView, expected: Expected, waiting: list[Received]) -> str:
    """What came out is not what was expected."""
    received = waiting[0]
    lines = [f"{view.label}port {received.port}: the packet is not the expected one"]
    lines += [f"  {line}" for line in difference_lines(expected, received.content, _headers(view, received))]
    for position, later in enumerate(waiting[1:], 2):
        if expected.matches(later.content):
            lines.append(f"  (packet {position} of this port is the expected one: use any_order=True if that is right)")
            break
    return _with_walk(lines, view, received.origin)


def unexpected_packets(view: HistoryView, others: list[Received]) -> str:
    count = "a packet" if len(others) == 1 else f"{len(others)} packets"
    lines = [f"{view.label}expected no other packet, but {count} came out"]
    for received in others[:MOST_SHOWN]:
        lines.append(
            f"  port {received.port}, {len(received.content)} bytes, from {view.origin_words(received.origin)}"
        )
        if headers := _headers(view, received):
            fields = header_fields(headers, received.content)
            lines += [f"    {f.path} = {f.text}" for f in fields[:12]]
        else:
            lines.append(f"    {received.content[:ROW_BYTES].hex(' ')}")
    return _with_walk(lines, view, others[0].origin)


def _with_walk(lines: list[str], view: HistoryView, origin: int) -> str:
    if not view.sent.sendings:
        lines.append("  no packet was sent yet")
    number = origin if origin >= 0 else view.last
    story = (*view.summary_lines(number), *view.walk_lines(number))
    return "\n".join([*lines, *(f"  {line}" for line in story)])


def _summary(expected: Expected) -> str:
    if is_scapy(expected.packet):
        groups = dict.fromkeys(f.group for f in scapy_fields(expected.packet))
        return f"{' / '.join(groups)}, {len(expected.content)} bytes: {expected.packet!r}"
    return f"{len(expected.content)} bytes: {expected.content[:ROW_BYTES].hex(' ')}"
