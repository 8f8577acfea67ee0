"""Sweeps: many independent runs of one function, on this machine's processors or on a Dask cluster.

    points --key--> rows that the file has already
           --run--> processes, or Dask's workers --> a row each, appended to the file as it comes

A sweep that was ended, or is given more points, goes on with its file: points that have a row there are not run again.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Row = dict[str, Any]
"""Names of columns to numbers, texts, truth values and None."""

P = TypeVar("P")
SCHEDULER_TIMEOUT = "10s"


class SweepError(ValueError):
    """A sweep cannot begin; the text says why and what to do."""


def run_all(
    run: Callable[[P], Row],
    points: Sequence[P],
    *,
    key: Callable[[P], Row],
    file: Path | None = None,
    workers: int | None = None,
    dask: str = "",
    done: Callable[[int, Row], None] = lambda _number, _row: None,
) -> list[Row]:
    """The rows of all points, in their order; ``done(number, row)`` is called as they come, first for the file's.

    ``run``: a function of a module, for it is sent to other processes; what it raises ends the sweep. ``key``: the
    columns that say which point a row is of, its seed among them; they are a row's first ones. ``file``: CSV, a line
    for each row. ``workers``: processes here, by default one for each processor. ``dask``: HOST:PORT of a scheduler
    whose workers are used instead; they need netsum at the same version. Raises SweepError.
    """
    keys = [key(point) for point in points]
    rows: dict[int, Row] = {}
    table = RowFile(file, list(keys[0])) if file is not None and points else None
    for number, each in enumerate(keys):
        if table is not None and (found := table.find(each)) is not None:
            rows[number] = found
            done(number, found)
    left = {number: point for number, point in enumerate(points) if number not in rows}
    for number, result in _on_dask(run, left, dask) if dask else _on_processes(run, left, workers):
        row = rows[number] = keys[number] | result
        if table is not None:
            table.add(row)
        done(number, row)
    return [rows[number] for number in range(len(points))]


def _on_processes(run: Callable[[P], Row], points: dict[int, P], workers: int | None) -> Iterator[tuple[int, Row]]:
    workers = min(workers or os.cpu_count() or 1, len(points))
    if workers <= 1:
        yield from ((number, run(point)) for number, point in points.items())
        return
    # spawned: a forked child of a process with threads (a progress bar) may hang
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        futures = {pool.submit(run, point): number for number, point in points.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _on_dask(run: Callable[[P], Row], points: dict[int, P], address: str) -> Iterator[tuple[int, Row]]:
    try:
        from distributed import Client
        from distributed import as_completed as as_dask_completed
    except ImportError:
        raise SweepError("a Dask cluster needs the package distributed: pip install 'netsum[dask]'") from None
    try:
        client: Any = Client(address, timeout=SCHEDULER_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise SweepError(f"no Dask scheduler answers at {address}; start one with `dask scheduler` ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SCHEDULER_TIMEOUT)
        except TimeoutError:
            raise SweepError(
                f"the Dask scheduler at {address} has no worker; start some with `dask worker {address}`"
            ) from None
        # pure: another sweep's result of the same point is not taken
        futures = {client.submit(run, point, pure=False): number for number, point in points.items()}
        for future in as_dask_completed(futures):  # type: ignore[no-untyped-call]
            yield futures[future], future.result()


class RowFile:
    """A CSV file of rows that grows; one that is there is read first. A last line that was cut off is left out."""

    def __init__(self, path: Path, key: Sequence[str]) -> None:
        """``key``: the columns that say which row it is. Raises SweepError for a file without them, and for one
        that cannot be read and written."""
        self.path, self.key = path, key
        self.rows: list[Row] = []
        self.columns: list[str] = []
        try:
            path.open("a").close()  # before the first run, which may take long
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SweepError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
        whole = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(whole))
        if whole:
            self.columns = list(reader.fieldnames or ())
            if missing := [name for name in key if name not in self.columns]:
                raise SweepError(f"{path} is of another sweep: no column {missing[0]!r}; name another file, or move it")
            self.rows = [{name: _value(each) for name, each in row.items()} for row in reader]
        self._found = {self._text(row): row for row in self.rows}
        if whole != text:
            self._write()

    def find(self, key: Row) -> Row | None:
        """The row with these columns, if it is there."""
        return self._found.get(self._text(key))

    def add(self, row: Row) -> None:
        """Append a row; the file has it when this returns."""
        self.rows.append(row)
        if new := [name for name in row if name not in self.columns]:
            self.columns += new
            self._write()
            return
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n", restval="").writerow(row)

    def _text(self, row: Row) -> tuple[str, ...]:
        return tuple("" if row[name] is None else str(row[name]) for name in self.key)

    def _write(self) -> None:
        self.path.write_text(as_csv(self.rows, self.columns))


def as_csv(rows: Iterable[Row], columns: Sequence[str] = ()) -> str:
    """A header and a line for each row; without ``columns`` those of all rows, in the order they first appear."""
    rows = list(rows)
    text = io.StringIO()
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _value(text: str | None) -> Any:
    """What a CSV cell was."""
    if not text:
        return None
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
