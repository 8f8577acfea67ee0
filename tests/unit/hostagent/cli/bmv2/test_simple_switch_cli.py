"""simple_switch_CLI against a running switch: a file of commands on standard input, and what cannot be reached."""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.p4runtime.commands.interpreter import Interpreter, Machine
from emulator.p4runtime.commands.service import CommandsClient, commands_handler
from emulator.p4runtime.device import Device
from emulator.p4runtime.process import RunningSwitch, compile_for
from emulator.p4runtime.server import P4RuntimeServer
from emulator.rpc.tls import ServerTls
from emulator.switch.core import Switch
from emulator.v1model.metadata import Drop
from hostagent.cli.bmv2.options import parse
from hostagent.cli.bmv2.simple_switch_cli import Prompt, run
from hostagent.cli.bmv2.simple_switch_grpc import switch_options
from hostagent.cli.bmv2.thrift_port import ThriftPort
from tests.fakes.fake_switch import fake_target
from tests.labs.certificates import make_certificates
from tests.labs.p4runtime_device import running_entities

QUEUEING = Path(__file__).parents[4] / "programs" / "queueing"
FILE = """\
# routes
table_set_default routes nothing
table_add routes send 10.0.1.1/32 => 1 0x1

register_write sums 0 5
register_read sums 0
"""


@pytest.fixture(scope="module")
def switch() -> Iterator[RunningSwitch]:
    with running_entities() as running:
        yield running


def test_a_file_of_commands_is_carried_out(
    switch: RunningSwitch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FILE))
    with ThriftPort(0, switch.server.address) as port:
        assert run(["--thrift-port", str(port.port)]) == 0
    output = capsys.readouterr().out
    assert "RuntimeCmd: Setting default action of routes\n" in output
    assert "Entry has been added with handle 0\n" in output
    assert "RuntimeCmd: sums[0]= 5\n" in output
    monkeypatch.setattr("sys.stdin", io.StringIO("table_delete routes 0\ntable_num_entries routes"))
    assert run(["--address", switch.server.address]) == 0
    assert "Deleting entry 0 from routes\nRuntimeCmd: 0\n" in capsys.readouterr().out


def test_words_are_completed_behind_dots_too(switch: RunningSwitch) -> None:
    client = CommandsClient(switch.server.address)
    prompt = Prompt(client)
    assert prompt.completenames("table_set_t") == ["table_set_timeout"]
    line = "table_add I.ro"
    assert prompt.completedefault("ro", line, len(line) - 2, len(line)) == ["routes"]
    assert prompt.completedefault("x", "table_add x", 10, 11) == []
    client.close()


class Hosts:
    """At both ports of a running switch, over UDP."""

    def __init__(self, program: str, *words: str) -> None:
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for host in self._sockets:
            host.bind(("127.0.0.1", 0))
            host.settimeout(10)
        remotes = [f"127.0.0.1:{host.getsockname()[1]}" for host in self._sockets]
        options = switch_options(parse([str(QUEUEING / program), *words]))
        ports = tuple(f"{i}=udp:127.0.0.1:0,{remote}" for i, remote in enumerate(remotes))
        self.options = replace(options, ports=ports, grpc_server_addr="127.0.0.1:0")

    def __enter__(self) -> Hosts:
        self.switch = RunningSwitch(self.options, compile_for(self.options)).__enter__()
        ports = self.switch.ready_line()["ports"]
        where = ports["0"].partition("udp:")[2].partition(",")[0].split(":")
        self._to = where[0], int(where[1])
        return self

    def __exit__(self, *_: object) -> None:
        self.switch.__exit__()
        for host in self._sockets:
            host.close()

    def send(self, frames: list[bytes]) -> None:
        for frame in frames:
            self._sockets[0].sendto(frame, self._to)

    def receive(self, count: int) -> list[bytes]:
        return [self._sockets[1].recv(2048) for _ in range(count)]

    def commands(self, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
        assert run(["--address", self.switch.server.address]) == 0


def test_a_rate_fills_the_queue_of_a_running_switch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Telemetry of packets that come at once and leave 50 a second, from a queue of three."""
    with Hosts("mri.p4") as hosts:
        hosts.send([b"\0\0"])
        assert [struct.unpack("!H3I", frame) for frame in hosts.receive(1)] == [(1, 7, 0, 0)]
        hosts.commands(monkeypatch, "set_queue_rate 50 1", "set_queue_depth 3 1")
        assert "rror" not in capsys.readouterr().out
        hosts.send([b"\0\0"] * 12)
        first, *others = [struct.unpack("!H3I", frame) for frame in hosts.receive(4)]
        assert first[3] == 0
        assert [depth for _, _, depth, _ in others][-1] == 0
        assert all(0 < waited <= 60_000 for *_, waited in others)
        drops = hosts.switch.statistics()["drops"]
        assert 0 < drops.pop(Drop.EGRESS_QUEUE_FULL.words) <= 8
        assert drops == {}


def test_priority_queues_of_the_command_line() -> None:
    options = switch_options(parse([str(QUEUEING / "mri.p4"), "--", "--priority-queues", "4"]))
    assert options.priority_queues == 4


def test_a_switch_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening
        number = taken.getsockname()[1]
        assert run(["--thrift-port", str(number)]) == 1
        assert f"nothing listens on 127.0.0.1:{number}" in capsys.readouterr().err
        assert run(["--address", f"127.0.0.1:{number}"]) == 1
        assert "no switch answers" in capsys.readouterr().err


def test_a_switch_with_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_certificates(tmp_path)
    handler = commands_handler(lambda: Interpreter(Machine(fails, lambda: None, dict, Switch())))
    tls = ServerTls(made.path("server.crt"), made.path("server.key"))
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0", (handler,), tls=tls)
    try:
        monkeypatch.setattr("sys.stdin", io.StringIO("help port_add\n"))
        assert run(["--address", server.address, "--cacert", made.path("ca.crt")]) == 0
        assert "Usage: port_add <interface> <port>" in capsys.readouterr().out
        assert run(["--address", server.address]) == 1
        assert "with TLS --cacert FILE" in capsys.readouterr().err
    finally:
        server.stop()
    assert run(["--cert", made.path("client.crt")]) == 1
    assert "needs its private key" in capsys.readouterr().err


def fails() -> Any:
    raise AssertionError("no command asks for the program")
