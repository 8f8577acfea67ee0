"""The port where scripts look for bmv2's Thrift server."""

from __future__ import annotations

import socket
import struct

import pytest

from hostagent.cli.bmv2 import thrift_port
from hostagent.cli.bmv2.log import LOG_ENDING
from hostagent.cli.bmv2.options import parse
from hostagent.cli.bmv2.thrift_port import TEXT, ThriftPort, p4runtime_address


def connected(port: ThriftPort) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port.port), timeout=10)


def test_a_script_that_only_looks_sees_it_listen_until_it_is_closed() -> None:
    with ThriftPort(0, "0.0.0.0:9559") as port:
        connected(port).close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port.port)) != 0


def test_a_call_is_answered_with_thrifts_exception() -> None:
    name, sequence = b"standard:bm_mgmt_get_info", b"\0\0\0\x07"
    with ThriftPort(0, "0.0.0.0:9559") as port, connected(port) as client:
        client.sendall(struct.pack(">II", 0x80010001, len(name)) + name + sequence + b"\0")
        reply = client.makefile("rb").read()
    text = TEXT.encode()
    assert reply == (
        struct.pack(">II", 0x80010003, len(name)) + name + sequence
        + struct.pack(">bhI", 11, 1, len(text)) + text  # field 1, the message
        + struct.pack(">bhI", 8, 2, 1)  # field 2: an unknown method
        + b"\0"
    )  # fmt: skip


def test_our_command_line_learns_the_address_of_the_p4runtime_server() -> None:
    with ThriftPort(0, "0.0.0.0:50051") as port:
        assert p4runtime_address("127.0.0.1", port.port) == "127.0.0.1:50051"
    with pytest.raises(OSError, match="refused"):
        p4runtime_address("127.0.0.1", port.port)


def test_another_thrift_server_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thrift_port, "answer", lambda *_: struct.pack(">II", 0x80010003, 0))
    with ThriftPort(0, "0.0.0.0:50051") as port:
        assert p4runtime_address("127.0.0.1", port.port) is None


def test_noise_ends_its_connection_only() -> None:
    with ThriftPort(0, "0.0.0.0:9559") as port:
        with connected(port) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.makefile("rb").read() == b""
        connected(port).close()


def test_a_taken_port_is_an_error() -> None:
    with ThriftPort(0, "0.0.0.0:9559") as port, pytest.raises(OSError, match="in use"):
        ThriftPort(port.port, "")


def test_options() -> None:
    assert parse(["--no-p4", "--thrift-port", "9090"]).thrift_port == 9090
    both = parse(["--no-p4", "--", "--grpc-server-addr", "127.0.0.1:50051", "build/x.json"])
    assert both.program is None
    assert both.warnings == ["build/x.json is not loaded: --no-p4 says to wait for P4Runtime"]
    assert LOG_ENDING == ".txt"
