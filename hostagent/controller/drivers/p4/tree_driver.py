"""Drives a tree of aggregators as if it were one (PROTOCOL.md, section 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hostagent.controller.drivers.driver import Driver
from hostagent.controller.drivers.group import DriverGroup, GroupRefused
from hostagent.controller.drivers.p4.entries import JobEntries
from hostagent.controller.drivers.p4.tree import split_job
from hostagent.protocol.tree import TreeRefused, TreeSwitch, check_tree


class TreeDriver(DriverGroup):
    """See hostagent.controller.drivers.driver.Driver. ``drivers`` are those of the switches, in the same order."""

    def __init__(self, drivers: Sequence[Driver], switches: Sequence[TreeSwitch]) -> None:
        """Raises TreeRefused where the switches are no tree."""
        check_tree(switches)
        super().__init__(drivers)
        self._switches = switches

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{','.join(driver.name for driver in self._drivers)} (a tree)"

    def _split(self, entries: JobEntries) -> dict[int, JobEntries]:
        try:
            return split_job(entries, self._switches)
        except TreeRefused as error:
            raise GroupRefused(str(error)) from error

    def _check(self) -> None:
        """Any switches fit that have the same lanes."""

    def _is_being_installed(self, entries: JobEntries, shares: Mapping[int, JobEntries]) -> None:
        """Nothing watches the cables between the switches."""

    def _known(self, index: int, installed: Sequence[JobEntries]) -> Sequence[JobEntries]:
        parts = (split_job(entries, self._switches) for entries in installed)
        return [part[index] for part in parts if index in part]
