"""A P4 switch and its overflow server (PROTOCOL.md, section 12.7): what each must know of a job; driven as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hostagent.controller.core.model import Capacity
from hostagent.controller.core.slots import Run
from hostagent.controller.drivers.driver import AggregatorCounters, Driver
from hostagent.controller.drivers.group import DriverGroup
from hostagent.controller.drivers.p4.entries import JobEntries, Overflow
from hostagent.protocol.tree import FIRST_DOWN_PORT, UP_PORT

SERVER, SWITCH = 0, 1
"""In the order of trees: the one above first."""

COMPLETED_AT_SERVER = "completed_at_server"
"""Name among the verdicts on a job's frames: of those that are "completed", those at the server."""


def split_overflow(entries: JobEntries) -> dict[int, JobEntries]:
    """Parts of a job. The server, which has a part only where the switch lacks slots, is an aggregator of all children
    for the whole window, of whose slots it uses those that the switch does not have; all children are at its one port,
    each with its own addresses."""
    granted = entries.switch_slots or Run(0, 0)  # of a job from before the controller knew of the server: none
    switch = replace(entries, first_slot=granted.first, switch_slots=None)
    if granted.count == entries.window:
        return {SWITCH: switch}
    overflow = Overflow(granted.count, UP_PORT, entries.switch_mac, entries.switch_ip)
    children = (replace(each, port=FIRST_DOWN_PORT, zero_checksum_allowed=False) for each in entries.children)
    return {
        SERVER: replace(entries, children=tuple(children), switch_slots=None),
        SWITCH: replace(switch, overflow=overflow),
    }


class OverflowDriver(DriverGroup):
    """See hostagent.controller.drivers.driver.Driver."""

    def __init__(self, server: Driver, switch: Driver) -> None:
        super().__init__((server, switch))

    @property
    def name(self) -> str:
        """Name for people."""
        server, switch = self._drivers
        return f"{switch.name}, overflowing to {server.name}"

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver; of both together, and in addition COMPLETED_AT_SERVER."""
        total = super().counters(timeout_s)
        for row, verdicts in self._drivers[SERVER].counters(timeout_s).verdicts.items():
            total.verdicts.setdefault(row, {})[COMPLETED_AT_SERVER] = verdicts.get("completed", 0)
        return total

    def _split(self, entries: JobEntries) -> dict[int, JobEntries]:
        return split_overflow(entries)

    def _check(self) -> None:
        """Any server fits that has the switch's lanes."""

    def _combined(self, known: Sequence[Capacity]) -> Capacity:
        return replace(super()._combined(known), slots=known[SERVER].slots, switch_slots=known[SWITCH].slots)

    def _is_being_installed(self, entries: JobEntries, shares: Mapping[int, JobEntries]) -> None:
        """Nothing watches the cable between the two."""

    def _known(self, index: int, installed: Sequence[JobEntries]) -> Sequence[JobEntries]:
        parts = (split_overflow(entries) for entries in installed)
        return [part[index] for part in parts if index in part]
