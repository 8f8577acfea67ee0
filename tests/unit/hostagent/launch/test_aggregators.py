"""What --aggregator may say, and the processes that it makes of a switch that runs already."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.launch.aggregators import choose, make_services
from hostagent.launch.launcher import RunOptions, run_training
from hostagent.launch.processes import REFUSED_STATUS, LaunchError


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
        ({"overflow": "p4"}, "--overflow p4: choose server, pspin"),
        ({"overflow": "rack"}, "--overflow rack: choose server, pspin"),
        ({"overflow": "server", "tree": (1, 2)}, "without --tree"),
        ({"overflow": "server", "aggregator": "pspin"}, "--aggregator p4"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.touch()
    assert run_training(RunOptions(2, str(script), **options)) == REFUSED_STATUS  # type: ignore[arg-type]
    assert message in capsys.readouterr().err


def test_an_overflow_server_is_above_the_switch_and_the_controller_is_told(tmp_path: Path) -> None:
    server, switch, controller = make_services(
        tmp_path, 2, choose("server"), 256, controller_options=("--slots", "16"), overflows=True
    )
    assert (server.name, switch.name) == ("overflow server", "switch")
    assert {"server", "--port"} <= set(server.command({}))
    assert "switch" in switch.command({})
    server.ready, switch.ready = {"service": "127.0.0.1:7"}, {"p4runtime": "127.0.0.1:8"}
    words = list(controller.command({}))
    assert words[words.index("--aggregator") + 1] == "netsum://127.0.0.1:7,p4runtime://127.0.0.1:8"
    assert "--overflow" in words
    assert "--tree" not in words
    assert words[-2:] == ["--slots", "16"]


def test_each_switch_of_a_tree_has_a_capture_file_and_continues_it(tmp_path: Path) -> None:
    root, leaf, *_ = make_services(tmp_path, 4, choose("p4"), 256, tree=(2, 2), capture=("a/x.pcapng", "2GB"))
    words = list(root.command({}))
    assert words[words.index("--capture") :] == ["--capture", "a/x-root.pcapng", "--capture-size", "2GB"]
    again = list(leaf.command({"p4runtime": "127.0.0.1:7"}))
    assert again[again.index("--capture") :] == [
        *("--capture", "a/x-1.pcapng", "--capture-size", "2GB"),
        "--capture-append",
    ]
    (one, _) = make_services(tmp_path, 2, choose("p4"), 256, capture=("x.pcapng", "2GB"))
    assert "x.pcapng" in one.command({})
    assert "--capture" not in make_services(tmp_path, 2, choose("p4"), 256)[0].command({})
