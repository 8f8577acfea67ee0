"""Processes that are stopped, that go on, and that were to end while they were stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from hostagent.launch.stopped import STOPPED_STATES, StoppedProcesses, state_of


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, until it is told to end."""
    process = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=-1)
    assert process.stdout is not None
    process.stdout.readline()
    with process:
        yield process
        process.kill()


def until(is_true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_a_process_is_told_when_it_stops_and_when_it_goes_on(sleeper: subprocess.Popen[bytes]) -> None:
    told: list[tuple[int, bool]] = []
    processes, pid = StoppedProcesses(lambda *what: told.append(what)), sleeper.pid
    processes.look([pid])
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: state_of(pid) in STOPPED_STATES)
    processes.look([pid])
    processes.look([pid])
    sleeper.send_signal(signal.SIGCONT)
    until(lambda: state_of(pid) not in STOPPED_STATES)
    processes.look([pid])
    assert told == [(pid, True), (pid, False)]
    assert processes.ended == set()


def test_one_that_is_to_end_is_let_go_on_for_that(sleeper: subprocess.Popen[bytes]) -> None:
    told: list[tuple[int, bool]] = []
    processes, pid = StoppedProcesses(lambda *what: told.append(what)), sleeper.pid
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: state_of(pid) in STOPPED_STATES)
    sleeper.send_signal(signal.SIGTERM)
    processes.look([pid])
    assert sleeper.wait(20) == -signal.SIGTERM
    processes.look([])
    assert told == [(pid, True)]
    assert processes.ended == {pid}
