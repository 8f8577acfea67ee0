"""TCP ports over loopback, both ends in this process."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from emulator.ports.batch import CELL_BYTES, FrameBatch, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.errors import PortError
from emulator.ports.opening import open_host_port
from emulator.ports.sockets.tcp import TcpHostPort, TcpSwitchPort
from emulator.ports.sockets.tcp_connections import GREETING
from emulator.ports.spec import parse_port

PATIENCE_S = 10.0


def wait_until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.001)


class Pair:
    """A switch's port and a host, connected."""

    def __init__(self, text: str = "1=tcp:127.0.0.1:0") -> None:
        self.table = TxPortTable()
        self.bell = Bell(shared=False, poll=True)
        self.switch = TcpSwitchPort(parse_port(text), self.table, self.bell)
        self.host = self.another_host()
        self.frames: list[bytes] = []
        self.batch = FrameBatch(16)

    def another_host(self) -> TcpHostPort:
        port = open_host_port(f"tcp:127.0.0.1:0,127.0.0.1:{self.switch.local[1]}")
        assert isinstance(port, TcpHostPort)
        return port

    def connected(self) -> bool:
        self.turn()
        self.host.flush()
        return self.switch.is_up and self.host.is_up

    def turn(self) -> list[bytes]:
        """What a loop does, at the switch's end; all frames so far."""
        self.batch.clear()
        self.switch.receive_into(self.batch)
        self.frames += [frame for _, frame in self.batch.frames()]
        self.switch.release()
        self.switch.flush()
        return self.frames

    def up(self, *frames: bytes) -> None:
        pool = self.host.frame_pool(len(frames), CELL_BYTES)
        for index, frame in enumerate(frames):
            pool.frames[index, : len(frame)] = memoryview(frame)
            assert self.host.post(pool.address + index * pool.stride_bytes, len(frame))
        wait_until(lambda: [self.host.flush(), self.turn()] and self.host.consumed == self.host.posted)

    def came(self, count: int) -> list[bytes]:
        got: list[bytes] = []

        def receive() -> bool:
            self.turn()
            batch = FrameBatch(256)
            self.host.receive_into(batch)
            got.extend(frame for _, frame in batch.frames())
            self.host.release()
            return len(got) >= count

        wait_until(receive)
        return got

    def drops(self) -> dict[str, int]:
        return self.switch.statistics().drops

    def close(self) -> None:
        self.host.close()
        self.switch.close()
        self.bell.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    wait_until(made.connected)
    yield made
    made.close()


def test_frames_of_all_lengths_pass_both_ways_in_order(pair: Pair) -> None:
    sent = [b"a", os.urandom(CELL_BYTES), b"", *(os.urandom(1 + 37 * number) for number in range(200))]
    pair.up(*sent)
    wait_until(lambda: len(pair.turn()) == len(sent))
    assert pair.frames == sent
    for frame in sent:
        assert pair.table.append(1, frame)
    assert pair.came(len(sent)) == sent
    assert pair.switch.statistics().drops == pair.host.statistics().drops == {}
    assert pair.switch.statistics().frames_in == pair.switch.statistics().frames_out == len(sent)


def test_a_host_that_does_not_read_is_back_pressure_and_then_counted_drops(pair: Pair) -> None:
    frame = os.urandom(CELL_BYTES)
    taken = 0
    while not pair.drops():
        taken += pair.table.append(1, frame)
        pair.turn()
    assert set(pair.drops()) == {"ring_full"}
    got = pair.came(taken)
    assert len(got) == taken
    assert set(got) == {frame}


def test_the_host_comes_back_when_the_connection_is_cut(pair: Pair) -> None:
    pair.up(b"before")
    with socket.socket(fileno=os.dup(int(pair.switch.state["socket"]))) as other:
        other.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: pair.connected() and pair.host.peer_changes == 2 and pair.switch.state["peer_changes"] == 2)
    pair.up(b"after")
    wait_until(lambda: pair.turn() == [b"before", b"after"])


def test_frames_before_a_connection_are_dropped_and_counted() -> None:
    pair = Pair("1=tcp:127.0.0.1:0,192.0.2.1:0")  # which is not us: nobody gets in
    pair.table.append(1, b"to whom?")
    pair.switch.flush()
    assert pair.drops()["no_remote"] == 1
    wait_until(lambda: pair.drops().get("unidentified"))
    assert not pair.connected()
    pair.close()


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", GREETING[:-1] + b"\2", GREETING + b"too early"])
def test_an_unidentified_connection_is_dropped_and_counted(pair: Pair, data: bytes) -> None:
    with socket.create_connection(pair.switch.local) as stranger:
        stranger.sendall(data)
        stranger.settimeout(PATIENCE_S)
        assert stranger.recv(100) == b""
    wait_until(lambda: "unidentified" in pair.drops())
    assert pair.drops() == {"unidentified": 1, "unidentified_bytes": len(data)}
    pair.up(b"still here")
    wait_until(lambda: pair.turn() == [b"still here"])


def test_a_frame_longer_than_any_ends_its_connection_only(pair: Pair) -> None:
    pair.host.close()  # it would take the rogue's place at once
    with socket.create_connection(pair.switch.local) as rogue:
        rogue.sendall(GREETING)
        rogue.settimeout(PATIENCE_S)
        assert rogue.recv(100) == GREETING
        rogue.sendall(b"\0\0\0\3abc" + b"\xff\xff\xff\xff" + b"rest")
        wait_until(lambda: pair.turn() == [b"abc"] and pair.drops())
    assert pair.drops() == {"broken_streams": 1}
    pair.host = pair.another_host()
    wait_until(pair.connected)
    pair.up(b"mine")
    wait_until(lambda: pair.turn() == [b"abc", b"mine"])


def test_wait_returns_with_a_frame_and_with_a_wake(pair: Pair) -> None:
    pair.table.append(1, b"x")
    pair.turn()
    wait_until(lambda: pair.host.wait(1_000_000_000) and pair.came(1) == [b"x"])
    pair.host.wake()
    assert pair.host.wait(10_000_000_000) != 0


def test_port_texts() -> None:
    assert str(parse_port("3=tcp:127.0.0.1:9000,10.0.0.1:0")) == "3=tcp:127.0.0.1:9000,10.0.0.1:0"
    with pytest.raises(PortError, match="needs the switch's address"):
        open_host_port("tcp:127.0.0.1:0")
    with pytest.raises(PortError, match="cannot find host"):
        open_host_port("tcp:127.0.0.1:0,no-such-host.invalid:1")
