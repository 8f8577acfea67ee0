"""The table printer and the progress line of all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDTH = 260
"""Columns of a table in a file or pipe: none is folded."""


def wide_console(out: TextIO | None = None) -> Console:
    """The terminal at its own width; for a file or pipe `WIDTH` columns. ``out``: default standard output."""
    from rich.console import Console

    console = Console(file=out)
    return console if console.is_terminal else Console(file=out, width=WIDTH)


def amount(count: int, noun: str) -> str:
    """1 task, 1,000 tasks."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], title: str = "") -> Table:
    """A table of ``rows`` below the headings ``columns``; a heading that starts with ``>`` aligns its column to the
    right.

    Cells are printed as they are, without markup. Headings that are all empty are left out.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    headings = [column.removeprefix(">") for column in columns]
    table.show_header = any(headings)
    for column, heading in zip(columns, headings, strict=True):
        table.add_column(Text(heading), justify="right" if column.startswith(">") else "left")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    title: str = "",
    console: Console | None = None,
) -> None:
    """Print a table; see `make_table`."""
    (console or wide_console()).print(make_table(columns, rows, title))


@contextmanager
def progress(text: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """A line on a terminal's standard error while something takes its time: what is done, and how much of ``total``, or
    for how long. It gives a function that takes what has changed: ``description``, ``completed``, ``total``."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as line:
        task = line.add_task(text, total=total)
        yield lambda **changed: line.update(task, **changed)
