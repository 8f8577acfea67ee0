"""One self-contained HTML page: head, style, tables. It asks the network for nothing, and fits a telephone."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #0f172a; max-width: 1040px; margin: 2.5rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; overflow-wrap: anywhere; } h2 { margin-top: 2.2rem; font-size: 1.1rem; }
.lead { color: #475569; margin-top: .3rem; overflow-wrap: anywhere; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(440px, 100%), 1fr)); gap: 1rem; }
.plots svg, .plots img { width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .35rem .6rem; text-align: right; }
th { color: #475569; font-weight: 600; border-bottom: 2px solid #e2e8f0; } td { border-bottom: 1px solid #f1f5f9; }
td { white-space: nowrap; } .text td + td { white-space: normal; overflow-wrap: anywhere; }
th:first-child, td:first-child { text-align: left; } .text td { text-align: left; } .text th { text-align: left; }
.good { color: #0f766e; font-weight: 700; } .bad { color: #b91c1c; font-weight: 700; }
pre { background: #f8fafc; padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; }
@media (max-width: 600px) { body { margin: 1rem auto; } th, td { padding: .3rem .4rem; font-size: 13px; } }
"""


def table(head: Sequence[str], rows: Iterable[Sequence[object]], css: str = "") -> str:
    """A table; integers get separators. ``css``: "text" aligns all columns to the left."""

    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else html.escape(str(value))

    header = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table class="{css}"><tr>{header}</tr>{body}</table></div>'


def faults_table(faults: Iterable[Mapping[str, Any]], ended: str = "") -> str:
    """What a script of faults has done: ``time_s``, ``what``, and ``problem`` where it could not be done; ``ended``:
    why the job did. Nothing where nothing has happened."""
    rows = [(f"{fault['time_s']:g} s", fault["what"], fault.get("problem", "")) for fault in faults]
    rows += [("the job has ended", ended, "")] if ended else []
    head = ["at", "what"]
    if any(problem for *_, problem in rows):
        head.append("not possible, because")
    return table(head, [row[: len(head)] for row in rows], "text") if rows else ""


def section(title: str, *parts: str) -> str:
    """A heading and what is below it; nothing where that is empty."""
    body = "\n".join(filter(None, parts))
    return f"<h2>{html.escape(title)}</h2>\n{body}\n" if body else ""


def plots(drawn: Iterable[str]) -> str:
    """SVG texts side by side."""
    found = "".join(drawn)
    return f'<div class="plots">{found}</div>' if found else ""


def page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """The page's text. ``title`` is plain text, ``body`` HTML."""
    program = f"<script>{script}</script>" if script else ""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{style}</style>
{body}{program}
</html>
"""
