"""What a test has sent, and what became of it: the material of failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulator.harness.target import Received, Target, Testbed
from emulator.harness.walk.events import Left, Walk
from emulator.harness.walk.summary import summary_lines
from emulator.harness.walk.text import MOST_LINES, WIDTH, shown_path, walk_lines

OWN = str(Path(__file__).resolve().parents[1])
Place = tuple[str, int]


def test_place() -> Place:
    """(file, line) of the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


test_place.__test__ = False  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Sending:
    switch: str
    port: int
    place: Place


@dataclass(slots=True)
class PacketHistory:
    """Packets of one test, on all switches."""

    targets: Mapping[str, Target]
    width: int = WIDTH
    """Columns for what is shown."""
    sendings: list[Sending] = field(default_factory=list)

    def note(self, switch: str, port: int, place: Place) -> int:
        """The number of the frame."""
        self.sendings.append(Sending(switch, port, place))
        return len(self.sendings) - 1

    def view(self, target: Target, testbed: Testbed) -> HistoryView:
        return HistoryView(self, target, testbed)


@dataclass(frozen=True, slots=True)
class HistoryView:
    """As one switch sees it."""

    sent: PacketHistory
    target: Target
    testbed: Testbed

    @property
    def label(self) -> str:
        """Names the switch where there are several."""
        return f"{self.target.name}, " if len(self.sent.targets) > 1 else ""

    @property
    def last(self) -> int:
        return len(self.sent.sendings) - 1

    def origin_words(self, origin: int) -> str:
        if not 0 <= origin < len(self.sent.sendings):
            return "a packet"
        sending = self.sent.sendings[origin]
        file, line = sending.place
        where = f"{sending.switch}, port {sending.port}" if len(self.sent.targets) > 1 else f"port {sending.port}"
        return f"the packet sent to {where} at {shown_path(file)}:{line}"

    def left(self, received: Received) -> Left | None:
        return self.target.left(received)

    def walk_lines(self, origin: int | None = None, *, most: int | None = MOST_LINES) -> Iterator[str]:
        """What the packet met in all switches; nothing where the target has no walks or nothing was sent."""
        number = self.last if origin is None else origin
        walks = self._walks(number)
        if not walks:
            return
        yield f"the walk of {self.origin_words(number)}:"
        for name, walk in walks:
            if len(self.sent.targets) > 1:
                yield f"  switch {name}"
            yield from (f"  {line}" for line in walk_lines(walk, most=most, width=self.sent.width - 2))

    def summary_lines(self, origin: int) -> Iterator[str]:
        """What became of the packet in each switch and on each link, in a few lines; nothing as with `walk_lines`."""
        for name, walk in self._walks(origin):
            yield f"{self.origin_words(origin)}{f', in {name}' if len(self.sent.targets) > 1 else ''}:"
            yield from (f"  {line}" for line in summary_lines(walk))
        for mishap in self.testbed.mishaps(origin):
            yield f"{mishap} (as the test asked of this link)"

    def _walks(self, origin: int) -> list[tuple[str, Walk]]:
        return [(name, w) for name, t in self.sent.targets.items() for w in t.walks(origin)]
