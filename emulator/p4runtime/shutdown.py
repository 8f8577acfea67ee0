"""How a switch process comes to its end: signals, and the end of the process that started it."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class AskedToEnd(BaseException):
    """A signal came while nothing needed to be put in order."""


class Ending:
    """SIGTERM and SIGINT: noted, so that the end comes in order; or raised, where the caller allows it."""

    def __init__(self) -> None:
        """Takes the signals over. Only in the main thread."""
        self._asked = self._raises = False
        self._woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)  # written by the C handler, so `wait` cannot miss one, whichever thread took it
        for number in ENDING_SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._asked = True
        if self._raises:
            raise AskedToEnd

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, a signal raises AskedToEnd: for long work that leaves nothing behind."""
        self._raises = True
        try:
            if self._asked:
                raise AskedToEnd
            yield
        finally:
            self._raises = False

    def wait(self) -> None:
        """Until a signal has come."""
        while not self._asked:
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
    if os.getppid() != parent:  # it ended while we looked, and its number may have gone to another
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=_watch, args=(descriptor,), name="netsum-parent", daemon=True).start()


def _watch(descriptor: int) -> None:
    select.select([descriptor], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
