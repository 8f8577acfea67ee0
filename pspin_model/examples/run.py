"""Running an example as PsPIN's driver does, and the figures that come out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pspin_model.examples.catalogue import EXAMPLES, Part, headers
from pspin_model.machine import RTL_COSTS, ConfigError, CostTable, Fault, Machine, MachineConfig, Run
from pspin_model.machine.events import LAST_CYCLE
from pspin_model.machine.layout import KIND_HEADER, KIND_PAYLOAD


@dataclass(frozen=True, slots=True)
class Row:
    """What `rtl.csv` has columns for; one row for each handler."""

    example: str
    messages: int
    packets: int
    size_bytes: int
    inter_packet_ns: int
    handler: str
    throughput_gbps: float
    latency_min_ns: int
    latency_avg_ns: float
    latency_max_ns: int
    handler_min_cycles: int
    handler_avg_cycles: float
    handler_max_cycles: int
    handler_instructions: int


FIGURES = (
    "throughput_gbps", "latency_min_ns", "latency_avg_ns", "latency_max_ns", "handler_min_cycles",
    "handler_avg_cycles", "handler_max_cycles", "handler_instructions",
)  # fmt: skip


def delays(packets: int, messages: int, delay_ns: int) -> NDArray[np.int64]:
    """Cycles from each packet of a context to the next: the driver's default puts 40 ns after a message, else 20."""
    gaps = np.full(packets * messages, max(1, delay_ns), np.int64)
    if delay_ns == 20:
        gaps[packets - 1 :: packets] = 40
    return gaps


def run_example(
    name: str,
    messages: int = 1,
    packets: int = 32,
    size_bytes: int = 1024,
    delay_ns: int = 20,
    *,
    config: MachineConfig | None = None,
    costs: CostTable = RTL_COSTS,
    parts: tuple[Part, ...] | None = None,
) -> tuple[list[Row], Run, Machine]:
    """Play an example on the machine as built: each context's messages one after another, each of a number of packets.

    ``parts`` replace the example's own.
    """
    if name not in EXAMPLES:
        raise ValueError(f"no example {name!r}; there are {', '.join(EXAMPLES)}")
    if size_bytes < 40:
        raise ValueError("a packet has headers: at least 40 bytes")
    if messages * packets * len(EXAMPLES[name]) * max(delay_ns, 1) > LAST_CYCLE:
        raise ConfigError(f"packets every {delay_ns} ns would come after the machine's last cycle, {LAST_CYCLE}")
    machine = Machine(replace(config or MachineConfig(), stale_handles=1), costs)
    parts = EXAMPLES[name] if parts is None else parts
    at, counter = 0, 0
    for index, part in enumerate(parts):
        context = part.set_up(machine, name if len(parts) == 1 else f"{name}{index}")
        data, tags = _packets(part, messages, packets, size_bytes)
        # the driver counts messages twice: 0, 2, 4, ..
        numbers = counter + 2 * np.arange(messages)
        counter += messages
        gaps = delays(packets, messages, delay_ns)
        times = at + np.concatenate([[0], np.cumsum(gaps)])
        last = np.zeros(messages * packets, np.int64)
        last[packets - 1 :: packets] = 1
        machine.inject(context, np.repeat(numbers, packets), data, times[:-1], last=last, tags=tags)
        at = int(times[-1])
    run = machine.run()
    rows = _rows(name, machine, run, messages, packets, size_bytes, delay_ns)
    return rows, run, machine


def _packets(part: Part, messages: int, packets: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The packets of an example, and their tags."""
    data = np.zeros((messages * packets, size), np.uint8)
    tags = np.zeros((messages, packets), np.int64)
    headers(data)
    if part.fill is not None:
        part.fill(data)
    for each, tag in zip(data.reshape(messages, packets, size), tags, strict=True):
        if part.fill_message is not None:
            part.fill_message(each)
        if part.tag_of is not None:
            tag[:] = part.tag_of(each)
    return data, tags.reshape(-1)


def _rows(name: str, machine: Machine, run: Run, messages: int, packets: int, size: int, delay: int) -> list[Row]:
    p = run.packets
    over = p["released"] == 1
    latency = (p["feedback"] - p["arrival"])[over]
    ends = np.sort(p["feedback"][over])
    span = int(ends[-1] - ends[0]) if len(ends) else 0
    throughput = (len(ends) - 1) * size * 8 / span if span else float("inf")
    rows = []
    for context in machine.contexts:
        for kind in range(KIND_HEADER, KIND_PAYLOAD + 2):
            of = (p["context"] == context.index) & (p["kind"] == kind)
            if not of.any():
                continue
            cycles = (p["end"] - p["start"])[of]
            rows.append(
                Row(
                    name,
                    messages,
                    packets,
                    size,
                    delay,
                    context.handler_name(kind).split(".")[1],
                    round(throughput, 3),
                    int(latency.min()),
                    round(float(latency.mean()), 3),
                    int(latency.max()),
                    int(cycles.min()),
                    round(float(cycles.mean()), 2),
                    int(cycles.max()),
                    int(p["instructions"][of][0]),
                )
            )
    order = [row for row in rows if not row.handler.endswith("_th")]
    return order + [row for row in rows if row.handler.endswith("_th")]


def as_json(rows: list[Row], faults: list[Fault]) -> dict[str, object]:
    """The rows and errors of a run, for people's scripts; a throughput that one packet does not give is None."""
    return {"rows": [figures(row) for row in rows], "faults": [asdict(fault) for fault in faults]}


def figures(row: Row) -> dict[str, Any]:
    """A row's columns, those without a value as None."""
    return {name: None if value == math.inf else value for name, value in asdict(row).items()}
