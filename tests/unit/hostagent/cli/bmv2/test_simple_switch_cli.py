"""simple_switch_CLI against a running switch: a file of commands on standard input, and what cannot be reached."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator

import pytest

from emulator.p4runtime.commands.service import CommandsClient
from emulator.p4runtime.process import RunningSwitch
from hostagent.cli.bmv2.simple_switch_cli import Prompt, run
from hostagent.cli.bmv2.thrift_port import ThriftPort
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
