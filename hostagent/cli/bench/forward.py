"""``netsum bench forward``: packets a second through real interfaces, next to the most that these sockets allow.

Two veth pairs join two network namespaces. One has a sender and a receiver (for the router) or a host that is two
children of a job (for aggregation), the other the switch, or instead the limit: a compiled loop that only receives and
sends on the same kind of sockets. Switch and limit take turns on the same core; the other processes have the rest.
Each figure is the best of several rounds, because other load on the machine can only slow a round down.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from hostagent.cli.bench.runner import BenchError, Report, Row
from hostagent.cli.bench.traffic import WINDOW
from hostagent.cli.bench.veth import VethPairs

LANES = 64
ROUTED_FRAME_BYTES = 98
AGGREGATED_FRAME_BYTES = 66 + 4 * LANES

WORK = {
    "router": f"IPv4 router, {ROUTED_FRAME_BYTES}-byte frames",
    "allreduce": f"{LANES}-lane aggregation, 2 children",
}
TARGET_SHARE = {"router": 0.85, "allreduce": 0.60}
BMV2_KPPS = {"router": 72.0, "allreduce": 11.4}
"""simple_switch_grpc 1.15.5, optimised build, recorded over veth on a machine like the one this was written on."""

SATURATED = 0.02
"""The forwarder is the bottleneck if it dropped at least this share of what was sent."""

TRIES = 5
"""Attempts at a round in which the ends themselves lose no frames; they do when other processes had their core."""


class BenchFailed(BenchError):
    """A process of the benchmark failed, or a result can't be right; the message says what."""


class Role:
    """A process in a namespace; see ``forward_roles`` for its commands."""

    def __init__(self, namespace: str, role: str, **options: Any) -> None:
        words = [sys.executable, "-m", "hostagent.cli.bench.forward_roles", role, json.dumps(options)]
        self.role = role
        self._process = subprocess.Popen(
            VethPairs.command(namespace, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, word: str) -> None:
        """Send it a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Result of the process."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise BenchFailed(f"the process {self.role!r} ended with status {self._process.wait()}; see above why")
        result: dict[str, Any] = json.loads(line)
        return result

    def do(self, word: str) -> dict[str, Any]:
        """Send a command and wait for its result."""
        self.begin(word)
        return self.answer()

    def __enter__(self) -> Role:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


@dataclass(frozen=True, slots=True)
class Round:
    """One measurement."""

    kpps: float
    """Frames through the forwarder, in thousands a second, as the receiver saw them."""
    cpu_ns: float
    """Processor time of the forwarder for each frame, the kernel's work for it included."""
    overload: float
    """Share of the frames sent for which the forwarder had no room; 0 where a window limits the sender."""
    lost_at_ends: int
    """Frames that the forwarder sent and the receiver's kernel dropped: then ``kpps`` is a lower bound."""
    sent: int
    """Frames of the sender; 0 where a window limits it."""
    drops: dict[str, int]
    """Frames that the forwarder dropped, by reason."""
    uncounted: int
    """Frames that were neither received nor counted as dropped."""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """Result for one kind of work."""

    work: str
    frame_bytes: int
    limit: Round
    """The best round; ``switch`` likewise."""
    switch: Round
    limit_median_kpps: float
    switch_median_kpps: float
    share: float
    """Switch to limit, by the best rounds."""
    cpu_share: float
    """The same by CPU time, which depends less on other load."""
    wanted_share: float
    bmv2_kpps: float
    saturated: bool
    """False: sender or host were the bottleneck, so the figures are lower bounds."""


def measure(seconds: float = 0.7, rounds: int = 7) -> Report:
    """All of it. Raises NoNamespaces without root, BenchFailed."""
    with VethPairs() as network:
        results = [_measure_work(network, traffic, seconds, rounds) for traffic in WORK]
    remarks = ["bmv2's figures are recorded, not measured in this run"]
    for each in results:
        if each.switch.sent:
            remarks.append(_accounting(each.work, each.switch))
        if not each.saturated:
            remarks.append(f"{each.work}: sender or receiver was the bottleneck, so both figures are lower bounds")
    details = {"seconds": seconds, "rounds": rounds}
    return Report(
        "forward", "over two veth pairs, best round", [_row(each) for each in results], None, remarks, details
    )


def _row(result: Forwarding) -> Row:
    note = (
        f"medians {result.switch_median_kpps:.0f} and {result.limit_median_kpps:.0f}; "
        f"by CPU time {result.cpu_share:.0%}, "
        f"target {result.wanted_share:.0%}; {result.switch.kpps / result.bmv2_kpps:.1f}x bmv2 ({result.bmv2_kpps:g})"
    )
    return Row(result.work, result.switch.kpps, "kframes/s", "bare forwarder", result.limit.kpps, note, asdict(result))


def _measure_work(network: VethPairs, traffic: str, seconds: float, rounds: int) -> Forwarding:
    cores = sorted(os.sched_getaffinity(0))
    at_hosts = {"core": cores[-1], "seconds": seconds, "frame_bytes": ROUTED_FRAME_BYTES, "lanes": LANES}
    with ExitStack() as stack:

        def role(namespace: str, name: str, **options: Any) -> Role:
            return stack.enter_context(Role(namespace, name, **options))

        forwarders = {
            name: role(network.switch, name, core=cores[0], traffic=traffic, lanes=LANES)
            for name in ("limit", "switch")
        }
        if traffic == "router":
            receiver = role(network.hosts, "receive", core=cores[-1 if len(cores) < 3 else 1])
            ends = [receiver, role(network.hosts, "send", **at_hosts)]
        else:
            ends = [role(network.hosts, "host", window=WINDOW, **at_hosts)]
        for forwarder in forwarders.values():
            _clean_round(forwarder, ends)  # loads machine code and touches memory
        rounds_of: dict[str, list[Round]] = {name: [] for name in forwarders}
        for _ in range(rounds):
            for name, forwarder in forwarders.items():
                rounds_of[name].append(_clean_round(forwarder, ends))
    return _summary(traffic, rounds_of["limit"], rounds_of["switch"])


def _clean_round(forwarder: Role, ends: list[Role]) -> Round:
    """The first round of several in which the ends lost nothing, else the best."""
    played: list[Round] = []
    while len(played) < TRIES:
        played.append(_round(forwarder, ends))
        if not played[-1].lost_at_ends:
            return played[-1]
    return max(played, key=lambda one: one.kpps)


def _round(forwarder: Role, ends: list[Role]) -> Round:
    """``ends`` are a host, or a receiver and a sender."""
    for role in (forwarder, *ends):
        role.do("open")
    forwarder.do("work")
    for role in ends:
        role.begin("work")
    seen, *others = [role.answer() for role in ends]
    used = forwarder.do("close")
    for role in ends:
        role.do("close")
    if not seen["frames"]:
        raise BenchFailed(f"{forwarder.role}: no frame came through; drops: {seen['drops']}, {used['drops']}")
    if seen.get("stalled"):
        raise BenchFailed(f"{forwarder.role}: a window made no progress; drops: {seen['drops']} and {used['drops']}")
    sent = others[0]["sent"] if others else 0
    drops, lost = _by_reason(used["drops"]), _by_reason(seen["drops"]).total()
    return Round(
        kpps=seen["frames"] / seen["seconds"] / 1e3,
        cpu_ns=used["cpu_s"] * 1e9 / used["frames"],
        overload=1 - used["frames"] / sent if others else 0.0,
        lost_at_ends=lost,
        sent=sent,
        drops=dict(drops),
        uncounted=sent - seen["frames"] - drops.total() - lost if others else 0,
    )


def _by_reason(drops: dict[str, dict[str, int]]) -> Counter[str]:
    """Drops of all ports, by reason."""
    return sum((Counter(by_reason) for by_reason in drops.values()), Counter())


def _summary(traffic: str, limits: list[Round], switches: list[Round]) -> Forwarding:
    limit, switch = (max(rounds, key=lambda one: one.kpps) for rounds in (limits, switches))
    least = [min(one.cpu_ns for one in rounds) for rounds in (limits, switches)]
    return Forwarding(
        work=WORK[traffic],
        frame_bytes=ROUTED_FRAME_BYTES if traffic == "router" else AGGREGATED_FRAME_BYTES,
        limit=limit,
        switch=switch,
        limit_median_kpps=statistics.median(one.kpps for one in limits),
        switch_median_kpps=statistics.median(one.kpps for one in switches),
        share=switch.kpps / limit.kpps,
        cpu_share=least[0] / least[1],
        wanted_share=TARGET_SHARE[traffic],
        bmv2_kpps=BMV2_KPPS[traffic],
        saturated=(traffic != "router" or min(limit.overload, switch.overload) > SATURATED)
        and not (limit.lost_at_ends or switch.lost_at_ends),
    )


def _accounting(work: str, best: Round) -> str:
    """What happened to the frames sent in the switch's best round."""
    drops = "".join(f"{count:,} {reason}, " for reason, count in best.drops.items())
    through = best.sent - sum(best.drops.values()) - best.lost_at_ends - best.uncounted
    return f"{work}: of {best.sent:,} frames {through:,} came through; {drops}{best.uncounted:,} not counted"
