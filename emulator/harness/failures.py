"""The words of a failed expectation."""

from __future__ import annotations

from emulator.harness.differences import difference_lines
from emulator.harness.fields import header_fields, scapy_fields
from emulator.harness.packets import Expected, is_scapy
from emulator.harness.sent import SentView
from emulator.harness.target import Received
from emulator.harness.walk.events import Placed

MOST_SHOWN = 4
ROW_BYTES = 32


def unmet(view: SentView, port: int | None, wanted: Expected | None, within: str | int | None) -> str:
    """Nothing came out of the port, or of any where that is None."""
    bound = "" if within is None else f" within {within}"
    where = "any port" if port is None else f"port {port}"
    lines = [f"{view.label}{where}: expected a packet{bound}, nothing came out"]
    if wanted is not None:
        lines.append(f"  expected {_summary(wanted)}")
    others = [r for r in view.world.arrived if r.origin in (view.last, -1)]
    for received in others[:MOST_SHOWN]:
        where = f"{received.switch}, " if view.label else ""
        is_same = wanted is not None and wanted.matches(received.content)
        what = "the expected packet" if is_same else "a packet"
        lines.append(
            f"  {what} came out of {where}port {received.port} instead: {received.content[:ROW_BYTES].hex(' ')}"
        )
        if len(others) == 1 and wanted is not None and not is_same:
            lines += [f"    {line}" for line in difference_lines(wanted, received.content, _headers(view, received))]
    return _with_walk(lines, view, view.last)


def _headers(view: SentView, received: Received) -> tuple[Placed, ...]:
    left = view.left(received)
    return left.headers if left is not None else ()


def other_packet(view: SentView, wanted: Expected, waiting: list[Received]) -> str:
    """What came out is not what was expected."""
    received = waiting[0]
    lines = [f"{view.label}port {received.port}: the packet is not the expected one"]
    lines += [f"  {line}" for line in difference_lines(wanted, received.content, _headers(view, received))]
    for position, later in enumerate(waiting[1:], 2):
        if wanted.matches(later.content):
            lines.append(f"  (packet {position} of this port is the expected one: use any_order=True if that is right)")
            break
    return _with_walk(lines, view, received.origin)


def unexpected_packets(view: SentView, others: list[Received]) -> str:
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


def _with_walk(lines: list[str], view: SentView, origin: int) -> str:
    if not view.sent.sendings:
        lines.append("  no packet was sent yet")
    number = origin if origin >= 0 else view.last
    told = (*view.summary_lines(number), *view.walk_lines(number))
    return "\n".join([*lines, *(f"  {line}" for line in told)])


def _summary(wanted: Expected) -> str:
    if is_scapy(wanted.packet):
        groups = dict.fromkeys(f.group for f in scapy_fields(wanted.packet))
        return f"{' / '.join(groups)}, {len(wanted.content)} bytes: {wanted.packet!r}"
    return f"{len(wanted.content)} bytes: {wanted.content[:ROW_BYTES].hex(' ')}"
