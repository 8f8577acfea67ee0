"""``netsum bench ports``: what ports cost by themselves.

shm: a host in this process, a reflector (or a sink) in another, nothing but the rings and the bell between them. udp:
both ends in one thread over loopback, compared with the same datagrams by sendmmsg and recvmmsg alone, so the
difference is what our port adds to the kernel. Every figure is a median of several runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from emulator.native.atomics import load_acquire64, pause
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, store_i64
from emulator.native.pages import address_of
from emulator.native.syscalls import monotonic_ns, recvmmsg, sendmmsg
from emulator.ports.batch import (
    FrameBatch,
    TxPortTable,
    batch_at,
    tx_append,
)
from emulator.ports.cable.bell import Bell, bell_cancel, bell_prepare, bell_sleep
from emulator.ports.cable.shm import ShmSwitchPort
from emulator.ports.host import (
    SPIN_NS,
    HostPort,
    host_consumed,
    host_flush,
    host_post,
    host_posted,
    host_receive,
    host_release,
    host_wait,
)
from emulator.ports.opening import open_host_port
from emulator.ports.port import port_flush, port_has_input, port_receive, port_refresh, port_release
from emulator.ports.sockets.mmsg import MESSAGES, MSG_DONTWAIT, make_messages
from emulator.ports.sockets.udp import UdpSwitchPort
from emulator.ports.spec import parse_port
from hostagent.cli.bench.runner import Report, Row

FRAME_BYTES = 1090
"""A frame of 256 lanes: 66 bytes of headers and 1 KiB."""

FULL_RING_SLEEP_NS = 5_000

RUNS = 5


# --- the other process -----------------------------------------------------------------------------------------------


@njit
def _serve(port: int, batch: int, ring: int, sleeper: int, stop: int, spin_ns: int, reflect: int) -> None:
    """A switch that sends every frame back where it came from, or reads only its first bytes."""
    frames = batch_at(batch)
    idle_since_ns = monotonic_ns()
    while load_acquire64(stop) == 0:
        frames.count = 0
        port_refresh(port)
        taken = port_receive(port, batch, 64, 0)
        addresses, lengths = frames.addresses, frames.lengths
        for index in range(frames.count * reflect):
            tx_append(ring, load_i64(addresses + 8 * index), load_u32(lengths + 4 * index))
        port_release(port)
        port_flush(port, 0)
        if taken > 0:
            idle_since_ns = monotonic_ns()
            continue
        pause()
        if monotonic_ns() - idle_since_ns < spin_ns:
            continue
        sequence = bell_prepare(sleeper)
        if port_has_input(port) or load_acquire64(stop) != 0:
            bell_cancel(sleeper)
        else:
            bell_sleep(sleeper, sequence, -1)


def _serve_process(name: str, spin_ns: int, reflect: int) -> None:
    """Serve until standard input closes."""
    import threading

    table, bell, batch, stop = TxPortTable(), Bell(), FrameBatch(64), np.zeros(1, np.int64)
    port = ShmSwitchPort(parse_port(f"1=shm:{name}"), table, bell)
    ring = table.ring_address(1)
    arguments = (port.address, batch.record_address, ring, bell.sleeper_address, address_of(stop), spin_ns, reflect)
    thread = threading.Thread(target=_serve, args=arguments)
    thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    stop[0] = 1
    bell.ring()
    thread.join()
    port.close()
    bell.close()


class _Server:
    def __init__(self, name: str, spin_ns: int, reflect: bool) -> None:
        command = [sys.executable, "-m", "hostagent.cli.bench.ports", name, str(spin_ns), str(int(reflect))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the benchmark's other process did not start; its message is above")

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate("")


# --- loops to be timed -----------------------------------------------------------------------------------------------


@njit
def _round_trips(port: int, sleeper: int, batch: int, frame: int, spin_ns: int, times: int, count: int) -> None:
    """Send a frame and wait for it, ``count`` times; nanoseconds of each go to ``times``."""
    for index in range(count):
        start_ns = monotonic_ns()
        host_post(port, frame, FRAME_BYTES)
        host_flush(port)
        batch_at(batch).count = 0
        while host_receive(port, batch, 1) == 0:
            host_wait(port, sleeper, spin_ns, -1)
        host_release(port)
        store_i64(times + 8 * index, monotonic_ns() - start_ns)


@njit
def _stream(port: int, sleeper: int, frame: int, stride_bytes: int, frames: int, count: int) -> int:
    """Post ``count`` kept frames as fast as the other end reads them; nanoseconds until the last is consumed.

    Where the ring is full it sleeps, for the other end may need this core.
    """
    start_ns = monotonic_ns()
    for index in range(count):
        while host_post(port, frame + index % frames * stride_bytes, FRAME_BYTES) == 0:
            host_flush(port)
            host_wait(port, sleeper, 0, FULL_RING_SLEEP_NS)
        if index % 64 == 0:
            host_flush(port)
    host_flush(port)
    while host_consumed(port) < host_posted(port):
        host_wait(port, sleeper, 0, FULL_RING_SLEEP_NS)
    return monotonic_ns() - start_ns


@njit
def _udp_stream(host: int, switch: int, batch: int, frame: int, rounds: int) -> int:
    """Batches from a host's port to a switch's, in turns; how many frames arrived."""
    arrived = 0
    for _ in range(rounds):
        for _ in range(MESSAGES):
            host_post(host, frame, FRAME_BYTES)
        host_flush(host)
        batch_at(batch).count = 0
        arrived += port_receive(switch, batch, MESSAGES, 0)
        port_release(switch)
    return arrived


@njit
def _plain_udp(sender: int, out: int, receiver: int, messages: int, rounds: int) -> int:
    """The same system calls with nothing around them."""
    arrived = 0
    for _ in range(rounds):
        sendmmsg(sender, out, MESSAGES, MSG_DONTWAIT)
        arrived += max(0, recvmmsg(receiver, messages, MESSAGES, MSG_DONTWAIT, 0))
    return arrived


# --- the benchmarks --------------------------------------------------------------------------------------------------


def _median(measure: Callable[[], float]) -> float:
    measure()  # loads the machine code and touches the memory
    return statistics.median(measure() for _ in range(RUNS))


def _measure_round_trip(name: str, spin_ns: int, count: int) -> float:
    with _Server(name, spin_ns, reflect=True):
        port = open_host_port(f"shm:{name}")
        pool, batch, times = port.frame_pool(1, FRAME_BYTES), FrameBatch(4), np.zeros(count, np.int64)
        arguments = (port.address, port.sleeper_address, batch.record_address, pool.address, spin_ns)

        def measure() -> float:
            _round_trips(*arguments, address_of(times), count)
            return float(np.median(times))

        result = _median(measure)
        port.close()
    return result


def _measure_stream(name: str, count: int) -> float:
    with _Server(name, SPIN_NS, reflect=False):
        port: HostPort = open_host_port(f"shm:{name}")
        pool = port.frame_pool(512, FRAME_BYTES)
        arguments = (port.address, port.sleeper_address, pool.address, pool.stride_bytes, pool.count, count)
        result = _median(lambda: count / _stream(*arguments) * 1e9)
        port.close()
    return result


def _measure_udp(rounds: int) -> tuple[float, float]:
    """(through our ports, by the system calls alone), measured in turn so that both see the same machine."""
    switch = UdpSwitchPort(parse_port("1=udp:127.0.0.1:0"), TxPortTable())
    host = open_host_port(f"udp:127.0.0.1:0,127.0.0.1:{switch.local[1]}")
    pool, batch = host.frame_pool(1, FRAME_BYTES), FrameBatch(MESSAGES)

    def ours() -> float:
        return _rate(lambda: _udp_stream(host.address, switch.address, batch.record_address, pool.address, rounds))

    iov, messages = make_messages()
    iov["base"], iov["length"] = pool.address, FRAME_BYTES

    def plain() -> float:
        out, into = address_of(messages), int(switch.state["messages_in"])
        return _rate(lambda: _plain_udp(int(host.state["socket"]), out, int(switch.state["socket"]), into, rounds))

    ours(), plain()
    pairs = [(ours(), plain()) for _ in range(RUNS)]
    host.close()
    switch.close()
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def _rate(work: Callable[[], int]) -> float:
    """Per second of this thread's processor time: over loopback that is all the work, and others don't count."""
    start_ns = time.thread_time_ns()
    done = work()
    return done / (time.thread_time_ns() - start_ns) * 1e9


def measure(*, round_trips: int = 5000, frames: int = 300_000, udp_rounds: int = 500) -> Report:
    """Medians; some seconds on two cores. On one core "busy" round trips are scheduler switches.

    Round trips are of one descriptor through both rings and two processes: busy, both ends polling, and asleep, two
    wake-ups. Frames of shm are posted without copying, read and released by the other process. udp is a host port to a
    switch port, sending and receiving in one thread, per second of its CPU time.
    """
    name = f"bench-{time.monotonic_ns():x}"
    ours, plain = _measure_udp(udp_rounds)
    busy = _measure_round_trip(f"{name}-busy", 1_000_000, round_trips)
    asleep = _measure_round_trip(f"{name}-asleep", 0, round_trips)
    stream = _measure_stream(f"{name}-stream", frames)
    rows = [
        Row("shm round trip, both polling", busy / 1e3, "us"),
        Row("shm round trip, both asleep", asleep / 1e3, "us"),
        Row(f"shm, {FRAME_BYTES}-byte frames", stream / 1e6, "M/s"),
        Row(f"udp loopback, {FRAME_BYTES}-byte frames", ours / 1e3, "k/s", "plain sendmmsg and recvmmsg", plain / 1e3),
    ]
    return Report("ports", "ports between two processes, median of several runs", rows)


if __name__ == "__main__":
    channel, spin, reflects = sys.argv[1:]
    _serve_process(channel, int(spin), int(reflects))
