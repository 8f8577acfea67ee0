"""``netsum pspin run`` and ``sweep``: what they write, and what they say to wrong arguments."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from hostagent.cli.pspin import command

CONFIG = """
[machine]
clusters = 1
[[reduction]]
message = "1KiB"
children = 3
type = "int32"
operator = "beside_the_config:both"
algorithm = "single"
[[reduction]]
message = "4KiB"
children = 3
density = 0.1
"""


def pspin(*words: str | Path) -> Result:
    app = typer.Typer()
    command.register(app)
    return CliRunner().invoke(app, ["pspin", *map(str, words)])


def test_a_run_takes_operators_from_the_configs_folder_and_writes_rows(tmp_path: Path) -> None:
    (tmp_path / "beside_the_config.py").write_text("def both(a, b):\n    return a | b\n")
    (tmp_path / "flare.toml").write_text(CONFIG)
    done = pspin("run", tmp_path / "flare.toml", "--csv", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    dense, sparse = csv.DictReader((tmp_path / "run.csv").read_text().splitlines())
    assert (dense["exact"], sparse["exact"]) == ("True", "True")
    assert float(dense["model_bandwidth_gbps"]) > 0
    assert int(sparse["pairs_in"]) > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--plot", "sweep.txt"), "use a name that ends in .png"),
        (("--csv", "/no/such/folder/rows.csv"), "there is no folder /no/such/folder"),
        (("--costs", "free"), "choose one of rtl, flare"),
        (("--density", "0"), "density = 0"),
        (("--storage", "hash"), "give a --density too"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_before_it_starts(words: tuple[str, ...], told: str) -> None:
    done = pspin("sweep", *words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.output
