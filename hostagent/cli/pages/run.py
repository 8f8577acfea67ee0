"""The page of one run: what `run_report.gather` found, for people."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.ports.units import size_text
from hostagent.cli.pages.page import faults_table, page, plots, section, table
from hostagent.launch.live_view import SHARES, cable_ends, latencies
from hostagent.protocol.counters import latency_buckets
from hostagent.protocol.dtypes import ELEMENT_BYTES
from hostagent.transport.job import CALLS, TIMES

WIDTH_BYTES = {dtype.name.lower(): size for dtype, size in ELEMENT_BYTES.items()}
MANY_OPERATIONS = 40
"""Rows of the table of operations; the rest is one row."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run besides its counters."""

    script: str
    command: Sequence[str]
    aggregator: str
    code: int
    machine: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class OperationFigures:
    """Like operations of a job, over all its ranks."""

    name: str
    elements: int = 0
    bytes: int = 0
    """Of the tensors of all calls of a rank; 0: not counted apart."""
    calls: int = 0
    """Of all ranks together, as the time is."""
    time_ns: int = 0
    ranks: int = 0

    @property
    def of_a_rank_s(self) -> float:
        return self.time_ns / 1e9 / max(1, self.ranks)

    @property
    def mean_ms(self) -> float:
        return self.time_ns / 1e6 / max(1, self.calls)


def operations_of(members: Iterable[Mapping[str, int]]) -> list[OperationFigures]:
    """Operations by kind from the counters of each rank, those that took longest first."""
    found: dict[str, OperationFigures] = {}
    for counters in members:
        for name, calls in counters.items():
            if not name.startswith(CALLS):
                continue
            key = name.removeprefix(CALLS)
            each = found.setdefault(key, _named(key))
            each.calls += calls
            each.ranks += 1
            each.time_ns += counters.get(f"{TIMES}{key}", 0)
    for each in found.values():
        each.bytes = each.bytes * each.calls // max(1, each.ranks)
    return sorted(found.values(), key=lambda each: -each.time_ns)


def _named(key: str) -> OperationFigures:
    parts = key.split("/")
    if len(parts) != 4:
        return OperationFigures("others")
    collective, operator, dtype, elements = parts
    what = collective if operator in ("RAW", "BARRIER") else f"{collective} {operator}"
    size_bytes = WIDTH_BYTES.get(dtype, 0) * int(elements)
    return OperationFigures(f"{what} {dtype} {size_text(size_bytes)}", int(elements), size_bytes)


def render(found: Mapping[str, Any], facts: RunFacts) -> str:
    """The page's text. ``found``: see `run_report.gather`."""
    verdict = ("good", "ended well") if facts.code == 0 else ("bad", f"failed with exit code {facts.code}")
    jobs = [job for job in found["jobs"] if job["members"]]
    ranks = max((job["size"] for job in jobs), default=0)
    lead = f"{ranks} ranks, summed by {facts.aggregator}" if jobs else "No rank made a netsum group."
    body = [
        f'<h1>{html.escape(facts.script)}: <span class="{verdict[0]}">{verdict[1]}</span></h1>',
        f'<p class="lead">{html.escape(lead)}</p>',
        *(_job(job, len(jobs) > 1) for job in jobs),
        section("Faults", faults_table(found.get("faults", ()))),
        *_switches(found),
        section("Frames that the aggregator dropped", _counts("reason", found["drops"])),
        section("The command", f"<pre>{html.escape(shlex.join(facts.command))}</pre>"),
        section("Where this ran", table(["", ""], facts.machine.items(), "text") if facts.machine else ""),
    ]
    return page(f"netsum run {facts.script}", "\n".join(body))


def _job(job: Mapping[str, Any], is_one_of_several: bool) -> str:
    members = {member["rank"]: member["counters"] for member in job["members"]}
    operations = operations_of(members.values())
    of_job = f" of group {job['group']}" if is_one_of_several else ""
    return "".join(
        (
            section(f"Communication{of_job}", _ranks(members), plots(_drawn(members, operations))),
            section(f"Operations{of_job}", _operations(operations)),
            section(f"What the aggregator did with the contributions{of_job}", _counts("verdict", job["verdicts"])),
        )
    )


def _ranks(members: Mapping[int, Mapping[str, int]]) -> str:
    rows = []
    for rank, counters in members.items():
        sent, again = counters.get("frames_sent", 0), counters.get("retransmissions_sent", 0)
        times_us = [f"{time_ns / 1e3:,.0f}" for time_ns in latencies(counters).values()]
        busy, whole = counters.get("in_flight_ns", 0), counters.get("elapsed_ns", 0)
        rows.append(
            (
                f"rank {rank}",
                f"{busy / whole:.1%}" if whole else "",
                f"{busy / 1e9:.2f} s",
                f"{whole / 1e9:.2f} s",
                size_text(counters.get("bytes_sent", 0) + counters.get("message/bytes_sent", 0)),
                again,
                f"{again / sent:.2%}" if sent else "",
                *times_us,
            )
        )
    columns = ["", "share", "in flight", "of", "sent", "retransmitted", "of frames", *(f"{name} us" for name in SHARES)]
    note = (
        "<p>Share: the part of the time from the first operation to the end of the last in which at least one was "
        "in flight. Where computation overlaps with communication, what a step waits for it is less. Percentiles are "
        "of the time from a chunk's first frame to its result.</p>"
    )
    return table(columns, rows) + note


def _drawn(members: Mapping[int, Mapping[str, int]], operations: Sequence[OperationFigures]) -> Iterable[str]:
    from hostagent.cli.pages.plots import bars, pairs

    if any(each.time_ns for each in operations):
        yield bars("Time by operation", "s of a rank (mean)", {each.name: each.of_a_rank_s for each in operations})
        yield bars("Tensors by operation", "MB of a rank", {each.name: each.bytes / 1e6 for each in operations})
    timed = {rank: counters for rank, counters in members.items() if counters.get("elapsed_ns")}
    if timed:
        columns = {
            "in flight": [counters["in_flight_ns"] / 1e9 for counters in timed.values()],
            "all": [counters["elapsed_ns"] / 1e9 for counters in timed.values()],
        }
        yield pairs("Time with an operation in flight", "rank", "s", [str(rank) for rank in timed], columns)
        yield _latencies(timed)


def _latencies(members: Mapping[int, Mapping[str, int]]) -> str:
    """Cumulative share of the chunks of each rank by latency."""
    from hostagent.cli.pages.plots import COLOURS, axes_of, svg

    figure, axes = axes_of("Latency of chunks", "us", "share of the chunks that took less")
    for rank, counters in members.items():
        found = latency_buckets(counters)
        total, below, shares = sum(count for _, count in found), 0, []
        for _, count in found:
            below += count
            shares.append(below / total)
        axes.plot(
            [1.25 * floor / 1e3 for floor, _ in found], shares, color=COLOURS[rank % len(COLOURS)], label=f"rank {rank}"
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    if len(members) <= len(COLOURS):
        axes.legend(frameon=False)
    return svg(figure)


def _operations(operations: Sequence[OperationFigures]) -> str:
    if not operations:
        return "<p>No operation was called.</p>"
    total_ns = sum(each.time_ns for each in operations) or 1
    rows = [
        (
            each.name,
            each.calls // max(1, each.ranks),
            size_text(each.bytes),
            f"{each.of_a_rank_s:.3f} s",
            f"{each.mean_ms:.3f} ms",
            f"{each.time_ns / total_ns:.1%}",
        )
        for each in operations[:MANY_OPERATIONS]
    ]
    if rest := operations[MANY_OPERATIONS:]:
        time_s = sum(each.of_a_rank_s for each in rest)
        calls = sum(each.calls // max(1, each.ranks) for each in rest)
        moved = size_text(sum(each.bytes for each in rest))
        rows.append((f"{len(rest)} others", calls, moved, f"{time_s:.3f} s", "", f"{1e9 * time_s / total_ns:.1%}"))
    columns = ["operation", "calls of a rank", "tensors", "time", "mean of a call", "of all"]
    return table(columns, rows) + "<p>Time from the call to the end; several in flight at once all count.</p>"


def _switches(found: Mapping[str, Any]) -> Iterable[str]:
    from hostagent.cli.pages.plots import pairs

    several = found.get("switches") or found.get("racks") or [found.get("switch")]
    counted = [(number, switch) for number, switch in enumerate(several) if switch and "ports" in switch]
    named = [(switch["name"], switch["ports"].values()) for _, switch in counted if switch.get("name")]
    at_end = {cable_ends(port["spec"]): name for name, ports in named for port in ports}
    for number, switch in counted:
        ports = sorted(switch["ports"].items(), key=lambda item: int(item[0]))
        rows = [
            (
                name,
                _attached(port["spec"], at_end),
                port["frames_in"],
                size_text(port["bytes_in"]),
                port["frames_out"],
                size_text(port["bytes_out"]),
                ", ".join(f"{count:,} {reason}" for reason, count in port["drops"].items()) or "0",
            )
            for name, port in ports
        ]
        columns = {way: [port[f"bytes_{way}"] / 1e6 for _, port in ports] for way in ("in", "out")}
        drawn = pairs("Bytes through the ports", "port", "MB", [name for name, _ in ports], columns)
        title = "Ports of the aggregator" if len(several) == 1 else f"Ports of {switch.get('name') or f'rack {number}'}"
        head = ["port", "attached", "frames in", "bytes in", "frames out", "bytes out", "drops"]
        yield section(title, table(head, rows), plots([drawn]))


def _attached(spec: str, at_end: Mapping[tuple[str, str], str]) -> str:
    """What a port leads to: another aggregator of the tree, or its cable."""
    local, remote = cable_ends(spec)
    peer = at_end.get((remote, local)) if remote else None
    return f"{peer}, {spec.partition('=')[2]}" if peer else spec.partition("=")[2]


def _counts(what: str, counts: Mapping[str, int]) -> str:
    rows = [(name.replace("_", " "), count) for name, count in counts.items() if count]
    return table([what, "frames"], rows) if rows else ""
