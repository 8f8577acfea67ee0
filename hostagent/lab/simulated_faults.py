"""The faults of a script in virtual time, at their times (``topology simulate --faults``).

    script -> Schedule -> links    -> stages of the simulated network, with the impairments of live ports
                          switches -> their programs are gone, and loaded again; the controller has the job installed
                          ranks    -> gone; slow ones stopped and continued in turn

Time 0 is that of the network: the beginning of the first call. A fault comes after the events of its moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from emulator.network.faults.parts import CONTROLLER, Kill, Restart, Script, Slow
from emulator.network.faults.schedule import Change, LinkFaults, Schedule
from emulator.network.frames.network import Network
from emulator.network.frames.records import NEVER_NS
from emulator.ports.spec import Impairments
from hostagent.lab.simulated_controller import SimulatedController


def needs_controller(script: Script) -> bool:
    """Whether something happens that a controller notices."""
    kinds = [fault.kind for fault in script.faults]
    return any(isinstance(kind, Restart | Kill) or (isinstance(kind, Slow) and kind.share == 0) for kind in kinds)


class SimulatedFaults:
    """Plays a script; ``happened`` is what has been so far."""

    def __init__(
        self,
        script: Script,
        usual: Impairments,
        network: Network,
        hosts: Sequence[str],
        switches: Collection[str],
        load_again: Callable[[str], None],
        controller: SimulatedController | None,
    ) -> None:
        """``usual``: of all links, without a fault; ``hosts``, ``switches``: that take part, hosts in order of ranks;
        ``load_again``: a switch's program; ``controller``: where `needs_controller`."""
        self._network, self._hosts, self._switches = network, hosts, switches
        self._load_again, self._controller = load_again, controller
        self._schedule = Schedule(script)
        self._links = LinkFaults(script.seed, lambda name: usual)
        self.killed: set[str] = set()
        """Hosts."""
        self.happened: list[dict[str, Any]] = []

    @property
    def left_ns(self) -> int | None:
        """When the next fault would have come; None: all have."""
        return self._schedule.next_time_ns()

    def next_time_ns(self) -> int:
        """When to call `play`."""
        times = [self.left_ns, self._controller.next_time_ns() if self._controller else None]
        return min((time_ns for time_ns in times if time_ns is not None), default=NEVER_NS)

    def play(self, now_ns: int) -> None:
        """What is due."""
        for change in self._schedule.due(now_ns):
            self._apply(change, now_ns)
            self.happened.append({"time_s": change.time_ns / 1e9, "what": str(change)})
        if self._controller is not None:
            self._controller.play(now_ns)

    def _apply(self, change: Change, now_ns: int) -> None:
        network, hosts, kind = self._network, self._hosts, change.fault.kind
        if isinstance(kind, Slow):
            share = kind.share if change.begins else 1.0
            network.slow(kind.host, share)
            if self._controller is not None and kind.host in hosts:
                self._controller.set_running(hosts.index(kind.host), share > 0, now_ns)
        elif isinstance(kind, Kill):
            network.stop(kind.host)
            self.killed.add(kind.host)
            if kind.host in hosts:
                self._of_controller.rank_killed(hosts.index(kind.host), now_ns)
        elif isinstance(kind, Restart) and kind.node == CONTROLLER:
            if change.begins:
                self._of_controller.kill()
            else:
                self._of_controller.start(now_ns)
        elif isinstance(kind, Restart):
            if kind.node not in self._switches:
                return
            if change.begins:
                network.stop(kind.node)
                self._of_controller.switch_lost(kind.node, now_ns)
            else:
                self._load_again(kind.node)
                self._of_controller.switch_ready(kind.node, now_ns)
        else:
            for name in self._links.apply(change):
                network.impair(name, self._links.of(name))

    @property
    def _of_controller(self) -> SimulatedController:
        assert self._controller is not None, "see needs_controller"
        return self._controller
