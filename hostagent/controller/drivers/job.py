"""What an aggregator must know of one job: what the controller's core hands to drivers, and groups split."""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.controller.core.slots import Run
from hostagent.protocol.services.aggregator import ServiceTerms, Spread


@dataclass(frozen=True, slots=True)
class Child:
    """One contributor, as the switch has to know it."""

    child: int
    port: int
    host_mac: int
    host_ip: int
    zero_checksum_allowed: bool
    workers: tuple[int, ...] = ()
    """A leaf aggregator's: the workers below it, in whose names it sends. Empty: the child is worker ``child``."""
    bits: int = 0
    """In bitmaps; 0: bit ``child``."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """In frames from it."""
        return self.workers or (self.child,)

    @property
    def bit_mask(self) -> int:
        """In bitmaps."""
        return self.bits or 1 << self.child


@dataclass(frozen=True, slots=True)
class Parent:
    """The aggregator above the leaf of a tree (PROTOCOL.md, section 12)."""

    port: int
    """The leaf's port that leads to it."""
    mac: int
    ip: int
    own_mac: int
    own_ip: int
    """The leaf's addresses towards it."""
    zero_checksum_allowed: bool
    workers: tuple[int, ...]
    """Those of the job that are not below the leaf: messages for them go up."""
    elsewhere: int
    """Their bits, of which the leaf does not know whether they have contributed; 0 where they have none."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """Where a switch finds the server that has the other slots of a window."""

    slots: int
    """Of the window's, the first ones: those that the switch has."""
    port: int
    """The switch's port that leads to the server."""
    mac: int
    ip: int


@dataclass(frozen=True, slots=True)
class JobConfig:
    """Everything the aggregator must know of one job under one epoch."""

    job: int
    row: int
    """Row of counters, and the number from which group and replication ids are made."""
    epoch: int
    base: int
    """Modulo 2^32, as frames carry it."""
    window: int
    first_slot: int
    short_allowed: bool
    switch_mac: int
    switch_ip: int
    children: tuple[Child, ...]
    service: ServiceTerms | None = None
    """The service of a job that works on a rack server's weights; None for other jobs."""
    spread: Spread | None = None
    """Spread of a job over several racks; ``children`` are then those of this rack."""
    parent: Parent | None = None
    """Of a leaf in a tree of switches; ``children`` are then those of this switch."""
    switch_slots: Run | None = None
    """Where there is an overflow server: the switch's, which are the first ones of the window; ``first_slot`` is the
    server's then."""
    overflow: Overflow | None = None
    """Of a switch, where a server has some of the window's slots; ``first_slot`` is the switch's."""
