"""``netsum racks``: the steps that are played, and what is drawn."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.command import netsum


def test_simulated_steps_match_the_formula_and_a_plot_is_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "racks.svg"
    options = [
        "racks",
        "--racks",
        "2",
        "--workers",
        "2",
        "--chunks",
        "8",
        "--lanes",
        "64",
        "--plot",
        str(plot),
        "--json",
    ]
    done = netsum(*options)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert len(told["points"]) == 18
    for point in told["points"]:
        assert point["right"]
        assert point["crossed_bytes"] == point["formula_bytes"]
        assert point["formula"] == ("2n(r-1)M/r" if point["scheme"] == "flat" else "2(r-1)M/r")
        assert point["time_ms"] >= point["model_ms"]
    assert told["switch_over_gbit"] == 20
    assert "<svg" in plot.read_text()


def test_more_workers_than_a_flat_server_can_have_are_refused() -> None:
    done = netsum("racks", "--racks", "9", "--workers", "8")
    assert done.exit_code == 2
    assert "at most 64 children" in done.output
    for plot in ("racks.txt", "no/such/folder/racks.svg"):
        done = netsum("racks", "--plot", plot)
        assert done.exit_code == 2
        assert "give a .svg or .png" in done.output
