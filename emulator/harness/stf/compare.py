"""Expected against received, port by port in order, as p4c's driver compares.

The number of packets of each port that the test names must be exact; the i-th packet is compared with the i-th expect:
nibbles case-insensitively, ``*`` any, a prefix unless the expectation ends in ``$``.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.harness.stf.run import Output, Record
from emulator.harness.stf.steps import Plan, Send
from emulator.harness.stf.syntax import Expect


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that did not hold. What does not apply is None."""

    line: int
    """Line of the expect, check or change; of the packet that led to a surplus one."""
    message: str
    port: int | None = None
    index: int | None = None
    """Index of the packet among those of its port, from 0."""
    expected: str | None = None
    """Nibbles, ``*`` for any."""
    received: str | None = None
    differs_at: int | None = None
    """First nibble that differs; the shorter one's length where one ends."""
    whole: bool = False
    """The expectation ended in ``$``."""
    packet_line: int | None = None
    """Line of the packet in question: the one that was received, or the last before an expect without one."""


def compare(plan: Plan, record: Record) -> list[Failure]:
    """Everything that is wrong, in order of lines."""
    failures = [Failure(w.line, w.message) for w in record.wrong]
    for port in sorted(plan.ports):
        expects = [e for e in plan.expects if e.port == port]
        outputs = [o for o in record.outputs if o.port == port]
        failures += _port(plan, port, expects, outputs)
    return sorted(failures, key=lambda f: f.line)


def _port(plan: Plan, port: int, expects: list[Expect], outputs: list[Output]) -> list[Failure]:
    failures = []
    for index, (expect, output) in enumerate(zip(expects, outputs, strict=False)):
        received = output.content.hex()
        at = first_difference(expect, received)
        if at is not None:
            message = _difference(expect, received, at)
            failures.append(
                Failure(expect.line, message, port, index, expect.nibbles, received, at, expect.whole, output.line)
            )
    counts = f"{len(expects)} expected and {len(outputs)} received by port {port}"
    for index in range(len(outputs), len(expects)):
        expect = expects[index]
        failures.append(
            Failure(
                expect.line,
                f"nothing received; {counts}",
                port,
                index,
                expect.nibbles,
                whole=expect.whole,
                packet_line=_last_packet(plan, expect.line),
            )
        )
    for index in range(len(expects), len(outputs)):
        output = outputs[index]
        message = f"nothing expected, received after the packet of line {output.line}; {counts}"
        failures.append(
            Failure(output.line, message, port, index, received=output.content.hex(), packet_line=output.line)
        )
    return failures


def _last_packet(plan: Plan, line: int) -> int | None:
    """Line of the last packet before ``line``."""
    return max((step.line for step in plan.steps if isinstance(step, Send) and step.line < line), default=None)


def first_difference(expect: Expect, received: str) -> int | None:
    """The nibble where what was received leaves the expectation; None if it does not."""
    expected = expect.nibbles
    for at, (want, got) in enumerate(zip(expected, received, strict=False)):
        if want not in ("*", got):
            return at
    if len(received) < len(expected):
        return len(received)
    if expect.whole and len(received) > len(expected):
        return len(expected)
    return None


def _difference(expect: Expect, received: str, at: int) -> str:
    expected = expect.nibbles
    if at == len(received):
        return f"too short: {len(received)} nibbles received, {len(expected)} expected"
    if at == len(expected):
        return f"too long: {len(received)} nibbles received, {len(expected)} expected"
    return f"differs at nibble {at} (byte {at // 2})"
