"""p4runtime-shell, a P4Runtime client that is not ours, as a program against our server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4.library import find_program
from emulator.p4runtime import shell
from emulator.p4runtime.device import Device
from emulator.p4runtime.pipeline.compilation import compile_config
from emulator.p4runtime.pipeline.package import pack
from emulator.p4runtime.pipeline.pipeline import Target
from emulator.p4runtime.server import P4RuntimeServer
from emulator.ports.batch import FrameBatch
from emulator.rpc.tls import ClientTls, ServerTls
from emulator.switch.core import Switch
from tests.clients.p4runtime_scenario import Controller, make_package
from tests.fakes.fake_switch import DROPS, fake_target
from tests.labs.certificates import make_certificates
from tests.labs.shell import needs_shell, play


@pytest.fixture
def server() -> Iterator[P4RuntimeServer]:
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0")
    loader = Controller(server.address)
    loader.arbitrate(0)
    loader.set_pipeline(make_package())
    yield server
    loader.close()
    server.stop(grace_s=0)


@pytest.fixture
def router() -> Iterator[tuple[P4RuntimeServer, Switch]]:
    """A real switch with the IPv4 router."""
    switch = Switch()
    target = Target(switch, lambda: switch.lock, compile_config, Switch)
    server = P4RuntimeServer(Device(0, target), "127.0.0.1:0")
    loader = Controller(server.address)
    loader.arbitrate(0)
    loader.set_pipeline(pack(find_program("router.p4")))
    yield server, switch
    loader.close()
    server.stop(grace_s=0)


INSERT = """
te = table_entry["AllreduceIngress.jobs"](action="AllreduceIngress.forward")
te.match["job"] = "7"
te.match["port"] = "1"
te.action["port"] = "2"
te.action["mac"] = "00:00:00:00:00:aa"
te.insert()
"""


@needs_shell
def test_it_reads_and_writes(server: P4RuntimeServer, tmp_path: Path) -> None:
    counter = f"counter_entry {{ counter_id: {DROPS} index {{ index: 3 }} data {{ packet_count: 41 }} }}"
    setter = Controller(server.address)
    setter.arbitrate(1)
    setter.write_texts(("MODIFY", counter))
    setter.close()
    script = f"""{INSERT}
te.insert()
table_entry["jobs"].read(lambda e: print("entry", e.action.action_name, e.match["job"].exact.value))
c = counter_entry["drops"]
c.index = 3
c.read(lambda e: print("counter", e.index, e.packet_count))
m = multicast_group_entry(5)
m.add(1, 1).add(2, 2)
m.insert()
multicast_group_entry(5).read(lambda e: print("group", len(e.replicas)))
print(APIVersion())
"""
    printed = play(server.address, tmp_path, script)
    assert "At index 0: ALREADY_EXISTS" in printed
    assert "entry AllreduceIngress.forward b'\\x07'" in printed
    assert "counter 3 41" in printed
    assert "group 2" in printed
    assert "1.4.1" in printed


ROUTER_SCRIPT = """
print("tables", sorted(table.name for table in tables))
te = table_entry["RouterIngress.routes"](action="RouterIngress.set_nhop")
te.match["destination"] = "10.1.0.0/16"
te.action["port"] = "2"
te.action["dmac"] = "02:00:00:00:00:02"
te.insert()
te = table_entry["routes"]
te.counter_data
te.read(lambda e: print("route", e.match["destination"].lpm.prefix_len, e.counter_data.packet_count))
c = counter_entry["RouterIngress.drops"]
c.index = 0
c.read(lambda e: print("drops", e.index, e.packet_count))
"""


@needs_shell
def test_it_sets_up_the_router(router: tuple[P4RuntimeServer, Switch], tmp_path: Path) -> None:
    server, switch = router
    batch = FrameBatch()
    batch.append(bytes(60), port=1)  # no IPv4
    switch.process(batch, 0)
    printed = play(server.address, tmp_path, ROUTER_SCRIPT)
    assert "tables ['RouterEgress.source_macs', 'RouterIngress.routes']" in printed
    assert "route 16 0" in printed
    assert "drops 0 1" in printed


@needs_shell
def test_beside_a_controller_it_only_reads(server: P4RuntimeServer, tmp_path: Path) -> None:
    controller = Controller(server.address)
    controller.arbitrate(1_000)
    printed = play(server.address, tmp_path, INSERT + 'print("tables", len(list(tables)))')
    assert "only have read access" in printed
    assert "PERMISSION_DENIED" in printed
    assert "tables 5" in printed
    assert controller.read_texts("table_entry {}") == []
    controller.close()


@needs_shell
def test_it_pushes_a_program(server: P4RuntimeServer, tmp_path: Path) -> None:
    (tmp_path / "program.zip").write_bytes(make_package())
    (tmp_path / "p4info.txt").write_text("")
    files = f"{tmp_path}/p4info.txt,{tmp_path}/program.zip"
    assert "tables 5" in play(server.address, tmp_path, 'print("tables", len(list(tables)))', "--config", files)


def test_no_shell_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shell, "SHELL_VENV", Path("/nonexistent"))
    assert shell.run_shell("127.0.0.1:1") == 1
    assert capsys.readouterr().err.startswith("netsum shell: p4runtime-shell is not installed: run `make setup`")


@needs_shell
@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999"])
def test_no_switch_is_said_in_one_line(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_shell(address) == 1
    assert capsys.readouterr().err.startswith(f"netsum shell: no switch answers at {address!r}")


@needs_shell
def test_it_reaches_a_switch_with_mutual_tls(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = ServerTls(made.path("server.crt"), made.path("server.key"), made.path("ca.crt"), requires_client=True)
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0", tls=tls)
    credentials = ClientTls(made.path("ca.crt"), made.path("client.crt"), made.path("client.key")).credentials()
    loader = Controller(server.address, credentials=credentials)
    loader.arbitrate(0)
    loader.set_pipeline(make_package())
    files = [
        "--cacert",
        made.path("ca.crt"),
        "--cert",
        made.path("client.crt"),
        "--private-key",
        made.path("client.key"),
    ]
    printed = play(server.address, tmp_path, 'print(len(list(table_entry["jobs"].read())), "entries")', "--ssl", *files)
    loader.close()
    server.stop(grace_s=0)
    assert "0 entries" in printed
