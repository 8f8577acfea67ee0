"""A rack server's report as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

WIDTH = 120
"""Of tables in files."""


def print_report(report: Mapping[str, Any], out: TextIO) -> None:
    """``report``: what `Figures.as_json` returns."""
    console = Console(file=out, width=None if out.isatty() else WIDTH)
    for table in (_tenants(report), _cores(report), _ports(report)):
        if table.row_count:
            console.print(table)
    between = report["between_racks"]
    if between:
        console.print(
            f"to other racks: {between['part_bytes']:,} bytes of partial sums, {between['total_bytes']:,} of totals, "
            f"{between['again_bytes']:,} retransmitted; {between['dropped']:,} of their frames came too late"
        )
    lost = [f"{count:,} {reason}" for reason, count in report["drops"].items()]
    if report["strangers"]:
        lost.append(f"{report['strangers']:,} for no such service, or none")
    if lost:
        console.print(f"refused or dropped: {', '.join(lost)}")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _tenants(report: Mapping[str, Any]) -> Table:
    table = _table(
        "tenants", "tenant", "jobs", "keys", "memory", "step", "chunks", "bytes", "retransmissions", "refused"
    )
    for tenant in report["tenants"]:
        frames, bytes_of = tenant["frames"], tenant["bytes"]
        taken = sum(frames.get(name, 0) for name in ("accepted", "accepted_no_data"))
        again = sum(frames.get(name, 0) for name in ("served_again", "waiting"))
        table.add_row(
            tenant["name"] or "(only sums)",
            f"{tenant['jobs']}",
            f"{tenant['keys']}",
            f"{tenant['used_bytes']:,}" + (f" of {tenant['quota_bytes']:,}" if tenant["quota_bytes"] else ""),
            f"{tenant['step']}",
            f"{taken:,}",
            f"{sum(bytes_of.values()):,}",
            f"{again:,}",
            f"{sum(tenant['refused'].values())}",
        )
    return table


def _cores(report: Mapping[str, Any]) -> Table:
    balance = report["balance"]
    table = _table("cores", "core", "chunks", "bytes", "owned bytes", "busy s", "sum ns/chunk", "optimizer ns/chunk")
    for core in report["cores"]:
        table.add_row(
            f"{core['core']}",
            f"{core['chunks']:,}",
            f"{core['bytes']:,}",
            f"{core['owned_bytes']:,}",
            f"{core['busy_s']:.3f}",
            f"{core['aggregation_ns_per_chunk']:.0f}",
            f"{core['optimizer_ns_per_chunk']:.0f}",
        )
    shares = [balance[name] for name in ("core_chunks", "core_bytes", "core_owned_bytes")]
    table.add_row("max / mean", *(f"{share:.3f}" for share in shares), "", "", "")
    return table


def _ports(report: Mapping[str, Any]) -> Table:
    balance = report["balance"]
    table = _table(
        "ports", "port", "frames in", "bytes in", "frames out", "bytes out", "queued", "most seen", "dropped"
    )
    for port in report["ports"]:
        table.add_row(
            f"{port['port']}",
            f"{port['frames_in']:,}",
            f"{port['bytes_in']:,}",
            f"{port['frames_out']:,}",
            f"{port['bytes_out']:,}",
            f"{port['queued_out']}",
            f"{port['deepest_out']}",
            ", ".join(f"{count:,} {reason}" for reason, count in port["drops"].items()) or "0",
        )
    if table.row_count:
        table.add_row("max / mean", "", f"{balance['port_bytes_in']:.3f}", "", f"{balance['port_bytes_out']:.3f}")
    return table
