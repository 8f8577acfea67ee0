"""Nodes and cables in virtual time, without a clock, thread or chance that a seed does not decide.

A node is a function from a frame that arrives to frames that leave. What leaves by a port with a cable comes out of its
other end, at once or when the cable's impairments say; what leaves by a port without one goes to ``outside``.

Order: frames that are due at the same time are delivered cable by cable, the cable made first going first; what a node
answers at once is delivered before time advances.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.network.link import PERFECT, Link
from emulator.ports.pcap.writer import IN, OUT, CaptureWriter
from emulator.ports.spec import Impairments

Outputs: TypeAlias = list[tuple[int, bytes]]
"""(port, frame) in the order in which they leave."""
Node: TypeAlias = Callable[[bytes, int, int, int], Outputs]
"""(frame, port, now_ns, origin) -> what leaves; ``origin`` is the number of the frame from outside that led to it."""

MOST_AT_ONCE = 4_096
"""Frames delivered without time going on; more of them are a forwarding loop."""


class EndlessCircle(Exception):
    """A forwarding loop in which no time passes."""


@dataclass(frozen=True, slots=True)
class End:
    """A node's port."""

    node: Hashable
    port: int


@dataclass(frozen=True, slots=True)
class Mishap:
    """What an impaired link did to a frame."""

    origin: int
    source: End
    target: End
    what: str


WHAT = {
    "lost": "lost",
    "duplicated": "duplicated",
    "reordered": "delayed behind later ones",
    "corrupted": "damaged",
    "dropped_full": "dropped, as too many were under way",
    "dropped_too_long": "dropped, as it was too long",
}
"""Descriptions of a link's counters."""


@dataclass(slots=True)
class _Direction:
    link: Link
    source: End
    to: End
    mishaps: list[Mishap]
    origins: dict[bytes, int] = field(default_factory=dict)
    """Origin of the last frame with each content. Damaged frames take the origin of the last frame of all."""
    last: int = 0

    def send(self, now_ns: int, frame: bytes, origin: int) -> None:
        self.origins[frame] = self.last = origin
        if self.link.impairments == PERFECT:
            self.link.send(now_ns, frame)
            return
        before = self.link.statistics()
        self.link.send(now_ns, frame)
        after = self.link.statistics()
        self.mishaps += [Mishap(origin, self.source, self.to, w) for c, w in WHAT.items() if after[c] > before[c]]

    def due_ns(self) -> int | None:
        return self.link.next_timer_ns()


class Simulation:
    """Call `inject`, then `run_until` or `step`; ``now_ns`` only goes forward."""

    def __init__(self, outside: Callable[[End, bytes, int, int], None], *, start_ns: int = 0) -> None:
        """``outside(end, frame, now_ns, origin)`` gets what leaves by a port without a cable."""
        self.now_ns = start_ns
        self.mishaps: list[Mishap] = []
        """Mishaps of all links, in order of time."""
        self._outside = outside
        self._capture: CaptureWriter | None = None
        self._nodes: dict[Hashable, Node] = {}
        self._cables: dict[End, _Direction] = {}

    @property
    def cables(self) -> Set[End]:
        """Ports that have one."""
        return self._cables.keys()

    def capture(self, writer: CaptureWriter) -> None:
        """Write what every node gets and sends from now on, by its ports; time stamps are ``now_ns``."""
        self._capture = writer

    def add(self, name: Hashable, node: Node) -> None:
        self._nodes[name] = node

    def connect(self, one: End, other: End, impairments: Impairments = PERFECT) -> None:
        """A cable; both directions have the same impairments and independent draws. ValueError for a taken port."""
        for end in (one, other):
            if end in self._cables:
                raise ValueError(f"port {end.port} of {end.node} has a cable already")
        stream = len(self._cables)
        self._cables[one] = _Direction(Link(impairments, stream=stream, port=other.port), one, other, self.mishaps)
        self._cables[other] = _Direction(Link(impairments, stream=stream + 1, port=one.port), other, one, self.mishaps)

    def impair(self, end: End, impairments: Impairments) -> None:
        """Other impairments of what leaves by a port with a cable, from the next frame on."""
        self._cables[end].link.impair(impairments)

    def inject(self, end: End, frame: bytes, origin: int) -> None:
        """A frame from outside arrives now; all that is due at once follows."""
        self._deliver(end, frame, origin)
        self._settle()

    def next_timer_ns(self) -> int | None:
        """When something happens by itself; None: never."""
        times = [due for cable in self._cables.values() if (due := cable.due_ns()) is not None]
        return min(times, default=None)

    def step(self, limit_ns: int | None = None) -> bool:
        """Advance to the next thing that happens, if there is one until ``limit_ns``."""
        due = self.next_timer_ns()
        if due is None or (limit_ns is not None and due > limit_ns):
            return False
        self.now_ns = max(self.now_ns, due)
        self._settle()
        return True

    def run_until(self, time_ns: int) -> None:
        """All that happens until then, then."""
        while self.step(time_ns):
            pass
        self.now_ns = max(self.now_ns, time_ns)

    def _record(self, end: End, direction: int, frame: bytes) -> None:
        if self._capture is not None:
            self._capture.write(self.now_ns, f"{end.node} port {end.port}", direction, frame)

    def _deliver(self, end: End, frame: bytes, origin: int) -> None:
        self._record(end, IN, frame)
        for port, made in self._nodes[end.node](frame, end.port, self.now_ns, origin):
            leaves = End(end.node, port)
            self._record(leaves, OUT, made)
            cable = self._cables.get(leaves)
            if cable is None:
                self._outside(leaves, made, self.now_ns, origin)
            else:
                cable.send(self.now_ns, made, origin)

    def _settle(self) -> None:
        arriving: deque[tuple[End, bytes, int]] = deque()
        for _ in range(MOST_AT_ONCE):
            if not arriving:
                arriving.extend(self._due())
            if not arriving:
                return
            self._deliver(*arriving.popleft())
        raise EndlessCircle(
            f"more than {MOST_AT_ONCE} frames were passed on at {self.now_ns} ns: a forwarding loop between "
            f"{', '.join(sorted({str(end.node) for end in self._cables}))}; give a link a delay, or remove the loop"
        )

    def _due(self) -> list[tuple[End, bytes, int]]:
        found = []
        for cable in self._cables.values():
            due = cable.due_ns()
            if due is not None and due <= self.now_ns:
                found += [(cable.to, f, cable.origins.get(f, cable.last)) for f in cable.link.receive(self.now_ns)]
        return found
