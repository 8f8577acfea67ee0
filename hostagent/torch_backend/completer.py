"""Completes futures, in submission order, on threads that may block in a user's callback.

One thread at a time waits for the oldest watched work; when that has finished the thread first hands the waiting on to
another (a new one if all are busy in callbacks) and then runs the callbacks itself. So no callback, however long it
waits for a later collective, keeps a later future from being completed, and the usual case costs no hand-over.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostagent.torch_backend.work import NetsumWork


class Completer:
    """The completing threads of one process group; they start with the first future and are daemons."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._watched: deque[NetsumWork] = deque()
        self._leading = False
        self._idle = 0
        self._closed = False

    def watch(self, work: NetsumWork) -> None:
        """Have the work's future completed once it has finished."""
        if work.is_message:  # may wait for ever for another rank's call, and keeps nothing else back
            threading.Thread(target=self._complete, args=(work,), name=f"{self._name} message", daemon=True).start()
            return
        with self._changed:
            self._watched.append(work)
            self._call_for_leader()

    def _complete(self, work: NetsumWork) -> None:
        work.wait_for_future()
        work.complete_future()

    def close(self) -> None:
        """End the threads once nothing is watched any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _call_for_leader(self) -> None:
        if self._leading or not self._watched:
            return
        if self._idle:
            self._changed.notify()
        else:
            threading.Thread(target=self._run, name=f"{self._name} futures", daemon=True).start()

    def _run(self) -> None:
        while (work := self._lead()) is not None:
            work.wait_for_future()
            with self._changed:
                self._leading = False
                self._call_for_leader()
            work.complete_future()

    def _lead(self) -> NetsumWork | None:
        """Wait for the turn to lead; returns the oldest watched work, None when all is over."""
        with self._changed:
            self._idle += 1
            while self._leading or not self._watched:
                if self._closed and not self._watched:
                    self._idle -= 1
                    return None
                self._changed.wait()
            self._idle -= 1
            self._leading = True
            return self._watched.popleft()
