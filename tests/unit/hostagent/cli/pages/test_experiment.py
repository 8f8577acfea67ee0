"""The page of an experiment's folder: what its columns are, and files that are no experiment."""

from __future__ import annotations

import base64
import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hostagent.cli.pages.experiment import ExperimentError, columns_of, note, read_rows, render, words, write_page
from hostagent.cli.pages.plots import tick
from tests.clients.browser import DESKTOP_PX, PHONE_PX, laid_out_px
from tests.clients.command import netsum

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def calls() -> Iterator[dict[str, Any]]:
    """As mininet/allreduce.py writes them."""
    for rate, size, backend in product((10, 100, 1000), (1000, 8000), ("netsum", "gloo")):
        limit_ms = size * (1 if backend == "netsum" else 1.5) / rate
        for call in (1, 2, 3):
            yield {
                "date": "today",
                "workers": 4,
                "rate_mbit": rate,
                "size_bytes": size,
                "backend": backend,
                "links_alone_ms": limit_ms,
                "call": call,
                "ms": limit_ms * 1.1 + call,
                "sent_bytes": size,
            }


def written(file: Path, rows: Iterator[dict[str, Any]]) -> Path:
    found = list(rows)
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, found[0])
        writer.writeheader()
        writer.writerows(found)
    return file


def test_columns_before_the_repetitions_are_parameters(tmp_path: Path) -> None:
    columns = columns_of(read_rows(written(tmp_path / "calls.csv", calls())))
    assert columns.fixed == {"date": "today", "workers": "4"}
    assert columns.keys == ("rate_mbit", "size_bytes", "backend")
    assert columns.derived == ("links_alone_ms",)
    assert columns.measured == ("ms", "sent_bytes")


def test_another_experiment_repeats_by_seed_and_names_what_it_measured(tmp_path: Path) -> None:
    rows = ({"seed": seed, "loss": loss, "name": f"p{loss}", "cycles": 5 * seed} for seed in (1, 2) for loss in (0, 1))
    file = written(tmp_path / "sweep.csv", rows)
    assert columns_of(read_rows(file), ["cycles"]).keys == ("loss",)
    assert columns_of(read_rows(file), ["cycles"]).derived == ("name",)
    with pytest.raises(ExperimentError, match="no column 'time'; it has seed, loss"):
        columns_of(read_rows(file), ["time"], file)


def test_measurements_that_cannot_be_told_are_asked_for(tmp_path: Path) -> None:
    file = written(tmp_path / "x.csv", ({"loss": loss, "ms": 3} for loss in (0, 1)))
    with pytest.raises(ExperimentError, match="Name them with --measured"):
        columns_of(read_rows(file))


def test_a_page_has_configuration_medians_plots_pictures_and_the_command(tmp_path: Path) -> None:
    written(tmp_path / "calls.csv", calls())
    (tmp_path / "a.png").write_bytes(PIXEL)
    assert "Not recorded" in render(tmp_path)
    note(tmp_path, "A <title>")
    text = render(tmp_path)
    for part in ("A &lt;title&gt;", "workers", "links alone, ms", "36 rows in calls.csv, 12 points", "python"):
        assert part in text, part
    assert (
        "<td>1000</td><td>8000</td><td>gloo</td><td>12.0</td><td>15.2</td><td>14.2</td><td>16.2</td><td>3</td>" in text
    )
    assert base64.b64encode(PIXEL).decode() in text
    assert text.count("<svg") == 2


def test_without_a_numeric_parameter_there_are_bars_and_a_constant_is_not_drawn(tmp_path: Path) -> None:
    rows = ({"kind": kind, "call": call, "ms": call, "n": 7} for kind in "ab" for call in (1, 2))
    written(tmp_path / "x.csv", rows)
    text = render(tmp_path)
    assert text.count("<svg") == 1
    assert text.count('id="LineCollection_') == 1  # the error bars
    assert "<p>The same in all rows: n: 7.</p>" in text
    assert "<h2>n</h2>" not in text


def test_what_has_no_value_is_no_configuration_and_pictures_come_first(tmp_path: Path) -> None:
    written(tmp_path / "x.csv", ({**row, "workers": ""} for row in calls()))
    (tmp_path / "a.png").write_bytes(PIXEL)
    text = render(tmp_path)
    assert "workers" not in text
    assert text.index("a.png") < text.index("36 rows")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sent_bytes", "sent, bytes"),
        ("rate_mbit", "rate, Mbit/s"),
        ("ms", "time, ms"),
        ("difference_percent", "difference, %"),
        ("jain", "jain"),
        ("starts_apart_ms", "starts apart, ms"),
    ],
)
def test_columns_are_named_in_words_with_their_unit(name: str, said: str) -> None:
    assert words(name) == said


def test_ticks_have_prefixes_from_a_thousand_on() -> None:
    assert [tick(value) for value in (0.2, 0.001, 20, 1000, 2_500_000)] == ["0.2", "0.001", "20", "1k", "2.5M"]


def test_bars_that_are_left_out_are_counted_and_medians_are_not_added(tmp_path: Path) -> None:
    rows = ({"kind": kind, "call": call, "ms": call} for kind in "abcdefghijklm" for call in (1, 2))
    written(tmp_path / "x.csv", rows)
    text = render(tmp_path)
    assert "<!-- time, ms (3 smaller ones are not drawn) -->" in text
    assert "others" not in text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.csv", "", "has no row"),
        ("x.csv", "rate,call,ms\n1,1,2\n1,2\n", "x.csv, line 3: it does not have the 3 columns"),
        ("x.csv", "rate,call,ms\n1,1,2,9\n", "x.csv, line 2"),
        ("x.txt", "rate", "has no .csv file"),
        ("experiment.json", "{", "has no .csv file"),
    ],
)
def test_what_is_no_experiment_is_said_in_a_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    ended = netsum("report", str(tmp_path))
    assert ended.exit_code == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("text", ["{", "[]"])
def test_broken_notes_are_named(tmp_path: Path, text: str) -> None:
    written(tmp_path / "calls.csv", calls())
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(ExperimentError, match=r"experiment\.json is not"):
        render(tmp_path)


def test_the_command_writes_the_page_and_names_it(tmp_path: Path) -> None:
    written(tmp_path / "calls.csv", calls())
    ended = netsum("report", str(tmp_path), "-o", str(tmp_path / "new" / "page.html"), "--measured", "ms")
    assert (ended.exit_code, ended.stdout.strip()) == (0, str(tmp_path / "new" / "page.html"))
    assert (tmp_path / "new" / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("width_px", [PHONE_PX, DESKTOP_PX])
def test_a_page_does_not_scroll_sideways(tmp_path: Path, width_px: int) -> None:
    written(tmp_path / "calls.csv", calls())
    wide = PIXEL[:16] + (1920).to_bytes(4, "big") + PIXEL[20:]
    (tmp_path / "a.png").write_bytes(wide)
    assert "min-width: 960px" in write_page(tmp_path).read_text(), "its words can be read on a phone"
    assert laid_out_px(tmp_path, write_page(tmp_path).read_text(), width_px) == width_px
