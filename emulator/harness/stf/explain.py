"""What became of the packets of failed expectations: the test is run again by the interpreter, which records walks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emulator.harness.egress_rings import Rings
from emulator.harness.stf.compare import Failure
from emulator.harness.stf.run import run
from emulator.harness.stf.steps import Plan, Send
from emulator.harness.walk.events import Kind, Walk
from emulator.harness.walk.text import walk_lines
from emulator.harness.walk.traced_switch import TracedSwitch
from emulator.v1model.compiled import CompiledProgram

MOST_WALKS = 3
MOST_LINES = 60


def walks_of(plan: Plan, program: CompiledProgram, rings: Rings) -> Mapping[int, Walk]:
    """Walks by the line of the packet. ``program`` is an interpreted one."""
    walks: list[Walk] = []
    run(plan, program, rings, TracedSwitch(ports=rings.table, report=walks.append))
    return {step.line: walk for step, walk in zip((s for s in plan.steps if isinstance(s, Send)), walks, strict=False)}


def fate(walk: Walk) -> str:
    """Ports by which a packet left, or why by none."""
    if walk.left:
        return "left by " + ", ".join(f"port {left.port}" for left in walk.left)
    ends = [event.text for event in walk.events if event.kind is Kind.DROP] or [e.text for e in walk.events[-1:]]
    return f"left by no port: {'; '.join(ends)}"


def explanation(failures: Sequence[Failure], walks: Mapping[int, Walk]) -> Iterator[str]:
    """Lines below the failures: the fate of each packet in question, and the walks of the first few."""
    lines = sorted({f.packet_line for f in failures if f.packet_line is not None} & walks.keys())
    for line in lines:
        yield f"    the packet of line {line} {fate(walks[line])}"
    for line in lines[:MOST_WALKS]:
        yield f"    the walk of the packet of line {line}:"
        yield from (f"      {text}" for text in walk_lines(walks[line], most=MOST_LINES))
    if len(lines) > MOST_WALKS:
        yield f"    ... and {len(lines) - MOST_WALKS} packets more: `netsum trace` shows their walks"
