"""A rack server's report as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from hostagent.launch.terminal import print_table, wide_console

TENANT_COLUMNS = ("tenant", ">jobs", ">keys", ">memory", ">step", ">chunks", ">bytes", ">retransmissions", ">refused")
CORE_COLUMNS = ("core", ">chunks", ">bytes", ">owned bytes", ">busy s", ">sum ns/chunk", ">optimizer ns/chunk")
PORT_COLUMNS = (
    "port", ">frames in", ">bytes in", ">frames out", ">bytes out", ">queued", ">most seen", ">dropped"
)  # fmt: skip


def print_report(report: Mapping[str, Any], out: TextIO) -> None:
    """``report``: what `Figures.as_json` returns."""
    console = wide_console(out)
    for title, columns, rows in (
        ("tenants", TENANT_COLUMNS, _tenants(report)),
        ("cores", CORE_COLUMNS, _cores(report)),
        ("ports", PORT_COLUMNS, _ports(report)),
    ):
        if rows:
            print_table(columns, rows, title=title, console=console)
    between = report["between_racks"]
    if between:
        console.print(
            f"to other racks: {between['part_bytes']:,} bytes of partial sums, {between['total_bytes']:,} of totals, "
            f"{between['again_bytes']:,} retransmitted, {between['message_bytes']:,} of messages; "
            f"{between['dropped']:,} of their frames came too late"
        )
    lost = [f"{count:,} {reason}" for reason, count in report["drops"].items()]
    if report["unknown_services"]:
        lost.append(f"{report['unknown_services']:,} for no such service, or none")
    if lost:
        console.print(f"refused or dropped: {', '.join(lost)}")


def _tenants(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for tenant in report["tenants"]:
        frames, bytes_of = tenant["frames"], tenant["bytes"]
        taken = sum(frames.get(name, 0) for name in ("accepted", "accepted_no_data"))
        again = sum(frames.get(name, 0) for name in ("served_again", "waiting"))
        row = (
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
        rows.append(row)
    return rows


def _cores(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (
            f"{core['core']}",
            f"{core['chunks']:,}",
            f"{core['bytes']:,}",
            f"{core['owned_bytes']:,}",
            f"{core['busy_s']:.3f}",
            f"{core['aggregation_ns_per_chunk']:.0f}",
            f"{core['optimizer_ns_per_chunk']:.0f}",
        )
        for core in report["cores"]
    ]
    shares = [report["balance"][name] for name in ("core_chunks", "core_bytes", "core_owned_bytes")]
    return [*rows, ("max / mean", *(f"{share:.3f}" for share in shares), "", "", "")]


def _ports(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    balance = report["balance"]
    rows: list[tuple[str, ...]] = [
        (
            f"{port['port']}",
            f"{port['frames_in']:,}",
            f"{port['bytes_in']:,}",
            f"{port['frames_out']:,}",
            f"{port['bytes_out']:,}",
            f"{port['queued_out']}",
            f"{port['deepest_out']}",
            ", ".join(f"{count:,} {reason}" for reason, count in port["drops"].items()) or "0",
        )
        for port in report["ports"]
    ]
    if rows:
        means = (f"{balance['port_bytes_in']:.3f}", "", f"{balance['port_bytes_out']:.3f}")
        rows.append(("max / mean", "", *means, "", "", ""))
    return rows
