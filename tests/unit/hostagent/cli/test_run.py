"""Command lines that launchers write, and options that are refused where they would have no effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.rpc.tls import ClientTls
from hostagent.launch import launcher
from hostagent.launch.aggregators import choose, in_runs, make_services
from hostagent.launch.launcher import RunOptions
from tests.clients.command import Result, netsum

WHERE = {"p4runtime": "127.0.0.1:7001", "service": "127.0.0.1:7002", "address": "127.0.0.1:7003"}
OURS = {name: address for name, address in WHERE.items() if name != "p4runtime"}
"""Of an aggregator of ours, and of the controller."""


def run_here(command: Sequence[str]) -> Result:
    """Runs in this process what a service's command line asks of a new one."""
    words = list(command)
    return netsum(*words[words.index("hostagent.cli.main") + 1 :])


def kept_in(found: list[Any]) -> Callable[..., int]:
    """In the place of a function that runs something: keeps its options, and ends well."""

    def keep(options: Any, **_: Any) -> int:
        found.append(options)
        return 0

    return keep


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The options that services were started with."""
    found: list[Any] = []
    for target in (
        "emulator.p4runtime.process.run_switch",
        "hostagent.cli.aggregators.process.run_aggregator",
        "hostagent.controller.process.run_controller",
    ):
        monkeypatch.setattr(target, kept_in(found))
    return found


def test_a_runs_services_get_their_launchers_options(tmp_path: Path, started: list[Any]) -> None:
    for kind in ("p4", "pspin"):
        for service in make_services(tmp_path, 2, choose(kind), 256, "loss=0.1&seed=7", ("--max-window", "32")):
            assert run_here(service.command(WHERE if kind == "p4" else OURS)).exit_code == 0
    switch, of_p4, aggregator, of_pspin = started
    assert (switch.program, switch.grpc_server_addr, len(switch.ports)) == (None, WHERE["p4runtime"], 2)
    assert of_p4.program is not None
    assert (aggregator.core, aggregator.lanes, aggregator.listen) == ("pspin", 256, WHERE["service"])
    assert all("loss=0.1&seed=7" in port for port in (*switch.ports, *aggregator.ports))
    assert all(one.die_with_parent for one in started)
    assert [one.max_window for one in (of_p4, of_pspin)] == [32, 32]
    assert [one.listen for one in (of_p4, of_pspin)] == [WHERE["address"]] * 2


def test_a_runs_rack_server_is_given_the_options_of_netsum_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostagent.cli.rack import process
    from hostagent.cli.rack.checkpointing import Pace

    runs: list[Any] = []
    servers: list[Any] = []
    monkeypatch.setattr(launcher, "run_training", kept_in(runs))
    monkeypatch.setattr(process, "run_server", kept_in(servers))
    given = ("--cores", "2", "--checkpoint", "kept", "--checkpoint-every", "5", "--no-restore")
    assert netsum("run", "--aggregator", "server", *given, "train.py").exit_code == 0
    services = make_services(tmp_path, 2, choose("server"), 256, server_options=runs[0].server_options)
    assert run_here(services[0].command(OURS)).exit_code == 0
    told = servers[0]
    assert (told.cores, told.checkpoint, told.pace, told.restore) == (2, Path("kept"), Pace(5), False)
    assert (told.common.lanes, told.common.listen, len(told.common.ports)) == (256, WHERE["service"], 2)


def test_racks_servers_are_each_others_peers_and_share_the_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostagent.cli.rack import process

    servers: list[Any] = []
    monkeypatch.setattr(process, "run_server", kept_in(servers))
    keep = ("--checkpoint", str(tmp_path))
    *racks, _ = make_services(tmp_path, 5, choose("server"), 256, server_options=keep, rack_of=in_runs(5, 3))
    for service in racks:
        assert run_here(service.command(OURS)).exit_code == 0
    assert [told.rack for told in servers] == [0, 1, 2]
    assert [len(told.common.ports) for told in servers] == [1, 2, 2]
    assert [told.checkpoint.name for told in servers] == ["rack-0", "rack-1", "rack-2"]
    again = make_services(tmp_path, 5, choose("server"), 256, rack_of=in_runs(5, 3))[0].command(WHERE)
    assert not set(again) & {f"{other}={spec}" for told in servers for other, spec in told.peers}, "cables of its own"
    cables = {(told.rack, other): spec for told in servers for other, spec in told.peers}
    assert len(cables) == 6
    for (here, there), spec in cables.items():
        local, remote = spec.removeprefix("udp:").split(",")
        assert cables[there, here] == f"udp:{remote},{local}"


def test_the_controller_of_a_switch_with_tls_gets_the_runs_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Any]
) -> None:
    runs: list[Any] = []
    monkeypatch.setattr(launcher, "run_training", kept_in(runs))
    files = ("--cacert", "ca.crt", "--cert", "client.crt", "--private-key", "client.key")
    aggregator = "p4runtime://127.0.0.1:9559"
    assert netsum("run", "-n", "1", "--aggregator", aggregator, "--interface", "veth1", *files, "x.py").exit_code == 0
    (asked,) = runs
    *_, controller = make_services(
        tmp_path, 1, choose(aggregator), 256, interfaces=asked.interfaces, loads=asked.loads, tls=asked.tls
    )
    assert run_here(controller.command(WHERE)).exit_code == 0
    assert started[0].tls == asked.tls == ClientTls("ca.crt", "client.crt", "client.key")


def test_a_certificate_that_cannot_be_read_is_named_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    asked = RunOptions(
        1, __file__, aggregator="p4runtime://127.0.0.1:9559", interfaces=("veth1",), tls=ClientTls("no-such.crt")
    )
    assert launcher.run_training(asked) == 2
    assert "netsum run: TLS: no-such.crt: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--peer", "1=udp:a"), ("--rack", "1"), ("--rack", "1", "--peer", "1=udp:a")])
def test_a_racks_place_is_refused_where_it_makes_no_sense(words: tuple[str, ...]) -> None:
    assert netsum("server", *words).exit_code == 2


@pytest.mark.parametrize(("aggregator", "controller"), [("p4", None), ("server", "127.0.0.1:1")])
def test_a_servers_options_are_refused_where_none_is_started(
    aggregator: str, controller: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--cores", "2", "--checkpoint", "kept")
    asked = RunOptions(1, __file__, aggregator=aggregator, controller=controller, server_options=words)
    assert launcher.run_training(asked) == 2
    assert "--cores, --checkpoint configures a rack server that this command starts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "--way", "tree", "train.py"], "--way"),
        (["run", "--aggregator", "server", "--way", "ring", "train.py"], "--way"),
        (["run", "-n", "2", "--aggregator", "server", "--racks", "3", "train.py"], "--racks"),
        (["run", "-n", "3", "--aggregator", "server", "--rack-of", "0,1", "train.py"], "--rack-of"),
        (["run", "-n", "2", "--aggregator", "server", "--rack-of", "0,two", "train.py"], "--rack-of"),
        (["run", "-n", "3", "--aggregator", "server", "--rack-of", "0,2,2", "train.py"], "--rack-of"),
        (["run", "-n", "3", "--aggregator", "server", "--racks", "3", "--rack-of", "0,1,1", "train.py"], "--rack-of"),
        (["run", "-n", "2", "--aggregator", "server", "--rack-of", "0,0", "train.py"], "--rack-of"),
        (["run", "--controller", "127.0.0.1:1", "--racks", "2", "train.py"], "--racks"),
        (["run", "--controller", "127.0.0.1:1", "--aggregator", "server", "--lanes", "64", "train.py"], "--lanes"),
        (["run", "--controller", "127.0.0.1:1", "--no-restore", "train.py"], "--no-restore"),
        (["run", "--aggregator", "p4", "--cacert", "ca.crt", "train.py"], "--cacert"),
        (["run", "--interface", "veth1", "train.py"], "--interface"),
        (["run", "--aggregator", "server", "--slots", "16", "train.py"], "--slots"),
        (["run", "--slots", "7", "train.py"], "--slots"),
        (["run", "--controller", "127.0.0.1:1", "--private-key", "a.key", "train.py"], "--private-key"),
        (["server", "--of", "127.0.0.1:1", "--cores", "2"], "--cores"),
        (["server", "--port", "1=shm:a", "--no-pin"], "--no-pin"),
        (["controller", "--aggregator", "netsum://127.0.0.1:1", "--way", "ring"], "--way"),
    ],
)
def test_an_option_without_effect_is_refused_by_name(words: list[str], named: str) -> None:
    refused = netsum(*words)
    assert refused.exit_code == 2
    assert named in refused.stderr.split(": ")[1].split(", ")


def test_a_checkpoints_pace_needs_a_folder() -> None:
    refused = netsum("run", "--aggregator", "server", "--checkpoint-every", "5", "train.py")
    assert refused.exit_code == 2
    assert "--checkpoint DIR" in refused.output


def test_a_controllers_missing_program_is_named(started: list[Any]) -> None:
    words = ["controller", "--aggregator", "p4runtime://-", "--program", "no-such.p4", "--die-with-parent"]
    refused = netsum(*words)
    assert refused.exit_code == 1
    assert "no-such.p4" in refused.stderr
    assert not started
