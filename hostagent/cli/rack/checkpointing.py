"""Checkpoints of a running server: a thread that polls steps, copies between two batches, and writes concurrently.

Only the copying stops the server's loop; the file is written from the copy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from emulator.native.periodic import PeriodicThread
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.services.checkpoint import take, write
from hostagent.rackserver.services.checkpoint_folder import CheckpointFolder
from hostagent.rackserver.services.service_memory import NO_STEP, ServiceMemory

LOOK_S = 0.05
"""Polling period of the services' steps."""
DEFAULT_SECONDS = 30.0
"""If neither steps nor seconds are given."""

log = logging.getLogger("netsum.server")


@dataclass(frozen=True, slots=True)
class Pace:
    """How often; whichever comes first. 0: not by this."""

    steps: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Saved:
    """A service's last checkpoint."""

    step: int
    age: int
    at_s: float
    problem: str = ""
    """Why the last attempt to write one failed."""


class Checkpointer:
    """Writes checkpoints at the configured pace. At exit call `stop`, then `save_all`."""

    def __init__(
        self,
        rack: RackServer,
        paused: Callable[[], AbstractContextManager[None]],
        folder: CheckpointFolder,
        pace: Pace,
        report: Callable[[str], None] = lambda problem: None,
    ) -> None:
        """``paused``: the server's loop is paused inside. ``report``: called with the first of several failures in a
        row to write a checkpoint, and with those at the end."""
        self._rack, self._paused, self._folder, self._report = rack, paused, folder, report
        self._pace = pace if pace.steps or pace.seconds else Pace(seconds=DEFAULT_SECONDS)
        self.saved: dict[str, Saved] = {}
        self._thread = PeriodicThread(lambda: self.look(time.monotonic()), LOOK_S, "checkpoints")

    def start(self) -> None:
        """Begin to write checkpoints."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is being written."""
        self._thread.stop()

    def look(self, now_s: float) -> None:
        """Save the services that are due."""
        for name, service in self._rack.services():
            if self._is_due(name, service, now_s):
                self._save(name, service, now_s)

    def _is_due(self, name: str, service: ServiceMemory, now_s: float) -> bool:
        saved, step = self.saved.get(name), service.step
        if saved is None:  # a step begins when all weights are written; those that came from a file are in it
            return step > 0 or int(service.record["open_step"][0]) != NO_STEP
        if saved.problem:
            return now_s - saved.at_s >= DEFAULT_SECONDS
        pace, new = self._pace, step - saved.step
        if new <= 0:
            return service.age != saved.age  # a state was loaded, or a step undone
        return bool(pace.steps and new >= pace.steps) or bool(pace.seconds and now_s - saved.at_s >= pace.seconds)

    def _save(self, name: str, service: ServiceMemory, now_s: float, *, is_last: bool = False) -> None:
        with self._paused():
            if service.is_incomplete:
                return
            snapshot = take(service, self._rack.registry.tenant(name))
        place, before, problem = self._folder.place_of(name), self.saved.get(name), ""
        try:
            write(snapshot, place)
        except OSError as error:
            problem = str(error)
            has = f"{place} {'stays as it was' if place.exists() else 'is not there yet'}"
            text = f"no checkpoint of service {name!r} at step {snapshot.step}: {error}; {has}"
            log.error(text)
            if is_last or before is None or not before.problem:
                self._report(text)
        step = snapshot.step if not problem else (before.step if before is not None else -1)
        self.saved[name] = Saved(step, snapshot.age, now_s, problem)

    def save_all(self) -> None:
        """Save, at exit, every service that has weights, except one whose last write was interrupted."""
        for name, service in self._rack.services():
            if any(True for _ in service.numbers()):
                self._save(name, service, time.monotonic(), is_last=True)

    def as_json(self) -> dict[str, dict[str, object]]:
        """Checkpoints for the report, by service."""
        now_s = time.monotonic()
        return {
            name: {"step": saved.step, "age_s": round(now_s - saved.at_s, 3), "problem": saved.problem}
            for name, saved in self.saved.items()
        }
