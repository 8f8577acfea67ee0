"""Ports on real interfaces: veth pairs in network namespaces of the tests' own."""

from __future__ import annotations

import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.errors import PortError
from emulator.ports.interface.interface import SLOTS, InterfacePort
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.opening import make_switch_bell, open_switch_ports
from emulator.ports.spec import parse_port, parse_ports
from hostagent.cli.bench.veth import VethPairs, ip
from hostagent.protocol.frames import ones_complement_sum
from tests.labs.namespaces import PATIENCE_S, Wire, inside, veth_pairs
from tests.programs.captures import read_captured, write_capture
from tests.programs.forwarder import Forwarder

pytestmark = pytest.mark.root

MACS = bytes.fromhex("020000000001020000000002")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def network() -> Iterator[VethPairs]:
    with veth_pairs() as made:
        yield made


def frame(length: int, fill: int = 7) -> bytes:
    """Not of any protocol that the kernel would answer."""
    return (MACS + b"\x88\xb5" + bytes([fill]) * length)[:length]


def has_sent(port: InterfacePort, frames: int) -> bool:
    return port.statistics().frames_out == frames


@contextmanager
def serving(
    network: VethPairs, texts: list[str], routes: dict[int, int]
) -> Iterator[tuple[SwitchRunner, list[InterfacePort]]]:
    """A live loop that passes frames on, in the switch's namespace."""
    forwarder = Forwarder(routes)
    specs = parse_ports(texts)
    bell = make_switch_bell(specs)
    with inside(network.switch):
        ports = open_switch_ports(specs, forwarder.table, bell)
    runner = SwitchRunner(forwarder, ports, bell).start()
    try:
        yield runner, ports  # type: ignore[misc]
    finally:
        runner.stop()
        for port in ports:
            port.close()
        bell.close()


@contextmanager
def one_port(network: VethPairs, text: str) -> Iterator[tuple[InterfacePort, TxPortTable]]:
    table = TxPortTable()
    with inside(network.switch):
        port = InterfacePort(parse_port(text), table)
    try:
        yield port, table
    finally:
        port.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread or the kernel does in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def received(port: InterfacePort, count: int = 1) -> list[bytes]:
    """Copies of ``count`` frames."""
    frames: list[bytes] = []

    def enough() -> bool:
        batch = FrameBatch(256)
        port.receive_into(batch)
        frames.extend(content for _, content in batch.frames())
        port.release()
        return len(frames) >= count

    until(enough)
    return frames


def test_frames_of_all_lengths_pass_both_ways_and_our_own_do_not_come_back(network: VethPairs) -> None:
    left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
    with serving(network, ["1=if:s1", "2=if:s2"], {1: 2, 2: 1}) as (_, ports):
        for length in (14, 15, 60, 61, 100, 322, 1000, 1513, 1514):
            left.send(frame(length))
            assert right.receive() == frame(length)
            right.send(frame(length, 9))
            assert left.receive() == frame(length, 9)
        for port in ports:
            until(partial(has_sent, port, 9))
            assert (port.statistics().frames_in, port.statistics().drops) == (9, {})
    left.close()
    right.close()


def test_thousands_in_flight_come_whole_and_in_order(network: VethPairs) -> None:
    left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
    source = random.Random(5)
    sent = [MACS + b"\x88\xb5" + bytes([index % 256]) * source.randrange(1, 400) for index in range(3000)]
    with one_port(network, "1=if:s1") as (port, table), one_port(network, "2=if:s2") as (out, other):
        for content in sent:
            left.send(content)
        for number, content in enumerate(received(port, len(sent))):
            assert content == sent[number]
            other.append(2, content)
            if number % 50 == 49:
                out.flush()
        assert [right.receive() for _ in sent] == sent
        assert port.statistics().drops == out.statistics().drops == {}
        assert table.numbers() == [1]
    left.close()
    right.close()


def test_a_full_ring_is_counted_frame_by_frame(network: VethPairs) -> None:
    left = Wire(network.hosts, "h1")
    with one_port(network, "1=if:s1") as (port, _):
        for _ in range(SLOTS + 500):
            left.send(frame(60))
        assert len(received(port, SLOTS)) == SLOTS
        assert port.statistics().drops == {"kernel_ring_full": 500}
        left.send(frame(61))
        assert received(port) == [frame(61)]
        assert port.statistics().drops == {"kernel_ring_full": 500}, "counted once"
    left.close()


@pytest.mark.parametrize("tag", ["8100 2005", "88a8 0fff", "88a8 0064 8100 0007"])
def test_tags_are_put_back(network: VethPairs, tag: str) -> None:
    left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
    tagged = MACS + bytes.fromhex(tag) + b"\x88\xb5" + bytes(range(60))
    with serving(network, ["1=if:s1", "2=if:s2"], {1: 2}) as (_, ports):
        left.send(tagged)
        assert right.receive() == tagged
        assert ports[0].statistics().notes == {"tags_restored": 1}
    left.close()
    right.close()


@contextmanager
def kernel_socket(network: VethPairs, kind: socket.SocketKind) -> Iterator[socket.socket]:
    """A socket of the hosts' kernel itself, which leaves checksums to the interface; 10.9.0.2 is behind h1."""
    ip("-n", network.hosts, "address", "add", "10.9.0.1/24", "dev", "h1")
    ip("-n", network.hosts, "neigh", "add", "10.9.0.2", "lladdr", "02:00:00:00:00:01", "dev", "h1")
    with inside(network.hosts):
        opened = socket.socket(socket.AF_INET, kind)
    with opened:
        yield opened


def transport_sum(content: bytes) -> int:
    """0xFFFF where the TCP or UDP checksum of an IPv4 frame is right."""
    segment = content[34 : 14 + int.from_bytes(content[16:18], "big")]
    return ones_complement_sum(content[26:34] + bytes([0, content[23]]) + struct.pack(">H", len(segment)) + segment)


@pytest.mark.parametrize("length", [0, 1, 33, 1000])
def test_checksums_left_to_the_interface_are_completed(network: VethPairs, length: int) -> None:
    with kernel_socket(network, socket.SOCK_DGRAM) as sender, one_port(network, "1=if:s1") as (port, _):
        sender.sendto(bytes(range(256)) * 4 if length == 1000 else bytes(length), ("10.9.0.2", 9))
        (found,) = received(port)
        assert transport_sum(found) == 0xFFFF
        assert port.statistics().notes == {"checksums_completed": 1}


def test_tcp_too(network: VethPairs) -> None:
    with kernel_socket(network, socket.SOCK_STREAM) as sender, one_port(network, "1=if:s1") as (port, _):
        sender.setblocking(False)
        with pytest.raises(BlockingIOError):
            sender.connect(("10.9.0.2", 9))
        assert transport_sum(received(port)[0]) == 0xFFFF


def test_frames_of_several_segments_are_dropped_counted_and_told(
    network: VethPairs, caplog: pytest.LogCaptureFixture
) -> None:
    udp_segment = 103
    with kernel_socket(network, socket.SOCK_DGRAM) as sender, one_port(network, "1=if:s1") as (port, _):
        sender.setsockopt(socket.IPPROTO_UDP, udp_segment, 400)
        sender.sendto(bytes(1200), ("10.9.0.2", 9))
        sender.setsockopt(socket.IPPROTO_UDP, udp_segment, 0)
        sender.sendto(b"one", ("10.9.0.2", 9))
        assert received(port)[0][42:45] == b"one"
        assert port.statistics().drops == {"segments_joined": 1}
        port.settle()
        assert "ip link set INTERFACE gso_max_segs 1" in caplog.text


def test_what_can_not_be_sent_is_counted_by_reason(network: VethPairs) -> None:
    with one_port(network, "1=if:s1") as (port, table):
        assert port.max_frame_bytes == 1514
        for content in (frame(13), frame(1515), frame(60), bytes(9000)):
            table.append(1, content)
        port.flush()
        found = port.statistics()
        assert found.frames_out == 1
        assert found.drops == {"too_short_out": 1, "too_long_out": 1, "longer_than_port": 1}


def test_long_frames(network: VethPairs) -> None:
    ip("-n", network.switch, "link", "set", "s1", "mtu", "9000")
    ip("-n", network.hosts, "link", "set", "h1", "mtu", "9000")
    left = Wire(network.hosts, "h1")
    with one_port(network, "1=if:s1?seed=1&delay=1ms") as (port, table):
        left.send(frame(9014))
        assert received_later(port) == [frame(9014)]
        table.append(1, frame(9014, 3))
        port.flush(0)
        port.flush(2_000_000)
        assert left.receive() == frame(9014, 3)
        assert port.statistics().drops == {}
    left.close()


def received_later(port: InterfacePort) -> list[bytes]:
    """A frame that impairments hold back for a millisecond."""
    frames: list[bytes] = []
    now_ns = 0

    def came() -> bool:
        nonlocal now_ns
        now_ns += 10_000_000
        batch = FrameBatch(16)
        port.receive_into(batch, now_ns)
        frames.extend(content for _, content in batch.frames())
        port.release()
        return bool(frames)

    until(came)
    return frames


def test_a_frame_longer_than_at_the_start_is_counted(network: VethPairs) -> None:
    left = Wire(network.hosts, "h1")
    with one_port(network, "1=if:s1") as (port, _):
        ip("-n", network.switch, "link", "set", "s1", "mtu", "4000")
        ip("-n", network.hosts, "link", "set", "h1", "mtu", "4000")
        left.send(frame(3000))
        left.send(frame(60))
        assert received(port) == [frame(60)]
        assert port.statistics().drops == {"too_long_in": 1}
    left.close()


def test_interfaces_that_can_not_be_had(network: VethPairs) -> None:
    with pytest.raises(PortError, match="there is no interface 'nothing'"), one_port(network, "1=if:nothing"):
        pass
    ip("-n", network.switch, "link", "set", "s1", "down")
    with pytest.raises(PortError, match="ip link set s1 up"), one_port(network, "1=if:s1"):
        pass


def test_an_interface_that_goes_down_is_told_and_works_again_when_it_is_up(
    network: VethPairs, caplog: pytest.LogCaptureFixture
) -> None:
    left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
    with serving(network, ["1=if:s1", "2=if:s2"], {1: 2}) as (runner, ports):
        ip("-n", network.switch, "link", "set", "s2", "down")
        until(lambda: "interface s2 is down" in caplog.text)
        left.send(frame(60))
        until(lambda: ports[1].statistics().drops == {"interface_down": 1})
        ip("-n", network.switch, "link", "set", "s2", "up")
        until(lambda: ip("-n", network.switch, "link", "show", "s2").count("LOWER_UP") == 1)
        left.send(frame(61))
        assert right.receive() == frame(61)
        assert ports[1].statistics().drops == {"interface_down": 1}
        turns = runner.statistics().turns
        assert turns < 200, "an error left on the socket would wake the loop for ever"
    left.close()
    right.close()


def test_an_interface_that_is_removed_is_told_and_the_others_work(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["1=if:s1", "2=if:s2", "3=if:s3"]
    with veth_pairs(3) as network, serving(network, texts, {1: 2}) as (_, ports):
        left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
        ip("-n", network.switch, "link", "delete", "s3")
        until(lambda: "interface s3 is gone" in caplog.text)
        left.send(frame(60))
        assert right.receive() == frame(60)
        assert ports[2].statistics().frames_in == 0
        left.close()
        right.close()


def test_a_capture_is_played_into_an_interface(network: VethPairs, tmp_path: Path) -> None:
    """Live, the capture's times are only distances."""
    right = Wire(network.hosts, "h2")
    frames = [(10**18 + index * 1000, frame(60 + index)) for index in range(50)]
    write_capture(tmp_path / "in.pcap", frames)
    texts = [f"1=pcap:{tmp_path}/in.pcap,{tmp_path}/out.pcap", "2=if:s2"]
    before_ns = time.time_ns()
    with serving(network, texts, {1: 2, 2: 1}):
        for _, content in frames:
            assert right.receive() == content
        right.send(frame(77))
        until(lambda: (tmp_path / "out.pcap").stat().st_size > 24)
    ((stamp_ns, content),) = read_captured(tmp_path / "out.pcap")
    assert content == frame(77)
    assert before_ns <= stamp_ns <= time.time_ns()
    right.close()


PASS = """
#include <core.p4>
#include <v1model.p4>
struct none { }
parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout none h, inout none m) { apply { } }
control I(inout none h, inout none m, inout standard_metadata_t s) {
    apply { s.egress_spec = s.ingress_port == 1 ? 9w2 : 9w1; }
}
control E(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in none h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
SWITCH = [sys.executable, "-m", "hostagent.cli.main", "switch"]


def test_the_command_over_interfaces(network: VethPairs, tmp_path: Path) -> None:
    (tmp_path / "pass.p4").write_text(PASS)
    left, right = Wire(network.hosts, "h1"), Wire(network.hosts, "h2")
    words = [*SWITCH, str(tmp_path / "pass.p4"), "--port", "1=if:s1", "--port", "2=if:s2", "-q"]
    ip("-n", network.switch, "link", "set", "lo", "up")
    process = subprocess.Popen(
        network.command(network.switch, [*words, "--p4runtime", "127.0.0.1:0"]), cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert b'"1": "1=if:s1"' in process.stdout.readline()
    left.send(frame(400))
    assert right.receive() == frame(400)
    process.terminate()
    assert process.wait(60) == 0
    process.stdout.close()
    left.close()
    right.close()


@pytest.mark.parametrize("engine", ["llvm", "interpreter"])
def test_the_command_over_captures_ends_with_them(tmp_path: Path, engine: str) -> None:
    (tmp_path / "pass.p4").write_text(PASS)
    frames = [(10**18 + index * 10**9, frame(60 + index)) for index in range(100)]
    write_capture(tmp_path / "in.pcap", frames)
    ports = ("--port", f"1=pcap:{tmp_path}/in.pcap", "--port", f"2=pcap:,{tmp_path}/out.pcap")
    words = [*SWITCH, str(tmp_path / "pass.p4"), "--engine", engine, *ports, "--p4runtime", "127.0.0.1:0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert read_captured(tmp_path / "out.pcap") == frames
