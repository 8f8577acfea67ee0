"""``netsum pspin``: what its commands write, and what they say to wrong arguments."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
from numba.core import event

from pspin_model.compile_notice import CompileNotice
from tests.clients.command import Result, netsum

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
    return netsum("pspin", *words)


@pytest.mark.slow
def test_a_run_takes_operators_from_the_configs_folder_and_writes_rows(tmp_path: Path) -> None:
    (tmp_path / "beside_the_config.py").write_text("def both(a, b):\n    return a | b\n")
    (tmp_path / "flare.toml").write_text(CONFIG)
    done = pspin("run", tmp_path / "flare.toml", "--csv", tmp_path / "run.csv")
    assert done.exit_code == 0, done.output
    dense, sparse = csv.DictReader((tmp_path / "run.csv").read_text().splitlines())
    assert (dense["exact"], sparse["exact"]) == ("True", "True")
    assert float(dense["model_bandwidth_gbps"]) > 0
    assert int(sparse["pairs_in"]) > 0


def test_a_sweeps_json_has_the_shared_values_and_its_csv_the_columns(tmp_path: Path) -> None:
    words = ("--size", "1KiB", "--cores", "8", "--children", "2", "-a", "tree", "--operator", "max", "--type", "int16")
    done = pspin("sweep", *words, "--json", "--csv", tmp_path / "rows.csv")
    document = json.loads(done.stdout)
    assert document["machine"]["costs"] == "flare"
    assert document["reduction"]["operator"] == "max"
    (row,) = document["rows"]
    assert (row["type"], row["exact"]) == ("int16", True)
    assert list(row) == (tmp_path / "rows.csv").read_text().splitlines()[0].split(",")
    assert "ping_pong" in json.loads(pspin("example", "--json").stdout)["examples"]


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
    assert done.stderr.startswith("netsum pspin sweep: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "missing: CONFIG"),
        (("run", "/no/such.toml"), "/no/such.toml: No such file"),
        (("sweep", "--cores", "many"), "--cores"),
        (("sweep", "--many"), "--many"),
        (("example", "nothing"), "no example 'nothing'; there are empty, ping_pong"),
        (("example", "empty", "--costs", "free"), "no cost table 'free'"),
        (("example", "empty", "--size", "10"), "--size"),
        (("example", "empty", "--clusters", "50000"), "at most 262,143 cores"),
        (("compare", "/no/such.csv"), "/no/such.csv"),
        (("compare", "--only", "nothing"), "no example 'nothing'"),
        (("riscv", "nothing"), "no handler 'nothing'"),
        (("riscv", "reduce", "--twin", "a:b"), "--twin is for a C file"),
    ],
)
def test_what_is_wrong_in_a_command_is_one_line_with_its_name(words: tuple[str, ...], told: str) -> None:
    done = pspin(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"netsum pspin {words[0]}: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


@pytest.mark.parametrize("tree", ["", "[tree]\nfan_in = [2]\n"])
def test_a_run_fails_where_every_reduction_is_refused_and_only_there(tree: str, tmp_path: Path) -> None:
    machine = f"[machine]\nclusters = 1\n{tree}"
    large, small = ('[[reduction]]\nmessage = "' + size + '"\nchildren = 2\n' for size in ("64MiB", "1KiB"))
    (tmp_path / "large.toml").write_text(machine + large)
    (tmp_path / "both.toml").write_text(machine + large + small)
    refused = pspin("run", tmp_path / "large.toml")
    assert "On a ring of the hosts" in refused.stdout
    assert refused.exit_code == 1
    assert pspin("run", tmp_path / "both.toml").exit_code == 0


def test_why_a_point_of_a_sweep_is_refused_stands_whole_below_the_table() -> None:
    done = pspin("sweep", "--size", "4MiB", "-a", "tree", "--cores", "8", "--children", "2")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("refused: tree of 4194304 bytes from 2 children needs")


def test_an_example_has_pspins_own_name_too() -> None:
    one, other = (pspin("example", name, "--packets", "2", "--json") for name in ("ooorb", "out_of_order"))
    assert one.exit_code == 0
    assert one.stdout == other.stdout


def test_a_table_of_figures_may_be_the_users_own(tmp_path: Path) -> None:
    columns = "example,messages,packets,size_bytes,inter_packet_ns,throughput_gbps,latency_min_ns,latency_avg_ns,"
    columns += "latency_max_ns,handler_min_cycles,handler_avg_cycles,handler_max_cycles,handler_instructions\n"
    (tmp_path / "mine.csv").write_text(columns + "empty,1,1,64,0,,26,,,,,,\n")
    assert "latency_min_ns, 1x1x64x0" in pspin("compare", tmp_path / "mine.csv").stdout
    (tmp_path / "other.csv").write_text("example,messages\nempty,1\n")
    done = pspin("compare", tmp_path / "other.csv")
    assert done.exit_code == 2
    assert "there is no column packets" in done.stderr


def test_a_first_run_says_once_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    notice = CompileNotice()
    ours = "pspin_model.machine.loop"
    for module, kept, told in (("somebody.else", "here", 0), (ours, None, 0), (ours, "here", 1), (ours, "here", 0)):
        function = FunctionType((lambda x: x).__code__, {"__name__": module})
        dispatcher = SimpleNamespace(py_func=function, _cache=SimpleNamespace(cache_path=kept))
        notice.on_start(event.Event("numba:compile", event.EventStatus.START, {"dispatcher": dispatcher}))
        assert capsys.readouterr().err.count("netsum: compiling") == told
