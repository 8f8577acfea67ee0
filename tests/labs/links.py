"""One impaired link of ``emulator.network`` to each receiver of a lab, and the order in which they deliver."""

from __future__ import annotations

from collections import deque

from emulator.network.link import Link
from emulator.ports.spec import Impairments

NEVER_NS = 2**62


class Links:
    """Receivers are integers; two of them are the ends ``to`` and ``-1 - to`` of one cable."""

    def __init__(self, impairments: Impairments, inbound: Impairments | None = None) -> None:
        """``inbound``: of the negative ends, where they differ."""
        self._impairments = impairments
        self._inbound = inbound
        self._links: dict[int, Link] = {}
        self._due_ns: dict[Link, tuple[int, int]] = {}
        """Of each link with frames under way: when the next one is due, and its receiver."""
        self._arrived: deque[tuple[int, bytes]] = deque()
        self.sent = 0
        """Frames, before what the links do to them."""

    def change(self, impairments: Impairments) -> None:
        """For frames sent from now on; those under way arrive as they would have."""
        if impairments != self._impairments:
            self._impairments, self._links = impairments, {}

    def impair(self, to: int, impairments: Impairments) -> None:
        """Of one receiver's link, for frames sent from now on."""
        self._link(to).impair(impairments)

    def send(self, to: int, frame: bytes, now_ns: int) -> None:
        self._link(to).send(now_ns, frame)
        self.sent += 1
        self._note(self._links[to], to)

    def _link(self, to: int) -> Link:
        if to not in self._links:
            stream = 2 * to if to >= 0 else 2 * (-1 - to) + 1
            impairments = self._inbound if self._inbound is not None and to < 0 else self._impairments
            self._links[to] = Link(impairments, stream=stream)
        return self._links[to]

    def next_ns(self) -> int:
        """When a frame arrives; NEVER_NS: none is under way."""
        if self._arrived:
            return 0
        return min(self._due_ns.values())[0] if self._due_ns else NEVER_NS

    def receive(self, now_ns: int) -> tuple[int, bytes]:
        """(receiver, frame) of one frame that is due; see ``next_ns``."""
        if not self._arrived:
            link, (_, to) = min(self._due_ns.items(), key=lambda item: item[1])
            self._arrived += [(to, frame) for frame in link.receive(now_ns)]
            self._note(link, to)
        return self._arrived.popleft()

    def _note(self, link: Link, to: int) -> None:
        due_ns = link.next_timer_ns()
        if due_ns is None:
            self._due_ns.pop(link, None)
        else:
            self._due_ns[link] = due_ns, to
