"""Tables of reductions through trees of switches."""

from __future__ import annotations

from typing import Any

COLUMNS = ("level", "switches", "children", "algorithm", "done µs", "packets", "repeats", "sent again",
           "cycles a packet", "busy", "input KiB", "working KiB", "booked KiB")  # fmt: skip
SPARSE_COLUMNS = ("of the result", "merged", "spilled", "KiB up", "extra KiB")


def show_trees(console: Any, outcome: Any) -> None:
    """Each reduction with its levels, leaves first."""
    for report in outcome.reports:
        _show_tree(console, report)
    if outcome.lost:
        console.print(f"links lost {outcome.lost:,} packets")


def _show_tree(console: Any, report: Any) -> None:
    what = f"{report.name}: {report.dtype}, {_kib(report.message_bytes)} KiB from {report.children} hosts"
    if report.density:
        what += f", {report.density:.2%} of it"
    if report.refused:
        ring = _us(report.fallback_cycles)
        console.print(f"{what}: refused: {report.refused}. On a ring of the hosts: {ring} µs or more", soft_wrap=True)
        return
    result = "exact" if report.exact else f"WRONG, {len(report.faults)} faults"
    again = f", {report.sent_again:,} packets sent again" if report.sent_again else ""
    again += f", {report.requests:,} requests" if report.requests else ""
    console.print(
        f"{what} to {report.root}: {result}, {_us(report.cycles)} µs, a block {_us(report.block_latency_cycles)} µs, "
        f"{report.host_gbps:,.1f} Gbit/s of a host{again}"
    )
    console.print(_levels(report))
    for text in report.faults[:20]:
        console.print(text)


def _levels(report: Any) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in (*COLUMNS, *(SPARSE_COLUMNS if report.density else ())):
        table.add_column(name, justify="left" if name == "algorithm" else "right")
    for level in report.levels:
        row = [
            str(level.level), str(level.switches), str(level.children), level.algorithm, _us(level.done_cycles),
            f"{level.packets:,}", f"{level.repeats:,}", f"{level.sent_again:,}", f"{level.service_cycles:,.0f}",
            f"{level.core_use:.0%}",
            *(_kib(size) for size in (level.input_peak_bytes, level.working_peak_bytes, level.booked_bytes)),
        ]  # fmt: skip
        if level.sparse:
            s = level.sparse
            row += [
                f"{s.result_density:.2%}",
                f"{s.merged:,}",
                f"{s.spilled:,}",
                _kib(s.bytes_out),
                _kib(s.extra_bytes),
            ]
        table.add_row(*row)
    return table


def _us(cycles: float) -> str:
    return f"{cycles / 1000:,.1f}"


def _kib(count: int) -> str:
    return f"{count / 1024:z,.0f}"
