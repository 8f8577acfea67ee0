"""The shutdown of a switch process: by signals, or because its parent process has ended."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShutdownRequested(BaseException):
    """A signal came inside `ShutdownSignals.raising`."""


class ShutdownSignals:
    """SIGTERM and SIGINT: recorded for an orderly shutdown, or raised where the caller allows it."""

    def __init__(self) -> None:
        """Installs the signal handlers. Only in the main thread."""
        self._requested = self._raises = False
        self._woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)  # written by the C handler, so `wait` cannot miss one, whichever thread took it
        for number in ENDING_SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._requested = True
        if self._raises:
            raise ShutdownRequested

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Inside, a signal raises ShutdownRequested: for long work that needs no cleanup."""
        self._raises = True
        try:
            if self._requested:
                raise ShutdownRequested
            yield
        finally:
            self._raises = False

    def wait(self) -> None:
        """Wait until a signal has come."""
        while not self._requested:
            select.select([self._woken], [], [])


def die_with_parent() -> None:
    """SIGTERM to ourselves when the parent process has ended, however it ended.

    A pidfd and not PR_SET_PDEATHSIG, which fires when the parent's *thread* that started us ends.
    """
    parent = os.getppid()
    try:
        descriptor = os.pidfd_open(parent)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return
    if os.getppid() != parent:  # it ended meanwhile, and its number may belong to another process
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=_watch, args=(descriptor,), name="netsum-parent", daemon=True).start()


def _watch(descriptor: int) -> None:
    select.select([descriptor], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
