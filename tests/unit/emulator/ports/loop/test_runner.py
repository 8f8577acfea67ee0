"""The live loop around a stand-in for a program's machine code."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.host import HostPort
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.opening import make_switch_bell, open_host_port, open_switch_ports
from emulator.ports.port import SwitchPort
from emulator.ports.sockets.udp import UdpSwitchPort
from emulator.ports.spec import parse_ports
from tests.labs.shared_memory import shm_folder
from tests.programs.forwarder import Forwarder

__all__ = ["shm_folder"]

PATIENCE_NS = 20_000_000_000


@contextmanager
def running(
    texts: list[str], routes: dict[int, int] | None = None, spin_ns: int = 0
) -> Iterator[tuple[SwitchRunner, list[SwitchPort], Forwarder]]:
    forwarder = Forwarder(routes)
    specs = parse_ports(texts)
    bell = make_switch_bell(specs)
    ports = open_switch_ports(specs, forwarder.table, bell)
    runner = SwitchRunner(forwarder, ports, bell, spin_ns=spin_ns).start()
    try:
        yield runner, ports, forwarder
    finally:
        runner.stop()
        for port in ports:
            port.close()
        bell.close()


def send(host: HostPort, frame: bytes) -> None:
    pool = host.frame_pool(1, max(64, len(frame)))
    pool.frames[0, : len(frame)] = memoryview(frame)
    assert host.post(pool.address, len(frame))
    host.flush()


def receive(host: HostPort, count: int = 1) -> list[bytes]:
    """``count`` frames, waiting for each; fails when a wait outlasts all patience."""
    frames: list[bytes] = []
    deadline = time.monotonic_ns() + PATIENCE_NS
    while len(frames) < count:
        assert time.monotonic_ns() < deadline, f"{len(frames)} of {count} frames came"
        batch = FrameBatch(64)
        host.wait(PATIENCE_NS)
        host.receive_into(batch)
        frames += [frame for _, frame in batch.frames()]
        host.release()
    return frames


def test_memory_ports_are_served() -> None:
    with running(["1=memory:a", "2=memory:b"], {1: 2, 2: 1}) as (runner, ports, _):
        left, right = ports
        assert isinstance(left, MemoryPort)
        assert isinstance(right, MemoryPort)
        for number in range(200):
            frame = bytes([number]) * (number + 1)
            assert left.send([frame]) == 1
            assert receive(right.host) == [frame]
        right.send([b"back"])
        assert receive(left.host) == [b"back"]
        assert runner.statistics().frames == 201


def test_shm_and_udp_ports_of_one_switch_both_wake_it(shm_folder: Path) -> None:
    with running(["1=shm:a", "2=udp:127.0.0.1:0"], {1: 2, 2: 1}) as (_, ports, forwarder):
        udp = ports[1]
        assert isinstance(udp, UdpSwitchPort)
        shm_host = open_host_port("shm:a")
        udp_host = open_host_port(f"udp:127.0.0.1:0,127.0.0.1:{udp.local[1]}")
        send(udp_host, b"hhhhh")
        assert receive(shm_host) == [b"hhhhh"]
        for number in range(100):
            frame = bytes([number]) * (1 + number * 80)
            send(shm_host, frame)
            assert receive(udp_host) == [frame]
            send(udp_host, frame)
            assert receive(shm_host) == [frame]
        assert forwarder.torn == 0
        shm_host.close()
        udp_host.close()
    assert list(shm_folder.iterdir()) == []


def test_an_idle_loop_takes_no_turns() -> None:
    with running(["1=memory:a"]) as (runner, ports, _):
        port = ports[0]
        assert isinstance(port, MemoryPort)
        for _ in range(50):
            port.send([b"x"])
            receive(port.host)
        # a frame costs a turn that moves it and one that finds nothing; a false alarm costs one more
        assert runner.statistics().turns <= 50 * 4 + 4


def test_a_due_frame_wakes_the_loop_without_any_input() -> None:
    with running(["1=memory:a?delay=20ms"]) as (_, ports, _):
        port = ports[0]
        assert isinstance(port, MemoryPort)
        port.send([b"slow"])
        assert receive(port.host) == [b"slow"]


def test_without_a_program_frames_are_dropped_and_counted() -> None:
    with running(["1=memory:a"]) as (runner, ports, forwarder):
        port = ports[0]
        assert isinstance(port, MemoryPort)
        with runner.paused():
            program, forwarder.program_address = forwarder.program_address, 0
        port.send([b"lost", b"too"])
        while port.host.consumed < 2:
            port.host.wait(1_000_000)
        with runner.paused():
            forwarder.program_address = program
        port.send([b"kept"])
        assert receive(port.host) == [b"kept"]
        assert runner.statistics().no_program == 2


def test_a_paused_loop_calls_nothing_until_it_goes_on() -> None:
    with running(["1=memory:a"]) as (runner, ports, forwarder):
        port = ports[0]
        assert isinstance(port, MemoryPort)
        with runner.paused():
            assert runner.lock.locked()
            port.send([b"x"])
            assert forwarder.calls == 0
            assert port.host.consumed == 0
        assert receive(port.host) == [b"x"]
        assert forwarder.calls == 1


def test_pauses_of_many_threads_while_frames_flow() -> None:
    with running(["1=memory:a"]) as (runner, ports, _):
        port = ports[0]
        assert isinstance(port, MemoryPort)
        inside: list[int] = []

        def pause_often() -> None:
            for _ in range(100):
                with runner.paused():
                    inside.append(1)
                    assert len(inside) == 1
                    inside.pop()

        threads = [threading.Thread(target=pause_often) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(300):
            port.send([bytes([number % 256])])
            assert receive(port.host) == [bytes([number % 256])]
        for thread in threads:
            thread.join()


def test_a_loop_can_be_stopped_and_its_failure_is_raised() -> None:
    with running(["1=memory:a"]) as (runner, _, forwarder):
        with runner.paused():
            del forwarder.program_address
        assert runner._thread is not None
        runner._thread.join()
        with pytest.raises(AttributeError, match="program_address"):
            runner.stop()


def test_ports_that_can_not_be_had_leave_nothing_open(shm_folder: Path) -> None:
    forwarder = Forwarder()
    specs = parse_ports(["1=shm:a", "2=udp:192.0.2.1:9"])
    bell = make_switch_bell(specs)
    with pytest.raises(Exception, match="not one of this machine's"):
        open_switch_ports(specs, forwarder.table, bell)
    bell.close()
    assert list(shm_folder.iterdir()) == []
    assert forwarder.table.numbers() == []


def test_a_host_is_woken_by_another_thread(shm_folder: Path) -> None:
    with running(["1=shm:a"]):
        host = open_host_port("shm:a")
        host.wake()
        assert host.wait(PATIENCE_NS) == 2
        results: list[int] = []
        thread = threading.Thread(target=lambda: results.append(host.wait(PATIENCE_NS)))
        thread.start()
        host.wake()
        thread.join()
        assert results == [2]
        host.close()
