"""netsum plan synthesize: what it writes, prints and draws; what is said about wrong words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.network.schedule.files import read_schedule
from emulator.network.schedule.parts import Reduce, Send
from emulator.network.schedule.verify import verify
from hostagent.cli.main import run


def test_a_plan_its_bound_and_its_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, plot = tmp_path / "plan.json", tmp_path / "bandwidth.png"
    words = ["plan", "synthesize", "NDv2", "allgather", "-o", str(plan), "--plot", str(plot)]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert "routing   69.00 us, without order on links: proven optimal" in said
    assert "plan      69.90 us" in said
    assert "bound     69.60 us, which no plan over these edges is below: gap 0.4%" in said
    assert verify(read_schedule(plan)).received_bytes.tolist() == [7_000_000] * 8
    assert plot.stat().st_size > 1000


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "synthesize", "NDv2", "alltoall", "--time-limit", "4", "--separate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bound_ns"] == found["routing_ns"] == 138_000
    assert found["gap"] == pytest.approx(1 - 138_000 / found["elapsed_ns"])


def test_a_terminal_shows_the_gap_while_programs_are_solved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    @contextmanager
    def progress(text: str, total: float | None = None) -> Iterator[Callable[..., None]]:
        yield lambda description: said.append(description)

    monkeypatch.setattr("hostagent.launch.terminal.progress", progress)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["plan", "synthesize", "NDv2", "allgather"]) == 0
    assert said[0] == "routing"
    assert "routing: gap 0.00%" in said
    assert "order" in said
    assert capsys.readouterr().out.startswith("routing   69.00 us")  # the solver's lines are not there


def test_an_allreduce_of_a_machine_is_one_of_messages_in_equal_pieces(tmp_path: Path) -> None:
    """No switch or NIC of it sums; the size is a megabyte, or what six pieces of whole numbers need beyond."""
    sketch, plan, program = tmp_path / "S.json", tmp_path / "plan.json", tmp_path / "plan.xml"
    sketch.write_text(json.dumps({"nnodes": 1, "hyperparameters": {"input_chunkup": 6}}))
    words = ["plan", "synthesize", "DGX2", "allreduce", "--time-limit", "2"]
    assert run([*words, "--sketch", str(sketch), "-o", str(plan)]) == 0
    written = read_schedule(plan)
    assert all(isinstance(task, Send | Reduce) for task in written)
    assert sum(each.count * each.bytes for each in written.chunks) == 16 * 1_000_008
    assert run(["plan", "synthesize", "NDv2", "allreduce", "--time-limit", "2", "-o", str(program)]) == 0


def test_links_of_published_machines_are_as_fast_whatever_the_size(tmp_path: Path) -> None:
    rates = []
    for size in ("64KB", "1MB"):
        plan = tmp_path / f"{size}.json"
        assert (
            run(["plan", "synthesize", "NDv2", "allgather", "--size", size, "--time-limit", "2", "-o", str(plan)]) == 0
        )
        rates.append([link.rate_bps for link in read_schedule(plan).topology.links])
    assert rates[0] == rates[1]


def test_the_log_is_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "synthesize", "NDv2", "allgather", "--log", "--json"]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["routing_ns"] == 69_000
    assert "BestBound" in said.err


def test_highspy_starts_from_the_greedy_routing(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    assert run(["plan", "synthesize", "NDv2", "allgather", "--solver", "highspy", "--log", "--json"]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["routing_ns"] == 69_000
    assert "MIP start solution is feasible" in said.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["NDv3", "allgather"], "MACHINE: 'NDv3': choose one of NDv2, DGX2, custom"),
        (["NDv2", "allgather", "--solver", "gurobi"], "--solver: 'gurobi': choose one of scipy, highspy"),
        (["NDv2", "gather"], "COLLECTIVE: 'gather': choose one of allgather"),
        (["custom", "allgather"], "custom has no profile of its own: add --topology"),
        (["NDv2", "allgather", "-o", "/none/plan.json"], "-o/--output: /none is no folder"),
        (["NDv2", "allgather", "--plot", "/none/plan.png"], "--plot: /none is no folder"),
        (["NDv2", "allgather", "--size", "6"], "the size, 6 bytes, is not 1 equal pieces of int32"),
        (["NDv2", "allgather", "--size", "0"], "--size: '0' is not from 1 byte to 1 TB"),
        (["NDv2", "allgather", "--profiled-size", "2000GB"], "--profiled-size: '2000GB' is not from 1 byte"),
        (["NDv2", "allgather", "--plot", "plan.txt"], "plan.txt: a picture's name ends in .png"),
        (["NDv2", "allgather", "--sketch", "none.json"], "none.json: No such file"),
    ],
)
def test_wrong_command_lines(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "synthesize", *words]) == 2
    assert text in capsys.readouterr().err
