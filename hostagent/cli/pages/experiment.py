"""The page of an experiment's folder: CSV files with a row for each call, pictures, and how to repeat it.

Nothing is known of the experiment but its columns. In the order of the file: parameters, then the column that counts
repetitions (REPEATS), then what was measured. Parameters with one value are the configuration; of the others those that
follow from the ones before them (a limit, say) are shown and not drawn by. A file without a column that counts
repetitions has its measurements named (`--measured`).
"""

from __future__ import annotations

import base64
import csv
import html
import json
import math
import shlex
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostagent.cli.pages.page import page, plots, section, table

REPEATS = ("call", "repeat", "repetition", "run", "iteration", "seed")
PROVENANCE = ("date", "version", "commit")
"""Columns that say where a row comes from: never drawn by."""
NOTES = "experiment.json"
MOST_PLOTS, MOST_SERIES = 6, 8
UNITS = {"ns": "time", "us": "time", "ms": "time", "s": "time", "bytes": "data", "mbit": "data", "percent": "share"}
"""Last words of columns' names that are units, and what is measured in them."""
WRITTEN = {"mbit": "Mbit/s", "percent": "%"}
"""Units that are written otherwise."""
WIDE = 20.0
"""Ratio of the largest to the least value from which an axis is logarithmic."""

Row = Mapping[str, str]


class ExperimentError(Exception):
    """There is no page of this folder; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file are."""

    fixed: dict[str, str]
    """Columns with one value, and columns of PROVENANCE with all their values."""
    keys: tuple[str, ...]
    """Parameters that tell points apart."""
    derived: tuple[str, ...]
    """Parameters that follow from the keys."""
    measured: tuple[str, ...]


def note(folder: Path, title: str) -> None:
    """Write down, for the page, what this process was called with."""
    found = {"title": title, "command": list(sys.orig_argv), "folder": str(Path.cwd())}
    (folder / NOTES).write_text(json.dumps(found, indent=1) + "\n")


def write_page(folder: Path, output: Path | None = None, measured: Sequence[str] = ()) -> Path:
    """Write the page, as ``report.html`` in the folder where no other file is given; its path. ``measured``: names of
    columns. Raises ExperimentError."""
    target = output or folder / "report.html"
    text = render(folder, measured)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    except OSError as error:
        raise ExperimentError(f"cannot write {target}: {error.strerror}") from error
    return target


def render(folder: Path, measured: Sequence[str] = ()) -> str:
    """The page's text. Raises ExperimentError."""
    if not folder.is_dir():
        raise ExperimentError(
            f"{folder} is {'a file' if folder.exists() else 'not there'}: give an experiment's folder"
        )
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise ExperimentError(f"{folder} has no .csv file: an experiment's folder has one, with a row for each call")
    notes = _notes(folder)
    title = str(notes.get("title", folder.resolve().name))
    pictures = [_picture(file) for file in sorted(folder.glob("*.png"))]
    body = [f"<h1>{html.escape(title)}</h1>", *pictures]
    for file in files:
        rows = read_rows(file)
        columns = columns_of(rows, measured, file)
        body.append(_file(file, rows, columns, len(files) > 1))
    body.append(section("The command that repeats it", _command(notes)))
    return page(title, "\n".join(body), style=STYLE)


STYLE = """
figure { margin: 1rem 0; } figure div { overflow-x: auto; } figure img { max-width: 100%; height: auto; }
figcaption { color: #475569; }
"""


def read_rows(file: Path) -> list[Row]:
    """The rows of a file. Raises ExperimentError."""
    with file.open(newline="", errors="replace") as lines:
        reader = csv.DictReader(lines)
        rows: list[Row] = []
        for row in reader:
            if None in row or None in row.values():
                raise ExperimentError(
                    f"{file}, line {reader.line_num}: it does not have the {len(reader.fieldnames or ())} columns of "
                    "the first line; was the experiment ended in the middle of a line?"
                )
            rows.append(row)
    if not rows:
        raise ExperimentError(f"{file} has no row: the experiment has measured nothing yet")
    return rows


def columns_of(rows: Sequence[Row], measured: Sequence[str] = (), file: Path = Path("file.csv")) -> Columns:
    """What the columns are; ``measured``: names given by the user. Raises ExperimentError."""
    names = list(rows[0])
    if unknown := [name for name in measured if name not in names]:
        raise ExperimentError(f"{file} has no column {unknown[0]!r}; it has {', '.join(names)}")
    counting = [name for name in names if name.lower() in REPEATS]
    if measured:
        found = [name for name in measured if _numbers(rows, name)]
    elif counting:
        after = names[names.index(counting[-1]) + 1 :]
        found = [name for name in after if _numbers(rows, name)]
    else:
        found = []
    if not found:
        raise ExperimentError(
            f"which columns of {file} were measured? Name them with --measured NAME,..., of {', '.join(names)}; or "
            f"have the file's columns in this order: parameters, {' or '.join(REPEATS)}, what was measured in numbers"
        )
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    parameters = [name for name in names if name not in found and name not in counting]
    fixed = {
        name: ", ".join(values[name]) for name in parameters if len(values[name]) == 1 or name.lower() in PROVENANCE
    }
    keys: list[str] = []
    derived: list[str] = []
    varying = [name for name in parameters if name not in fixed]
    for name in varying:
        others = [other for other in varying if other != name and other not in derived]
        follows = _points(rows, others) == _points(rows, [*others, name])
        # of two that follow from each other the first is the key
        (derived if follows and _is_later(name, others, rows, varying) else keys).append(name)
    return Columns(fixed, tuple(keys), tuple(derived), tuple(found))


def _points(rows: Sequence[Row], names: Sequence[str]) -> int:
    return len({tuple(row[name] for name in names) for row in rows})


def _is_later(name: str, others: Sequence[str], rows: Sequence[Row], varying: Sequence[str]) -> bool:
    """Whether the columns before it alone tell its value."""
    before = [other for other in others if varying.index(other) < varying.index(name)]
    return _points(rows, before) == _points(rows, [*before, name])


def _numbers(rows: Iterable[Row], name: str) -> list[float]:
    """A column's numbers; empty where one of them is none."""
    try:
        found = [float(row[name]) for row in rows]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def words(name: str) -> str:
    """A column's name for people: ``sent_bytes`` as "sent, bytes", ``ms`` as "time, ms"."""
    *parts, last = name.split("_")
    if last not in UNITS:
        return " ".join((*parts, last))
    return f"{' '.join(parts) or UNITS[last]}, {WRITTEN.get(last, last)}"


def _file(file: Path, rows: Sequence[Row], columns: Columns, is_one_of_several: bool) -> str:
    of_file = f" of {file.name}" if is_one_of_several else ""
    values = {name: _numbers(rows, name) for name in columns.measured}
    constant = [f"{words(name)}: {_written(found[0])}" for name, found in values.items() if len(set(found)) == 1]
    varying = [name for name, found in values.items() if len(set(found)) > 1]
    drawn = [_draw(rows, columns, name) for name in varying[:MOST_PLOTS]]
    lead = f"{len(rows):,} rows in {file.name}, {_points(rows, columns.keys):,} points"
    same = f"<p>The same in all rows: {html.escape('; '.join(constant))}.</p>" if constant else ""
    fixed = [(words(name), value) for name, value in columns.fixed.items() if value]
    note = "<p>Medians; bars from the least to the largest.</p>" if drawn else ""
    return "".join(
        (
            f'<p class="lead">{html.escape(lead)}</p>',
            section(f"Configuration{of_file}", table(["", ""], fixed, "text") if fixed else ""),
            section(f"Plots{of_file}", plots(drawn), note),
            *(section(f"{words(name)}{of_file}", _table(rows, columns, name)) for name in varying),
            same,
        )
    )


def _groups(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _table(rows: Sequence[Row], columns: Columns, name: str) -> str:
    found = []
    for key, group in _groups(rows, (*columns.keys, *columns.derived)).items():
        values = _numbers(group, name)
        spread = (statistics.median(values), min(values), max(values))
        found.append((*key, *map(_written, spread), len(values)))
    return table([*map(words, (*columns.keys, *columns.derived)), "median", "least", "largest", "rows"], found)


def _written(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


def _draw(rows: Sequence[Row], columns: Columns, name: str) -> str:
    """Medians against the numeric key with most values, a line for each point of the other keys; bars where there is no
    such key."""
    from hostagent.cli.pages.plots import COLOURS, axes_of, bars, shortened, svg

    numeric = [key for key in columns.keys if _numbers(rows, key)]
    if not numeric:
        groups = {" ".join(key): _numbers(group, name) for key, group in _groups(rows, columns.keys).items()}
        heights = {key: statistics.median(values) for key, values in groups.items()}
        return bars(
            words(name), words(name), heights, {key: (min(values), max(values)) for key, values in groups.items()}
        )
    by = max(numeric, key=lambda key: len({row[key] for row in rows}))
    others = [key for key in columns.keys if key != by]
    figure, axes = axes_of(words(name), words(by), words(name), height=3.6)
    series = _groups(rows, others)
    for number, (key, mine) in enumerate(list(series.items())[:MOST_SERIES]):
        points = sorted((float(place), _numbers(group, name)) for (place,), group in _groups(mine, [by]).items())
        medians = [statistics.median(values) for _, values in points]
        spread = [
            [median - min(values) for median, (_, values) in zip(medians, points, strict=True)],
            [max(values) - median for median, (_, values) in zip(medians, points, strict=True)],
        ]
        label = shortened(", ".join(f"{words(other)} {value}" for other, value in zip(others, key, strict=True)))
        places = [place for place, _ in points]
        axes.errorbar(places, medians, yerr=spread, fmt="o-", capsize=3, label=label, color=COLOURS[number])
    _scale(axes, sorted(set(_numbers(rows, by))), _numbers(rows, name))
    if others:
        left_out = len(series) - MOST_SERIES
        axes.legend(fontsize=8, title=f"{left_out} more are not drawn" if left_out > 0 else None)
    return svg(figure)


def _scale(axes: Any, places: Sequence[float], values: Sequence[float]) -> None:
    """Logarithmic axes where values are far apart; ticks at the places that were measured, as far as there is room."""
    from matplotlib import ticker

    from hostagent.cli.pages.plots import tick

    if min(places) > 0 and max(places) / min(places) >= WIDE:
        axes.set_xscale("log")
    if min(values) > 0 and max(values) / min(values) >= WIDE:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    elif min(values) >= 0:
        axes.set_ylim(0, 1.1 * (max(values) or 1))
    axes.yaxis.set_major_formatter(tick)
    shown = places[:: -(-len(places) // 6)]
    axes.set_xticks(shown, list(map(tick, shown)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def _picture(file: Path) -> str:
    """A picture, at least half as wide as it was drawn, so that its words can be read: it then scrolls in itself."""
    content = file.read_bytes()
    least_px = int.from_bytes(content[16:20], "big") // 2  # width in the header of a PNG
    data, name = base64.b64encode(content).decode(), html.escape(file.name)
    return (
        f'<figure><div><img alt="{name}" style="min-width: {least_px}px" src="data:image/png;base64,{data}"></div>'
        f"<figcaption>{name}</figcaption></figure>"
    )


def _notes(folder: Path) -> dict[str, Any]:
    file = folder / NOTES
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text())
    except ValueError as error:
        raise ExperimentError(f"{file} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ExperimentError(f"{file} is not a JSON object with title, command and folder")
    return found


def _command(notes: Mapping[str, Any]) -> str:
    command = notes.get("command")
    if not command:
        return f"<p>Not recorded: the folder has no {NOTES}.</p>"
    place = f"cd {shlex.quote(str(notes['folder']))}\n" if notes.get("folder") else ""
    return f"<pre>{html.escape(place + shlex.join(map(str, command)))}</pre>"
