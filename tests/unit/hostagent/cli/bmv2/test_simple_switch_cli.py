"""simple_switch_CLI against a running switch: a file of commands on standard input, and what cannot be reached."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.p4runtime.commands.interpreter import Interpreter, Machine
from emulator.p4runtime.commands.service import CommandsClient, commands_handler
from emulator.p4runtime.device import Device
from emulator.p4runtime.process import RunningSwitch
from emulator.p4runtime.server import P4RuntimeServer
from emulator.rpc.tls import ServerTls
from emulator.switch.core import Switch
from hostagent.cli.bmv2.simple_switch_cli import Prompt, run
from hostagent.cli.bmv2.thrift_port import ThriftPort
from tests.fakes.fake_switch import fake_target
from tests.labs.certificates import make_certificates
from tests.labs.p4runtime_device import running_entities

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
