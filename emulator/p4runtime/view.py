"""What Read and Write act on: a program's schema and a switch that runs it, with what only controllers care about.

There are two at most: the live switch, and after VERIFY_AND_SAVE a spare one that stands for the program to come.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.schema import Schema
from emulator.switch.control import Control, ControlError, FieldMatch

EntryKey = tuple[int, tuple[FieldMatch, ...], int]
"""(table id, match, priority); the default entry's match is empty and its priority -1, which no entry has."""


@dataclass(slots=True)
class Notes:
    """What the switch has no use for and must give back on reads."""

    entries: dict[EntryKey, tuple[int, bytes]] = field(default_factory=dict)
    """(controller_metadata, metadata) where either is set."""
    defaults: set[int] = field(default_factory=set)
    """Ids of the tables whose default entry a controller has set."""
    groups: dict[int, Any] = field(default_factory=dict)
    """Multicast groups as they were written, for their metadata and the form of their ports."""

    def set_entry(self, key: EntryKey, message: Any) -> None:
        if message.controller_metadata or message.metadata:
            self.entries[key] = (message.controller_metadata, message.metadata)
        else:
            self.entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class View:
    schema: Schema
    control: Control
    access: Callable[[], AbstractContextManager[Any]]
    """Holds the data plane still: each use of ``control`` stands inside ``with access():``, kept short."""
    notes: Notes = field(default_factory=Notes)


Change = Callable[[], None]
"""One validated update, to be run inside ``access``; it may still find the switch's state against it."""


def run_change(change: Change) -> None:
    """Raises RequestError also for what the switch refuses."""
    try:
        change()
    except ControlError as error:
        raise RequestError(Code(int(error.code)), error.message) from error
