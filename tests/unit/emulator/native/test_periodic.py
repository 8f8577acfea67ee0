"""A periodic thread: calls until it is stopped, none after."""

from __future__ import annotations

import threading

from emulator.native.periodic import PeriodicThread

PATIENCE_S = 30.0


def test_work_is_repeated_until_the_thread_is_stopped() -> None:
    calls: list[str] = []
    enough = threading.Event()

    def work() -> None:
        calls.append(threading.current_thread().name)
        if len(calls) >= 3:
            enough.set()

    thread = PeriodicThread(work, 0.001, "repeats")
    thread.start()
    assert enough.wait(PATIENCE_S)
    thread.stop()
    assert "repeats" not in {each.name for each in threading.enumerate()}
    assert set(calls) == {"repeats"}


def test_stop_waits_for_the_call_in_progress() -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        may_end.wait(PATIENCE_S)
        ended.set()

    thread = PeriodicThread(work, 0.001, "slow")
    thread.start()
    assert began.wait(PATIENCE_S)
    thread.stop(timeout_s=0.0)
    assert not ended.is_set()
    may_end.set()
    thread.stop()
    assert ended.is_set()


def test_a_thread_that_was_never_started_can_be_stopped_and_does_not_work() -> None:
    calls: list[None] = []
    thread = PeriodicThread(lambda: calls.append(None), 0.0, "never")
    thread.stop()
    assert not calls
