"""Tables of reductions on the model of a PsPIN switch, and of trees of switches."""

from __future__ import annotations

from typing import Any

from hostagent.launch.terminal import print_table, wide_console

PAIRS = (
    (("bandwidth_gbps", "model_gbps"), 1),
    (("service_cycles", "model_service_cycles"), 1),
    (("latency_cycles", "model_latency_cycles"), 1000),
    (("working_bytes", "model_working_bytes"), 1024),
)
"""A sweep's figures and the model's, and what they are divided by in the table."""
SPARSE_PAIRS = ((("dense_gbps", "model_dense_gbps"), 1), *PAIRS[1:3])

REDUCTION_COLUMNS = ("reduction", "algorithm", ">KiB", ">children", ">Gbit/s", ">model", ">µs", ">cycles a packet",
           ">block µs", ">working KiB", "result")  # fmt: skip
SPARSE_COLUMNS = ("sparse", ">density", ">of the result", ">pairs in", ">merged", ">spilled", ">flushes", ">KiB in",
           ">KiB out", ">extra KiB", ">dense Gbit/s")  # fmt: skip
SWEEP_COLUMNS = ("algorithm", ">KiB", ">cores", ">children", ">Gbit/s", ">model", ">service", ">model", ">block µs",
           ">model", ">working KiB", ">model", ">busy", "why the model deviates")  # fmt: skip
SPARSE_SWEEP_COLUMNS = ("storage", ">buffers", ">density", ">KiB", ">cores", ">children", ">dense Gbit/s", ">model",
           ">service", ">model", ">block µs", ">model", ">of the result", ">spilled", ">model", ">KiB out",
           ">extra KiB", ">model", ">busy", "why the model deviates")  # fmt: skip
LEVEL_COLUMNS = (">level", ">switches", ">children", "algorithm", ">done µs", ">packets", ">duplicates",
           ">retransmitted", ">cycles a packet", ">busy", ">input KiB", ">working KiB", ">booked KiB")  # fmt: skip
SPARSE_LEVEL_COLUMNS = (">of the result", ">merged", ">spilled", ">KiB up", ">extra KiB")


def show_report(report: Any) -> None:
    console = wide_console()
    rows = []
    for o in report.outcomes:
        result = "refused" if o.refused else "exact" if o.exact else f"WRONG, {o.faults} faults"
        rows.append((
            o.name, o.algorithm, _kib(o.message_bytes), str(o.children), f"{o.bandwidth_gbps:,.1f}",
            f"{o.model.bandwidth_gbps:,.1f}" if o.model else "", f"{o.cycles / 1000:,.1f}", f"{o.service_cycles:,.0f}",
            f"{o.block_latency_cycles / 1000:,.1f}", _kib(o.working_peak_bytes), result,
        ))  # fmt: skip
    print_table(REDUCTION_COLUMNS, rows, console=console)
    for o in report.outcomes:
        if o.refused:
            ring = f"On a ring of the hosts: {o.fallback_cycles / 1000:,.1f} µs or more"
            console.print(f"{o.name}: {o.refused}. {ring}", soft_wrap=True)
    _show_sparse(console, [o for o in report.outcomes if o.sparse])
    if len(report.outcomes) > 1:
        console.print("the model is of each reduction alone")
    console.print(f"cores busy {report.core_use:.1%}; input memory peak {_kib(report.input_peak_bytes)} KiB")
    for text in report.faults[:20]:
        console.print(text)


def _show_sparse(console: Any, outcomes: Any) -> None:
    """What became of the pairs of sparse reductions."""
    if not outcomes:
        return
    rows = []
    for o in outcomes:
        s = o.sparse
        rows.append((
            o.name, f"{o.density:.2%}", f"{s.result_density:.2%}", f"{s.pairs_in:,}", f"{s.merged:,}", f"{s.spilled:,}",
            f"{s.flushes:,}", _kib(s.bytes_in), _kib(s.bytes_out), _kib(s.extra_bytes), f"{o.dense_gbps:,.1f}",
        ))  # fmt: skip
    print_table(SPARSE_COLUMNS, rows, console=console)


def show_rows(rows: Any) -> None:
    lines: list[tuple[str, ...]] = []
    for row in rows:
        start = (row["algorithm"], _kib(row["message_bytes"]), str(row["cores"]), str(row["children"]))
        if row["refused"]:
            lines.append((*start, *[""] * 9, "refused"))
            continue
        figures = [_figure(row[name], scale) for pair, scale in PAIRS for name in pair]
        why = row["why"] or "" if row["exact"] else f"WRONG RESULT, {row['faults']} faults"
        lines.append((*start, *figures, f"{row['core_use']:.0%}", why))
    _print_with_refusals(SWEEP_COLUMNS, lines, rows)


def show_sparse_rows(rows: Any) -> None:
    lines: list[tuple[str, ...]] = []
    for row in rows:
        start = (row["storage"], str(row["buffers"]), f"{row['density']:.2%}", _kib(row["message_bytes"]),
                 str(row["cores"]), str(row["children"]))  # fmt: skip
        if row["refused"]:
            lines.append((*start, *[""] * 13, "refused"))
            continue
        figures = [_figure(row[name], scale) for pair, scale in SPARSE_PAIRS for name in pair]
        lines.append((
            *start, *figures, f"{row['result_density']:.1%}", f"{row['spilled']:,}", f"{row['model_spilled']:,.0f}",
            _kib(row["bytes_out"]), _kib(row["extra_bytes"]), _kib(row["model_extra_bytes"]), f"{row['core_use']:.0%}",
            row["why"] or "" if row["exact"] else f"WRONG RESULT, {row['faults']} faults",
        ))  # fmt: skip
    _print_with_refusals(SPARSE_SWEEP_COLUMNS, lines, rows)


def _print_with_refusals(columns: Any, lines: Any, rows: Any) -> None:
    """Reasons of refusals are printed below the table, where a line has room."""
    console = wide_console()
    print_table(columns, lines, console=console)
    for why in dict.fromkeys(row["refused"] for row in rows if row["refused"]):
        console.print(f"refused: {why}", highlight=False, soft_wrap=True)


def _figure(value: float | None, scale: float) -> str:
    if value is None:
        return ""
    scaled = value / scale
    return f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:,.1f}"


def _kib(count: float) -> str:
    """Whole KiB, with decimals where there are few."""
    return f"{count / 1024:z,.0f}" if abs(count) >= 10240 or count % 1024 == 0 else f"{count / 1024:z,.2f}"


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
    again = f", {report.sent_again:,} packets retransmitted" if report.sent_again else ""
    again += f", {report.requests:,} requests" if report.requests else ""
    console.print(
        f"{what} to {report.root}: {result}, {_us(report.cycles)} µs, a block {_us(report.block_latency_cycles)} µs, "
        f"{report.host_gbps:,.1f} Gbit/s of a host{again}"
    )
    _print_levels(console, report)
    for text in report.faults[:20]:
        console.print(text)


def _print_levels(console: Any, report: Any) -> None:
    columns = (*LEVEL_COLUMNS, *(SPARSE_LEVEL_COLUMNS if report.density else ()))
    rows = []
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
        rows.append(row + [""] * (len(columns) - len(row)))
    print_table(columns, rows, console=console)


def _us(cycles: float) -> str:
    return f"{cycles / 1000:,.1f}"
