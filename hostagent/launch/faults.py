"""The faults of a script in a live run (``netsum run --faults``), at their times.

    script -> Schedule -> a thread: links     -> the ports of the switch that has them (``emulator.ports.control``)
                                    services  -> killed, and held until the supervisor may start them again
                                    ranks     -> killed; slow ones stopped and continued in turn

Time 0 is when the job of all ranks first appears at the controller: with the script's first collective operation.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from emulator.network.faults.parts import CONTROLLER, SLOW_PERIOD_NS, Kill, Restart, Script, Slow
from emulator.network.faults.schedule import Change, LinkFaults, Schedule
from emulator.network.topology.builders import star, tree
from emulator.network.topology.topology import Topology
from emulator.ports.control import BothWays, ControlError, impair_ports
from emulator.ports.spec import Impairments, parse_impairments
from hostagent.launch.aggregators import Aggregator, control_of
from hostagent.launch.processes import Service
from hostagent.launch.status import fetch_status
from hostagent.launch.stopped import ENDED_STATES, state_of
from hostagent.protocol.tree import FanOut, regular_tree, switch_names

USE_LOOK_S = 0.05
"""Between two looks whether the network is used."""
CONTROL_TIMEOUT_S = 2.0


@dataclass
class LiveNetwork:
    """A network as a topology, and where its links are."""

    topology: Topology
    switches: list[str]
    """In the order of the services."""
    cables: dict[tuple[int, int], tuple[str, str]]
    """(service, port of the switch) -> names of the links into the switch and out of it."""

    def rank(self, host: str) -> int:
        """Of the process on a host."""
        return self.topology.hosts.index(host)


class RunNetwork(LiveNetwork):
    """That of a run: a star, or a tree of switches."""

    def __init__(self, ranks: int, fan_outs: FanOut = ()) -> None:
        super().__init__(tree(fan_outs) if fan_outs else star(ranks), [], {})
        parts = regular_tree(fan_outs) if fan_outs else regular_tree([ranks])
        self.switches.extend(switch_names(parts) if fan_outs else ["s0"])
        for index, part in enumerate(parts):
            if part.parent is not None:
                self._cable(index, part.up_port, self.switches[part.parent])
            for port in part.ports:
                self._cable(index, port, self.topology.hosts[port - 1])

    def _cable(self, index: int, port: int, peer: str) -> None:
        own = self.switches[index]
        self.cables[index, port] = (f"{peer}->{own}", f"{own}->{peer}")


def changeable(impairments: str, seed: int) -> str:
    """The options of ports whose impairments a script may change."""
    options = [impairments] if impairments else []
    options += [f"seed={seed}"] if seed and "seed=" not in impairments else []
    return "&".join([*options, "changeable=yes"])


class LiveFaults:
    """Plays a script; ``stop`` ends it. What happened is said on standard error, and in ``Aggregator.faults``."""

    def __init__(self, script: Script, network: LiveNetwork, impairments: str, ranks: int) -> None:
        """``impairments``: of all ports, without a fault."""
        self._network = network
        self._ranks = ranks
        self._schedule = Schedule(script)
        self.impairments = changeable(impairments, script.seed)
        """Of all ports, as they start."""
        self._usual = _usual(impairments)
        into = {names[0] for names in network.cables.values()}
        self._links = LinkFaults(script.seed, lambda name: self._usual[0 if name in into else 1])
        self.slowed = tuple(network.rank(f.kind.host) for f in script.faults if isinstance(f.kind, Slow))
        """Ranks that are stopped and continued at some time."""
        self.happened: list[Mapping[str, Any]] = []
        self._services: Sequence[Service] = ()
        self._address = ""
        self._pids: dict[int, int] = {}
        self._slow: dict[int, float] = {}
        """Rank -> share of the time that it runs, now."""
        self._changing = threading.Lock()
        """Links are changed by the schedule and after restarts."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)

    def start(self, services: Sequence[Service], aggregator: Aggregator | None) -> None:
        """Wait for the network's first use, and then for the faults' times, in a thread."""
        assert aggregator is not None, "the run has services of its own"
        aggregator.faults = self.happened
        self._services = services
        self._address = aggregator.address
        self._thread.start()

    def stop(self) -> None:
        """Nothing happens afterwards; what was stopped goes on, what is held may be started."""
        if self._ending.is_set() or not self._services:
            return
        self._ending.set()
        self._thread.join()
        if self._pids == {}:
            print("netsum run: no fault has happened: the ranks did not use the network together", file=sys.stderr)
        elif (due_ns := self._schedule.next_time_ns()) is not None:
            print(f"netsum run: the run ended before the faults from {due_ns / 1e9:g} s on", file=sys.stderr)
        for rank in self._slow:
            self._signal(rank, signal.SIGCONT)
        for service in self._services:
            service.is_held = False

    def restore(self, service: Service) -> None:
        """A switch that was started again: its links are what they should be at this time."""
        with self._changing:
            index = list(self._services).index(service)
            if index < len(self._network.switches):
                self._impair({at for at in self._network.cables if at[0] == index})

    # --- the thread ---

    def _run(self) -> None:
        self._pids = self._first_use()
        begin_ns = time.monotonic_ns()
        while not self._ending.is_set():
            now_ns = time.monotonic_ns() - begin_ns
            for change in self._schedule.due(now_ns):
                self._tell(now_ns, change, self._apply(change))
            wake_ns = [
                due_ns for due_ns in (self._schedule.next_time_ns(), self._take_turns(now_ns)) if due_ns is not None
            ]
            if not wake_ns:
                return
            self._ending.wait(max(0, min(wake_ns) + begin_ns - time.monotonic_ns()) / 1e9)

    def _first_use(self) -> dict[int, int]:
        """Process of each rank, once the job of all of them exists; empty: the run ended first."""
        import grpc

        while not self._ending.wait(USE_LOOK_S):
            with suppress(grpc.RpcError):
                for job in fetch_status(self._address).jobs:
                    if job.size == self._ranks == len(job.members):
                        return {member.rank: member.pid for member in job.members}
        return {}

    def _apply(self, change: Change) -> str:
        """Why it could not be done; empty: it was."""
        kind = change.fault.kind
        if isinstance(kind, Kill):
            return self._signal(self._network.rank(kind.host), signal.SIGKILL)
        if isinstance(kind, Slow):
            rank = self._network.rank(kind.host)
            if change.begins:
                self._slow[rank] = kind.share
                return ""
            self._slow.pop(rank, None)
            return self._signal(rank, signal.SIGCONT)
        if isinstance(kind, Restart):
            service = self._service(kind.node)
            if change.begins:
                service.interrupt()
            else:
                service.is_held = False
            return ""
        with self._changing:
            changed = set(self._links.apply(change))
            return self._impair({at for at, names in self._network.cables.items() if changed & set(names)})

    def _service(self, node: str) -> Service:
        return self._services[-1 if node == CONTROLLER else self._network.switches.index(node)]

    def _impair(self, ends: set[tuple[int, int]]) -> str:
        """Give these ports what their links do to frames now. A switch that is away gets it when it is back."""
        by_switch: dict[int, dict[int, BothWays]] = defaultdict(dict)
        for index, port in ends:
            into, out_of = self._network.cables[index, port]
            by_switch[index][port] = (self._links.of(into), self._links.of(out_of))
        problems = []
        for index, ports in by_switch.items():
            service = self._services[index]
            if not service.is_ready or not service.running():
                continue
            try:
                impair_ports(control_of(service.ready), ports, CONTROL_TIMEOUT_S)
            except ControlError as error:
                problems.append(str(error))
        return "; ".join(problems)

    def _take_turns(self, now_ns: int) -> int | None:
        """Stop and continue slow processes; when the next is to be. None: there are none."""
        if any(state_of(pid) in ENDED_STATES for pid in self._pids.values()):
            for rank in self._slow:  # the run is ending, and a stopped process would not
                self._signal(rank, signal.SIGCONT)
            self._slow.clear()
        if not self._slow:
            return None
        phase_ns, ends_ns = now_ns % SLOW_PERIOD_NS, []
        for rank, share in self._slow.items():
            runs_ns = round(share * SLOW_PERIOD_NS)
            self._signal(rank, signal.SIGCONT if phase_ns < runs_ns else signal.SIGSTOP)
            ends_ns.append(runs_ns if phase_ns < runs_ns else SLOW_PERIOD_NS)
        return now_ns - phase_ns + min(ends_ns)

    def _signal(self, rank: int, number: signal.Signals) -> str:
        try:
            os.kill(self._pids[rank], number)
        except ProcessLookupError:
            return f"rank {rank} has ended already"
        return ""

    def _tell(self, now_ns: int, change: Change, problem: str) -> None:
        entry = {"time_s": round(now_ns / 1e9, 3), "what": str(change)}
        self.happened.append({**entry, "problem": problem} if problem else entry)
        because = f" was not possible: {problem}" if problem else ""
        print(f"netsum run: fault at {now_ns / 1e9:.3f} s: {change}{because}", file=sys.stderr, flush=True)


def _usual(impairments: str) -> tuple[Impairments, Impairments]:
    inbound, outbound = parse_impairments(impairments)
    return inbound or Impairments(), outbound or Impairments()
