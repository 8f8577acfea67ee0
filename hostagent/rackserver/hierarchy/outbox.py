"""What a way up has ready for its tier: frames to send, totals and failures that are known; and what was sent."""

from __future__ import annotations

from dataclasses import dataclass

from hostagent.rackserver.hierarchy.parts import Failure, Part


@dataclass(slots=True)
class Traffic:
    """What one rack has sent to others, and dropped of theirs."""

    part_bytes: int = 0
    """Of lanes. Those of totals are counted apart."""
    total_bytes: int = 0
    again_bytes: int = 0
    """Of lanes that had been sent before."""
    frames: int = 0
    frame_bytes: int = 0
    dropped: int = 0
    """Frames of another epoch, kind or rack than can come, and of chunks that are over."""


class Outbox:
    """The base of `Exchange` and `Parent`. What is taken is forgotten here."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._frames: list[tuple[int, bytes]] = []
        self._totals: list[Part] = []
        self._failures: list[Failure] = []

    def take_frames(self) -> list[tuple[int, bytes]]:
        """(port, frame) to send, in order."""
        frames, self._frames = self._frames, []
        return frames

    def take_totals(self) -> list[Part]:
        """Chunks that all parts are in; each once."""
        totals, self._totals = self._totals, []
        return totals

    def take_failures(self) -> list[Failure]:
        """Chunks that have failed, as ranks disagree on them; each once."""
        failures, self._failures = self._failures, []
        return failures

    def _post(self, port: int, frame: bytes, lane_bytes: int, *, total: bool = False, again: bool = False) -> None:
        """Send a frame with so many bytes of lanes that count."""
        if again:
            self.traffic.again_bytes += lane_bytes
        elif total:
            self.traffic.total_bytes += lane_bytes
        else:
            self.traffic.part_bytes += lane_bytes
        self.traffic.frames += 1
        self.traffic.frame_bytes += len(frame)
        self._frames.append((port, frame))
