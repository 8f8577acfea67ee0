"""What Read and Write act on: a program's schema, a switch that runs it, and state that only controllers use.

There are two at most: the live switch, and after VERIFY_AND_SAVE a spare one for the saved program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.pipeline.schema import Schema
from emulator.p4runtime.stream.digests import DigestConfig
from emulator.p4runtime.stream.idle import IdleTimers
from emulator.p4runtime.translation import Translator
from emulator.switch.control import ControlError, FieldMatch, RowControl

Found = TypeVar("Found")

EntryKey = tuple[int, tuple[FieldMatch, ...], int]
"""(table id, match, priority); the default entry's match is empty and its priority -1, which no entry has."""


@dataclass(slots=True)
class Notes:
    """State that the switch does not use and that reads return."""

    entries: dict[EntryKey, tuple[int, bytes]] = field(default_factory=dict)
    """(controller_metadata, metadata) where either is set."""
    defaults: set[int] = field(default_factory=set)
    """Ids of the tables with a default entry that a controller has set."""
    groups: dict[int, Any] = field(default_factory=dict)
    """Multicast groups as they were written, for their metadata and the form of their ports."""
    sessions: dict[int, Any] = field(default_factory=dict)
    """Clone sessions likewise."""
    value_sets: dict[int, Any] = field(default_factory=dict)
    """Value sets likewise."""
    digests: dict[int, DigestConfig] = field(default_factory=dict)
    """Configurations of the digests that are switched on."""
    idle: IdleTimers[EntryKey] = field(default_factory=IdleTimers)
    """Timers of the entries with a time-out."""
    watches_ports: bool = False
    """Whether a watch port or a backup replica has been written."""
    down: frozenset[int] = frozenset()
    """The ports that were down when they were last looked at."""


@dataclass(frozen=True, slots=True)
class View:
    schema: Schema
    control: RowControl
    access: Callable[[], AbstractContextManager[Any]]
    """Holds the data plane still: each use of ``control`` is inside ``with access():``, and short."""
    notes: Notes = field(default_factory=Notes)
    translator: Translator | None = None
    """None: no values are translated."""
    row_forms: dict[int, Any] = field(default_factory=dict)
    """The `entities.rows.RowForm` of each table written to so far, by id; None where there is none."""
    now_ns: Callable[[], int] = time.monotonic_ns
    """The clock of entries' last hits."""
    has_port: Callable[[int], bool] = lambda port: True
    packets_wait: Callable[[], bool] = lambda: False
    """Whether packets may be waiting; asked inside ``access``."""
    ports_down: Callable[[], frozenset[int]] = frozenset
    """The ports that are down now."""

    def watch(self, port: int) -> bool:
        """Whether the switch has the port; if so it is watched from now on."""
        self.notes.watches_ports = self.notes.watches_ports or self.has_port(port)
        return self.has_port(port)

    def in_steps(self, found: Iterable[Found]) -> Iterator[Found]:
        """What ``control`` yields, some at a time, so that packets are not kept waiting for all of it."""
        iterator = iter(found)
        while True:
            with self.access():
                some = list(islice(iterator, STEP))
            if not some:
                return
            yield from some


STEP = 200
"""Entries or cells read between two batches of packets: a fraction of a millisecond."""


Undo = Callable[[], None]


@dataclass(slots=True)
class Change:
    """One validated update; both functions are called inside ``access``."""

    run: Callable[[], None]
    """Carry it out. Raises ControlError or RequestError, with nothing changed, where the switch's state is against
    it."""
    remember: Callable[[], Undo]
    """Called before ``run``; returns the function that undoes it, to be called after later updates have been undone."""


def nothing() -> Change:
    """A write without data changes nothing."""
    return Change(lambda: None, lambda: lambda: None)


def run_change(change: Change) -> None:
    """Raises RequestError also for what the switch refuses."""
    try:
        change.run()
    except ControlError as error:
        raise RequestError(Code(int(error.code)), error.message) from error
