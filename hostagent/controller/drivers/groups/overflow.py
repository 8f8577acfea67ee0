"""A P4 switch and its overflow server (PROTOCOL.md, section 12.7): what each must know of a job; driven as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hostagent.controller.core.model import Capacity
from hostagent.controller.core.slots import Run
from hostagent.controller.drivers.driver import AggregatorCounters, Driver
from hostagent.controller.drivers.groups.group import DriverGroup
from hostagent.controller.drivers.job import JobConfig, Overflow
from hostagent.protocol.tree import FIRST_DOWN_PORT, UP_PORT

SERVER, SWITCH = 0, 1
"""In the order of trees: the one above first."""

COMPLETED_AT_SERVER = "completed_at_server"
"""Name among the verdicts on a job's frames: of those that are "completed", those at the server."""


def split_overflow(config: JobConfig) -> dict[int, JobConfig]:
    """Parts of a job. The server, which has a part only where the switch lacks slots, is an aggregator of all children
    for the whole window, of whose slots it uses those that the switch does not have; all children are at its one port,
    each with its own addresses."""
    granted = config.switch_slots or Run(0, 0)  # of a job from before the controller knew of the server: none
    switch = replace(config, first_slot=granted.first, switch_slots=None)
    if granted.count == config.window:
        return {SWITCH: switch}
    overflow = Overflow(granted.count, UP_PORT, config.switch_mac, config.switch_ip)
    children = (replace(each, port=FIRST_DOWN_PORT, zero_checksum_allowed=False) for each in config.children)
    return {
        SERVER: replace(config, children=tuple(children), switch_slots=None),
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

    def _split(self, config: JobConfig) -> dict[int, JobConfig]:
        return split_overflow(config)

    def _combined(self, known: Sequence[Capacity]) -> Capacity:
        return replace(super()._combined(known), slots=known[SERVER].slots, switch_slots=known[SWITCH].slots)
