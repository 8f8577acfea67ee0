"""The model against figures measured on the RTL: a CSV with the columns of `Row`."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pspin_model.examples.catalogue import EXAMPLES
from pspin_model.examples.run import FIGURES, Row, run_example
from pspin_model.machine import ConfigError, MachineConfig

RTL = Path(__file__).with_name("rtl.csv")
"""Measured by us on PsPIN's public RTL (spcl/pspin a49fec8) under Verilator, with its handlers compiled by gcc 12.2 for
rv32imac: one row for each handler of a run."""
SHAPE = ("messages", "packets", "size_bytes", "inter_packet_ns")


@dataclass(frozen=True, slots=True)
class Compared:
    """One measured row next to the model's."""

    measured: dict[str, str]
    model: Row

    def errors(self) -> dict[str, float]:
        """Relative error of each figure the measurement has."""
        found = {}
        for name in FIGURES:
            text = self.measured[name]
            value = float(text or 0)
            if value:
                found[name] = (float(getattr(self.model, name)) - value) / value
        return found

    def worst(self) -> tuple[str, float]:
        """The figure that is farthest off."""
        errors = self.errors()
        name = max(errors, key=lambda each: abs(errors[each]))
        return name, errors[name]


def read_rows(path: Path) -> list[dict[str, str]]:
    """The measured rows of a CSV. Raises ConfigError for one without the columns."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in ("example", *SHAPE, *FIGURES) if rows and name not in rows[0]]
    if missing or not rows:
        raise ConfigError(f"{path}: there is no {f'column {missing[0]}' if missing else 'row in it'}")
    return rows


def handler_of(row: dict[str, str]) -> str:
    """Name of the handler that a row is about, from its notes (``handler=NAME``); "": they do not say."""
    _, _, rest = row.get("notes", "").partition("handler=")
    return rest.split()[0] if rest.split() else ""


def compare(path: Path, only: str | None = None, config: MachineConfig | None = None) -> Iterator[Compared]:
    """Every row of a CSV next to the model's; runs are shared by the rows of their handlers."""

    @functools.cache
    def run(name: str, messages: int, packets: int, size: int, delay: int) -> dict[str, Row]:
        rows, _, _ = run_example(name, messages, packets, size, delay, config=config)
        return {row.handler: row for row in rows}

    for row in read_rows(path):
        name = row["example"]
        if name not in EXAMPLES or (only is not None and name != only):
            continue
        numbers = [int(row[each]) for each in SHAPE]
        rows = run(name, *numbers)
        model = rows.get(handler_of(row)) or next(iter(rows.values()))
        yield Compared(row, model)
