"""What --aggregator may say, and the processes that it makes of a switch that runs already."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.launch.aggregators import choose, make_services
from hostagent.launch.launcher import RunOptions, run_training
from hostagent.launch.processes import LaunchError


def test_a_switch_that_runs_already() -> None:
    choice = choose("p4runtime://10.0.0.1:9559")
    assert (choice.is_p4, choice.outside) == (True, "10.0.0.1:9559")
    assert choose("p4").outside == ""


@pytest.mark.parametrize("text", ["p4runtime:9559", "p4runtime://host", "bmv2", "core:module", ""])
def test_what_is_no_aggregator(text: str) -> None:
    with pytest.raises(LaunchError, match="choose p4, "):
        choose(text)


def test_its_bridge_and_controller_share_the_ranks_ports(tmp_path: Path) -> None:
    loads = ("--p4info", "i.txt", "--device-config", "c.json")
    choice = choose("p4runtime://10.0.0.1:9559")
    bridge, controller = make_services(tmp_path, 2, choice, 256, "loss=0.1", interfaces=("b1", "b2"), loads=loads)
    started, controlled = list(bridge.command({})), list(controller.command({}))
    ports = [word for word in started if "=shm:" in word]
    assert [port.partition("=")[0] for port in ports] == ["1", "2"]
    assert all(port.endswith("?loss=0.1") for port in ports)
    assert [word for word in controlled if "=shm:" in word] == ports
    assert started[started.index("--interface") :][:4] == ["--interface", "1=b1", "--interface", "2=b2"]
    assert controlled[controlled.index("--p4info") :][:4] == list(loads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregator": "p4runtime://127.0.0.1:9", "interfaces": ("b1",)}, "--interface NAME 2 times"),
        ({"interfaces": ("b1", "b2")}, "for a switch that runs already"),
        ({"loads": ("--p4info", "x")}, "for a switch that runs already"),
    ],
)
def test_interfaces_go_with_such_a_switch(
    options: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.touch()
    assert run_training(RunOptions(2, str(script), **options)) == 1  # type: ignore[arg-type]
    assert message in capsys.readouterr().err
