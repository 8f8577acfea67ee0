"""The table printer of all commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
