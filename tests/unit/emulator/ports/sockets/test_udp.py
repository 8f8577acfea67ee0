"""UDP ports over loopback, both ends in this process."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from emulator.ports.batch import CELL_BYTES, FrameBatch, TxPortTable
from emulator.ports.errors import PortError
from emulator.ports.host import INPUT
from emulator.ports.opening import open_host_port
from emulator.ports.port import port_has_input
from emulator.ports.sockets.udp import UdpHostPort, UdpSwitchPort
from emulator.ports.spec import INHERITED, parse_port
from hostagent.protocol.frames import ipv4_header, ones_complement_sum

PATIENCE_NS = 10_000_000_000
SO_NO_CHECK = 11
"""asm-generic/socket.h; Python's socket module does not name it."""


class Pair:
    """A switch's port with a learned remote, and a host."""

    def __init__(self) -> None:
        self.table = TxPortTable()
        self.switch = UdpSwitchPort(parse_port("1=udp:127.0.0.1:0"), self.table)
        self.host = self.another_host()

    def another_host(self) -> UdpHostPort:
        port = open_host_port(f"udp:127.0.0.1:0,127.0.0.1:{self.switch.local[1]}")
        assert isinstance(port, UdpHostPort)
        return port

    def up(self, *frames: bytes, host: UdpHostPort | None = None) -> None:
        host = host or self.host
        pool = host.frame_pool(len(frames), CELL_BYTES)
        for index, frame in enumerate(frames):
            pool.frames[index, : len(frame)] = memoryview(frame)
            assert host.post(pool.address + index * pool.stride_bytes, len(frame))
        assert host.flush() == len(frames)

    def taken(self) -> list[tuple[int, bytes]]:
        batch = FrameBatch(256)
        self.switch.receive_into(batch)
        got = list(batch.frames())
        self.switch.release()
        return got

    def came(self, host: UdpHostPort | None = None) -> list[bytes]:
        host = host or self.host
        batch = FrameBatch(256)
        host.wait(PATIENCE_NS)
        host.receive_into(batch)
        got = [frame for _, frame in batch.frames()]
        host.release()
        return got

    def close(self) -> None:
        self.host.close()
        self.switch.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def test_frames_pass_both_ways(pair: Pair) -> None:
    largest = os.urandom(CELL_BYTES)
    pair.up(b"a", largest, b"")
    assert pair.host.consumed == pair.host.posted == 3
    assert pair.taken() == [(1, b"a"), (1, largest), (1, b"")]
    for frame in (largest, b"z"):
        assert pair.table.append(1, frame)
    assert pair.switch.flush() == 2
    assert pair.came() == [largest, b"z"]
    statistics = pair.switch.statistics()
    assert (statistics.frames_in, statistics.bytes_in) == (3, CELL_BYTES + 1)
    assert (statistics.frames_out, statistics.bytes_out) == (2, CELL_BYTES + 1)
    assert statistics.drops == {}


def test_more_frames_than_a_system_call_takes(pair: Pair) -> None:
    sent = [bytes([number % 256]) * (number + 1) for number in range(200)]
    pair.up(*sent)
    got: list[bytes] = []
    while len(got) < 200:
        batch = [frame for _, frame in pair.taken()]
        assert batch
        got += batch
    assert got == sent
    for frame in sent:
        assert pair.table.append(1, frame)
    assert pair.switch.flush() == 200
    back: list[bytes] = []
    while len(back) < 200:
        back += pair.came()
    assert back == sent


def test_frames_of_one_length_share_messages_and_nothing_else(pair: Pair) -> None:
    assert pair.host.state["most_segments"] > 1, "a kernel of the last years segments datagrams"
    sent = [bytes([number]) * length for number, length in enumerate([1000] * 40 + [999, 1000, 1000, 0, 0, 7, 7, 7])]
    pair.up(*sent)
    assert [frame for _, frame in pair.taken()] == sent
    assert pair.switch.statistics().frames_in == pair.host.statistics().frames_out == len(sent)
    assert pair.switch.statistics().bytes_in == pair.host.statistics().bytes_out == sum(map(len, sent))


def test_a_batch_without_room_leaves_the_rest_of_a_message_for_the_next(pair: Pair) -> None:
    sent = [bytes([number]) * 100 for number in range(16)]
    pair.up(*sent)
    got = []
    for most in (1, 5, 3, 7):
        batch = FrameBatch(most)
        assert pair.switch.receive_into(batch) == most
        got += [frame for _, frame in batch.frames()]
        pair.switch.release()
        assert port_has_input(pair.switch.address) == (len(got) < 16)
    assert got == sent


def test_where_segments_are_refused_each_frame_goes_alone(pair: Pair) -> None:
    # the kernel does not segment datagrams without checksums
    with socket.socket(fileno=os.dup(int(pair.host.state["socket"]))) as alias:
        alias.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    sent = [bytes([number]) * 100 for number in range(16)]
    pair.up(*sent)
    assert [frame for _, frame in pair.taken()] == sent
    assert pair.host.state["most_segments"] == 1
    assert pair.host.statistics().drops == {}


def test_frames_received_before_a_release_are_not_overwritten(pair: Pair) -> None:
    batch = FrameBatch(256)
    pair.up(b"one")
    assert pair.switch.receive_into(batch) == 1
    pair.up(b"two")
    assert pair.switch.receive_into(batch) == 1
    assert [frame for _, frame in batch.frames()] == [b"one", b"two"]


def test_before_a_remote_is_learned_frames_are_dropped_and_counted(pair: Pair) -> None:
    pair.table.append(1, b"to whom?")
    pair.switch.flush()
    assert pair.switch.statistics().drops == {"no_remote": 1}


def test_the_remote_is_whoever_sent_last(pair: Pair) -> None:
    other = pair.another_host()
    pair.up(b"first")
    pair.taken()
    pair.up(b"second", host=other)
    pair.taken()
    pair.table.append(1, b"answer")
    pair.switch.flush()
    assert pair.came(other) == [b"answer"]
    other.close()


def test_only_the_named_remote_is_received_from() -> None:
    table = TxPortTable()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as friend:
        friend.bind(("127.0.0.1", 0))
        switch = UdpSwitchPort(parse_port(f"1=udp:127.0.0.1:0,127.0.0.1:{friend.getsockname()[1]}"), table)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"bad", switch.local)
        friend.sendto(b"good", switch.local)
        batch = FrameBatch(8)
        switch.receive_into(batch)
        assert list(batch.frames()) == [(1, b"good")]
        switch.close()


def test_datagrams_longer_than_a_cell_are_dropped_and_counted(pair: Pair) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(CELL_BYTES + 1), pair.switch.local)
        sender.sendto(b"fits", pair.switch.local)
    assert pair.taken() == [(1, b"fits")]
    assert pair.switch.statistics().drops == {"too_long_in": 1}


def test_a_host_that_has_gone_is_counted_and_does_not_stop_the_port(pair: Pair) -> None:
    pair.up(b"hello")
    pair.taken()
    pair.host.close()
    for _ in range(3):
        pair.table.append(1, b"anybody?")
        pair.switch.flush()
    pair.host = pair.another_host()
    pair.up(b"back again")
    assert pair.taken() == [(1, b"back again")]


def test_a_switch_that_is_not_there_costs_frames_not_the_host(pair: Pair) -> None:
    pair.switch.close()
    pair.up(b"one")
    pair.up(b"two")
    assert pair.host.posted == pair.host.consumed == 2
    assert pair.host.statistics().drops.get("io_errors", 0) >= 1


def test_a_full_queue_refuses_posts(pair: Pair) -> None:
    pool = pair.host.frame_pool(1, 64)
    accepted = sum(pair.host.post(pool.address, 1) for _ in range(2050))
    assert accepted == 2048
    assert pair.host.statistics().drops == {"refused": 2}


def test_a_host_sleeps_until_a_datagram_comes(pair: Pair) -> None:
    assert pair.host.wait(0) == 0
    pair.up(b"hello")
    pair.taken()
    pair.table.append(1, b"x")
    pair.switch.flush()
    assert pair.host.wait(PATIENCE_NS) == INPUT


def test_a_port_in_use_is_refused_with_what_to_do(pair: Pair) -> None:
    with pytest.raises(PortError, match="its local UDP port is in use; choose another"):
        UdpSwitchPort(parse_port(f"2=udp:127.0.0.1:{pair.switch.local[1]}"), pair.table)
    assert pair.table.numbers() == [1]


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("192.0.2.1:9", "is not one of this machine's"),
        ("no-such-host.invalid:9", "cannot find host 'no-such-host.invalid'"),
    ],
)
def test_a_wrong_address_is_refused_with_what_to_do(address: str, problem: str) -> None:
    with pytest.raises(PortError, match=problem):
        UdpSwitchPort(parse_port(f"1=udp:{address}"), TxPortTable())


def test_a_host_needs_a_remote() -> None:
    with pytest.raises(PortError, match="needs the switch's address"):
        open_host_port("udp:127.0.0.1:0")


def test_the_paths_limit_is_told_beforehand(pair: Pair) -> None:
    assert pair.host.max_frame_bytes == CELL_BYTES
    pair.host.require_frame_bytes(8258)
    with pytest.raises(
        PortError, match="a frame of 9000 bytes does not fit, the longest is 8704 bytes; use fewer lanes"
    ):
        pair.host.require_frame_bytes(9000)


def test_ipv6() -> None:
    table = TxPortTable()
    try:
        switch = UdpSwitchPort(parse_port("1=udp:[::1]:0"), table)
    except PortError:
        pytest.skip("this machine has no IPv6 loopback")
    host = open_host_port(f"udp:[::1]:0,[::1]:{switch.local[1]}")
    pool = host.frame_pool(1, 64)
    host.post(pool.address, 5)
    host.flush()
    batch = FrameBatch(4)
    assert switch.receive_into(batch) == 1
    table.append(1, b"back")
    assert switch.flush() == 1
    host.close()
    switch.close()


def test_an_inherited_socket_is_used_each_time_the_port_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        spec = parse_port(f"1=udp:127.0.0.1:{held.getsockname()[1]},127.0.0.1:9")
        with pytest.raises(PortError, match="its local UDP port is in use"):
            UdpSwitchPort(spec, TxPortTable())
        monkeypatch.setenv(INHERITED, f"77777,{held.fileno()}")
        for _ in range(2):
            port = UdpSwitchPort(spec, TxPortTable())
            assert port.local == held.getsockname()
            port.close()
        assert held.getsockname()[1] == spec.local[1]  # type: ignore[index]


def test_marks_of_congestion_pass_the_tunnel(pair: Pair) -> None:
    """RFC 6040: the datagram has its frame's ECN field, and gives it the mark that it gets on its way."""
    capable, marked = 2, 3
    frames = [bytes(12) + b"\x08\x00" + ipv4_header(60, 1, 2, ecn) + bytes(40) for ecn in (capable, 0)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as router:
        router.bind(("127.0.0.1", 0))
        router.settimeout(PATIENCE_NS / 1e9)
        router.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        host = open_host_port(f"udp:127.0.0.1:0,127.0.0.1:{router.getsockname()[1]}")
        assert isinstance(host, UdpHostPort)
        pair.up(*frames, host=host)
        heard = [router.recvmsg(CELL_BYTES, 64) for _ in frames]
        assert [data for data, *_ in heard] == frames
        assert [control[0][2][0] & 3 for _, control, *_ in heard] == [capable, 0]
        router.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, marked)
        for frame in frames:
            router.sendto(frame, ("127.0.0.1", pair.switch.local[1]))
        ((_, received),) = pair.taken()
        assert received[15] & 3 == marked
        assert ones_complement_sum(received[14:34]) == 0xFFFF
        host.close()
    assert pair.switch.statistics().drops == {"marked_in": 1}
