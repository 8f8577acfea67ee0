"""The live loop around a core in Python: frames, timers, pauses, failures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.loop.core_runner import CoreRunner
from emulator.ports.opening import make_switch_bell, open_switch_ports
from emulator.ports.spec import parse_ports

PATIENCE_S = 20.0


class Answering:
    """Sends every frame back, and once more when ``delay_ns`` have passed."""

    def __init__(self, delay_ns: int = 0) -> None:
        self.table = TxPortTable()
        self._delay_ns = delay_ns
        self._later: list[tuple[int, int, bytes]] = []
        self.answered = threading.Semaphore(0)
        self.empty_calls = 0

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        self.empty_calls += batch.count == 0
        for port, frame in batch.frames():
            if frame == b"fail":
                raise RuntimeError("asked to")
            self.table.append(port, frame)
            self._later.append((now_ns + self._delay_ns, port, frame))
            self.answered.release()
        while self._delay_ns and self._later and self._later[0][0] <= now_ns:
            _, port, frame = self._later.pop(0)
            self.table.append(port, frame + b" again")
            self.answered.release()
        return self._later[0][0] if self._delay_ns and self._later else None


@contextmanager
def running(core: Answering) -> Iterator[tuple[CoreRunner, list[MemoryPort]]]:
    specs = parse_ports(["1=memory:a", "2=memory:b"])
    bell = make_switch_bell(specs)
    ports = open_switch_ports(specs, core.table, bell)
    runner = CoreRunner(core, ports, bell, spin_ns=0)
    try:
        runner.start()
        yield runner, [port for port in ports if isinstance(port, MemoryPort)]
    finally:
        runner.stop()
        for port in ports:
            port.close()
        bell.close()


def test_frames_are_answered_and_timers_kept_though_nothing_comes_in() -> None:
    core = Answering(delay_ns=1_000_000)
    with running(core) as (runner, (first, second)):
        first.send([b"one"])
        second.send([b"two"])
        for _ in range(4):
            assert core.answered.acquire(timeout=PATIENCE_S)
        with runner.paused():
            assert first.received() == [b"one", b"one again"]
            assert second.received() == [b"two", b"two again"]
        assert core.empty_calls >= 1
        assert runner.statistics().frames == 2


def test_a_paused_core_is_not_called() -> None:
    core = Answering()
    with running(core) as (runner, (first, _)):
        with runner.paused():
            first.send([b"wait"])
            assert not core.answered.acquire(timeout=0.05)
        assert core.answered.acquire(timeout=PATIENCE_S)


def test_what_the_core_raises_ends_the_loop_and_is_told() -> None:
    core = Answering()
    with pytest.raises(RuntimeError, match="asked to"):
        fail(core)


def fail(core: Answering) -> None:
    with running(core) as (runner, (first, _)):
        first.send([b"fail"])
        assert runner._thread is not None
        runner._thread.join(PATIENCE_S)
