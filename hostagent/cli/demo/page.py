"""The report as one self-contained HTML page: verdict, plots, tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from hostagent.cli.demo import plots
from hostagent.cli.demo.figures import Report

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #0f172a; max-width: 1040px; margin: 2.5rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; font-size: 1.1rem; }
.lead { color: #475569; margin-top: .3rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 1rem; }
.plots svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .35rem .6rem; text-align: right; }
th { color: #475569; font-weight: 600; border-bottom: 2px solid #e2e8f0; } td { border-bottom: 1px solid #f1f5f9; }
th:first-child, td:first-child { text-align: left; } .text td { text-align: left; } .text th { text-align: left; }
.good { color: #0f766e; font-weight: 700; } .bad { color: #b91c1c; font-weight: 700; }
pre { background: #f8fafc; padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; }
"""

PATH = """tensor -> DDP bucket -> chunks of {lanes} int32 -> frame -> shm port -> parse, find slot, add (in P4)
tensor <- dequantized in place <- frame <- shm port <- multicast of the sum, once all have come"""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], css: str = "") -> str:
    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else html.escape(str(value))

    header = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in rows)
    return f'<table class="{css}"><tr>{header}</tr>{body}</table>'


def _checks(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="{"good" if c.passed else "bad"}">{"yes" if c.passed else "NO"}</td>'
        f"<td>{html.escape(c.name)}</td><td>{html.escape(c.detail)}</td></tr>"
        for c in report.checks
    )
    return f'<table class="text"><tr><th>holds</th><th>check</th><th>measured</th></tr>{rows}</table>'


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
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>netsum demo</title>
<meta name="viewport" content="width=device-width"><style>{STYLE}</style>
<h1>netsum demo: <span class="{verdict[0]}">{verdict[1]}</span></h1>
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
<h2>The switch's ports</h2>{_table(columns, ports)}
<h2>What the P4 program decided</h2>
{_table(["verdict", "contributions"], [(k.replace("_", " "), v) for k, v in network.verdicts.items()])}
{_table(["frames dropped", "count"], [(k.replace("_", " "), v) for k, v in network.drops.items()])}
<h2>The ranks</h2>
{
        _table(
            ["counter", *(f"rank {r}" for r in range(len(network.ranks)))],
            [(name.replace("_", " "), *(rank.get(name, 0) for rank in network.ranks)) for name in rank_names],
        )
    }
<h2>Where this ran</h2>{_table(["", ""], [(k, str(v)) for k, v in report.machine.items()], "text")}
</html>
"""
