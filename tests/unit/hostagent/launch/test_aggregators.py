"""What --aggregator may say, and the processes that it makes of a switch that runs already."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.controller.process import ControllerOptions, make_driver
from hostagent.launch.aggregators import choices_of_tree, choose, make_services
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
        ({"leaves": ("pspin",)}, "add --tree"),
        ({"tree": (2, 1), "leaves": ("rack",)}, "--leaves rack: choose p4, pspin, server"),
        ({"tree": (2, 1), "leaves": ("p4:other.p4",)}, "--leaves p4:other.p4: choose p4, pspin, server"),
        ({"tree": (2, 1), "leaves": ("p4runtime://127.0.0.1:9",)}, "choose p4, pspin, server"),
        ({"tree": (1, 1, 1, 2), "leaves": ("p4", "pspin")}, "1x1x1x2 has 3 levels below its root"),
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


def test_kinds_of_a_tree_by_level_and_their_addresses(tmp_path: Path) -> None:
    tree, leaves = (2, 2, 1), (choose("pspin"), choose("p4"))
    assert [each.kind for each in choices_of_tree(tree, choose("server"), leaves)] == [
        "server",
        *["pspin", "p4", "p4"] * 2,
    ]
    assert [each.kind for each in choices_of_tree((1, 1, 2), choose("p4"), [choose("server")])] == ["p4"] + 2 * [
        "server"
    ]
    assert [each.kind for each in choices_of_tree((2, 1), choose("pspin"), ())] == ["pspin", "p4", "p4"]
    *nodes, controller = make_services(
        tmp_path, 4, choose("server"), 256, server_options=("--checkpoint", "x"), tree=tree, leaves=leaves
    )
    started = [list(node.command({})) for node in nodes]
    assert ["--checkpoint" in words for words in started] == [True] + 6 * [False]
    assert ["switch" in words for words in started] == [False, *[False, True, True] * 2]
    for number, node in enumerate(nodes):
        node.ready = {"p4runtime" if "switch" in started[number] else "service": f"127.0.0.1:{number}"}
    words = list(controller.command({}))
    assert words[words.index("--aggregator") + 1] == (
        "netsum://127.0.0.1:0,127.0.0.1:1,p4runtime://127.0.0.1:2,127.0.0.1:3,"
        "netsum://127.0.0.1:4,p4runtime://127.0.0.1:5,127.0.0.1:6"
    )
    options = ControllerOptions(words[words.index("--aggregator") + 1], (), tree=tree)
    names = make_driver(options).name.removesuffix(" (a tree)").split(",")
    assert [name.partition("://")[0] for name in names] == ["netsum", *["netsum", "p4runtime", "p4runtime"] * 2]


def test_each_switch_of_a_tree_has_a_capture_file_and_continues_it(tmp_path: Path) -> None:
    root, leaf, *_ = make_services(tmp_path, 4, choose("p4"), 256, tree=(2, 2), capture=("a/x.pcapng", "2GB"))
    words = list(root.command({}))
    assert words[words.index("--capture") :] == ["--capture", "a/x-root.pcapng", "--capture-size", "2GB"]
    again = list(leaf.command({"p4runtime": "127.0.0.1:7"}))
    assert again[again.index("--capture") :] == [
        *("--capture", "a/x-s0.pcapng", "--capture-size", "2GB"),
        "--capture-append",
    ]
    (one, _) = make_services(tmp_path, 2, choose("p4"), 256, capture=("x.pcapng", "2GB"))
    assert "x.pcapng" in one.command({})
    assert "--capture" not in make_services(tmp_path, 2, choose("p4"), 256)[0].command({})
