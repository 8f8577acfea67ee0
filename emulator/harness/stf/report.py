"""Failures for people: expected and received nibble under nibble, with the differences marked."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.harness.stf.compare import Failure

ROW_NIBBLES = 64
"""32 bytes a row: with offset and blanks it fits 100 columns."""
GROUP_NIBBLES = 4


def failure_lines(test: str, failure: Failure) -> Iterator[str]:
    """``test:line: port 1, packet 0: differs ...``, then the rows that differ."""
    where = "" if failure.port is None else f"port {failure.port}, packet {failure.index}: "
    yield f"{test}:{failure.line}: {where}{failure.message}"
    if failure.expected is not None and failure.received is not None:
        yield from _rows(failure.expected, failure.received, whole=failure.whole)
    elif failure.expected is not None:
        yield f"    expected  {_grouped(failure.expected)}{' $' if failure.whole else ''}"
    elif failure.received is not None:
        yield f"    received  {_grouped(failure.received)}"


def _rows(expected: str, received: str, *, whole: bool) -> Iterator[str]:
    """All rows up to the last one that differs, the nibbles' offset in bytes in front."""
    marks = "".join(marks_of(expected, received, whole=whole))
    last = marks.rfind("^") // ROW_NIBBLES
    for row in range(last + 1):
        cut = slice(row * ROW_NIBBLES, (row + 1) * ROW_NIBBLES)
        yield f"  {row * ROW_NIBBLES // 2:4d}"
        yield f"    expected  {_grouped(expected[cut])}"
        yield f"    received  {_grouped(received[cut])}"
        if "^" in marks[cut]:
            yield f"              {_grouped(marks[cut])}".rstrip()


def marks_of(expected: str, received: str, *, whole: bool) -> Iterator[str]:
    """``^`` under each nibble that differs, is missing, or is too many."""
    for at in range(max(len(expected), len(received))):
        want, got = expected[at : at + 1], received[at : at + 1]
        if not want:
            yield "^" if whole else " "
        elif not got:
            yield "^"
        else:
            yield " " if want in ("*", got) else "^"


def _grouped(nibbles: str) -> str:
    return " ".join(nibbles[i : i + GROUP_NIBBLES] for i in range(0, len(nibbles), GROUP_NIBBLES))
