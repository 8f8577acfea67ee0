"""Expected against received, port by port in order, as p4c's driver compares.

The number of packets of each port that the test names must be exact; the i-th packet is compared with the i-th expect:
nibbles case-insensitively, ``*`` any, a prefix unless the expectation ends in ``$``.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.harness.stf.run import Output, Record
from emulator.harness.stf.steps import Plan
from emulator.harness.stf.syntax import Expect


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that did not hold. What does not apply is None."""

    line: int
    """Of the expect, check or change; of the packet that led to a surplus one."""
    message: str
    port: int | None = None
    index: int | None = None
    """Which packet of the port, from 0."""
    expected: str | None = None
    """Nibbles, ``*`` for any."""
    received: str | None = None
    differs_at: int | None = None
    """First nibble that differs; the shorter one's length where one ends."""
    whole: bool = False
    """The expectation ended in ``$``."""


def compare(plan: Plan, record: Record) -> list[Failure]:
    """Everything that is wrong, in order of lines."""
    failures = [Failure(w.line, w.message) for w in record.wrong]
    for port in sorted(plan.ports):
        expects = [e for e in plan.expects if e.port == port]
        outputs = [o for o in record.outputs if o.port == port]
        failures += _port(port, expects, outputs)
    return sorted(failures, key=lambda f: f.line)


def _port(port: int, expects: list[Expect], outputs: list[Output]) -> list[Failure]:
    failures = []
    for index, (expect, output) in enumerate(zip(expects, outputs, strict=False)):
        received = output.content.hex()
        at = first_difference(expect, received)
        if at is not None:
            message = _difference(expect, received, at)
            failures.append(Failure(expect.line, message, port, index, expect.nibbles, received, at, expect.whole))
    counts = f"{len(expects)} expected and {len(outputs)} received by port {port}"
    for index in range(len(outputs), len(expects)):
        expect = expects[index]
        failures.append(
            Failure(expect.line, f"nothing received; {counts}", port, index, expect.nibbles, whole=expect.whole)
        )
    for index in range(len(expects), len(outputs)):
        output = outputs[index]
        message = f"nothing expected, received after the packet of line {output.line}; {counts}"
        failures.append(Failure(output.line, message, port, index, received=output.content.hex()))
    return failures


def first_difference(expect: Expect, received: str) -> int | None:
    """The nibble where what was received leaves the expectation; None if it does not."""
    wanted = expect.nibbles
    for at, (want, got) in enumerate(zip(wanted, received, strict=False)):
        if want not in ("*", got):
            return at
    if len(received) < len(wanted):
        return len(received)
    if expect.whole and len(received) > len(wanted):
        return len(wanted)
    return None


def _difference(expect: Expect, received: str, at: int) -> str:
    wanted = expect.nibbles
    if at == len(received):
        return f"too short: {len(received)} nibbles received, {len(wanted)} expected"
    if at == len(wanted):
        return f"too long: {len(received)} nibbles received, {len(wanted)} expected"
    return f"differs at nibble {at} (byte {at // 2})"
