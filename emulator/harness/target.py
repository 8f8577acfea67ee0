"""Where a test's switch runs: what `P4Switch` needs of it. Ours in virtual time, or somebody's in real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from emulator.harness.catalogue import Catalogue
from emulator.harness.walk.events import Left, Walk
from emulator.switch.control import Control

Place = tuple[str, int]
"""(file, line) of a test."""


@dataclass(frozen=True, slots=True)
class Received:
    """A frame that came out of a switch by a port without a link."""

    switch: str
    port: int
    content: bytes
    time_ns: int
    origin: int
    """Number of the frame sent that led to it, from 0; -1 where the target does not know."""

    @property
    def packet(self) -> object:
        """Dissected by scapy, from Ethernet on."""
        from scapy.layers.l2 import Ether

        return Ether(self.content)


class Target(Protocol):
    """One switch."""

    @property
    def name(self) -> str: ...
    @property
    def ports(self) -> range:
        """Ports that a test can use."""
        ...

    @property
    def control(self) -> Control: ...
    @property
    def catalogue(self) -> Catalogue: ...

    def send(self, port: int, content: bytes, origin: int) -> None: ...
    def walks(self, origin: int) -> list[Walk]:
        """What the frame of that number met in this switch, in order; empty where the target has no walks."""
        ...

    def left(self, received: Received) -> Left | None:
        """The frame with the headers that the deparser wrote, if the target knows them."""
        ...

    def messages(self) -> list[str]: ...
    def counts(self) -> Mapping[str, int]:
        """Drops and faults by reason."""
        ...


class Testbed(Protocol):
    """Time, and what comes out of all switches of a test."""

    @property
    def now_ns(self) -> int: ...
    @property
    def arrived(self) -> list[Received]:
        """What no test has looked at yet, in order of time."""
        ...

    def wait(self, enough: Callable[[], bool], within_ns: int | None) -> None:
        """Let time go on until it is enough, nothing is under way any more, or that long."""
        ...

    def settle(self) -> None:
        """Let time go on until nothing is under way any more."""
        ...

    def advance(self, duration_ns: int) -> None: ...
    def mishaps(self, origin: int) -> list[str]:
        """What links did to the frame of that number and to what came of it, as sentences."""
        ...
