"""What a test does, once its names are known: packets, time, changes, checks. All by ids and plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from emulator.harness.stf.syntax import CheckCount, CheckLog, Expect, NoPacket
from emulator.switch.control import Control


@dataclass(frozen=True, slots=True)
class Send:
    line: int
    port: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    line: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """Something the control plane does; `ControlError` is a failure of the test at this line."""

    line: int
    apply: Callable[[Control], None]


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold; what is returned says how it does not."""

    line: int
    look: Callable[[Control], str | None]


@dataclass(frozen=True, slots=True)
class Show:
    """Something a person wants to read in the run's notes."""

    line: int
    read: Callable[[Control], str]


Step: TypeAlias = Send | Pause | Change | Check | Show | NoPacket | CheckLog | CheckCount


@dataclass(frozen=True, slots=True)
class Plan:
    """A test bound to a program."""

    steps: tuple[Step, ...]
    expects: tuple[Expect, ...]
    ports: frozenset[int]
    """Ports that a packet or an expect names; what leaves by others is not looked at."""
    longest_bytes: int
    """Longest of the frames sent."""
