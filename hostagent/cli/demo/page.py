"""The report as one self-contained HTML page: verdict, plots, tables."""

from __future__ import annotations

import html

from hostagent.cli.demo import plots
from hostagent.cli.demo.figures import Report
from hostagent.cli.pages.page import page, table

PATH = """tensor -> DDP bucket -> chunks of {lanes} int32 -> frame -> shm port -> parse, find slot, add (in P4)
tensor <- dequantized in place <- frame <- shm port <- multicast of the sum, once all have come"""


def _checks(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="{"good" if c.passed else "bad"}">{"yes" if c.passed else "NO"}</td>'
        f"<td>{html.escape(c.name)}</td><td>{html.escape(c.detail)}</td></tr>"
        for c in report.checks
    )
    head = "<tr><th>holds</th><th>check</th><th>measured</th></tr>"
    return f'<div class="scroll"><table class="text">{head}{rows}</table></div>'


def render(report: Report) -> str:
    """The page's text."""
    network = report.network
    verdict = ("good", "passed") if report.passed else ("bad", "failed")
    workers = len(network.operations)
    rank_names = sorted({name for rank in network.ranks for name in rank})
    columns = ["port", "attached", "frames in", "bytes in", "frames out", "bytes out", "drops"]
    ports = [
        (str(p.number), p.name, p.frames_in, p.bytes_in, p.frames_out, p.bytes_out, p.drops) for p in network.ports
    ]
    body = f"""<h1>netsum demo: <span class="{verdict[0]}">{verdict[1]}</span></h1>
<p class="lead">{workers} training processes, {report.netsum.parameters:,} parameters, {
        len(report.netsum.losses)
    } steps;
every gradient summed by p4src/allreduce.p4 at {network.lanes} lanes a frame, then the same training on gloo.</p>
{_checks(report)}
<h2>The two trainings</h2>
<div class="plots">{plots.losses(report)}{plots.differences(report)}{plots.step_times(report)}{
        plots.ports(report)
    }</div>
<h2>The path of a gradient</h2><pre>{html.escape(PATH.format(lanes=network.lanes))}</pre>
<h2>The switch's ports</h2>{table(columns, ports)}
<h2>What the P4 program decided</h2>
{table(["verdict", "contributions"], [(k.replace("_", " "), v) for k, v in network.verdicts.items()])}
{table(["frames dropped", "count"], [(k.replace("_", " "), v) for k, v in network.drops.items()])}
<h2>The ranks</h2>
{
        table(
            ["counter", *(f"rank {r}" for r in range(len(network.ranks)))],
            [(name.replace("_", " "), *(rank.get(name, 0) for rank in network.ranks)) for name in rank_names],
        )
    }
<h2>Where this ran</h2>{table(["", ""], [(k, str(v)) for k, v in report.machine.items()], "text")}"""
    return page("netsum demo", body)
