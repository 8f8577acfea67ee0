"""A link in virtual time: what goes in comes out later, more than once, changed or never, as its seed decides.

For simulations of hosts and switches inside one process. The caller owns the clock: it sends at a time, asks when the
next frame is due, moves its clock there and receives. A link without impairments delivers at once and in order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch
from emulator.ports.impairments import (
    ImpairmentState,
    impair_next_ns,
    impair_pop,
    impair_push,
    impair_release,
)
from emulator.ports.spec import Impairments

PERFECT = Impairments()
MOST = 1 << 30


class Link:
    """One direction of a cable.

    ``stream`` keeps links with one seed apart, for example the two directions of a cable.
    """

    def __init__(self, impairments: Impairments = PERFECT, *, stream: int = 0, port: int = 0) -> None:
        """``port`` is what received batches say their frames came from."""
        self.impairments = impairments
        self.port = port
        self._state = ImpairmentState(impairments, stream=stream)
        self._batch = FrameBatch(impairments.queue_frames)

    @property
    def address(self) -> int:
        """What the compiled functions of ``ports.impairments`` take."""
        return self._state.address

    def impair(self, impairments: Impairments) -> None:
        """Other impairments from the next frame on; queue and seed stay."""
        self.impairments = impairments
        self._state.configure(impairments)

    def send(self, now_ns: int, frame: bytes | NDArray[np.uint8]) -> None:
        """Put a copy of a frame on the link; ``now_ns`` never goes back."""
        content = np.frombuffer(bytes(frame) or b"\0", np.uint8)
        impair_push(self.address, address_of(content), len(bytes(frame)), now_ns)

    def next_timer_ns(self) -> int | None:
        """When the next frame is due; None when the link is empty."""
        due = int(impair_next_ns(self.address))
        return None if due < 0 else due

    def receive(self, now_ns: int) -> list[bytes]:
        """Copies of the frames that are due."""
        self._batch.clear()
        self.receive_into(now_ns, self._batch)
        frames = [frame for _, frame in self._batch.frames()]
        self.release()
        return frames

    def receive_into(self, now_ns: int, batch: FrameBatch) -> int:
        """Append the frames that are due to a batch, as far as it has room; they are borrowed until release()."""
        return int(impair_pop(self.address, batch.record_address, self.port, MOST, now_ns))

    def release(self) -> None:
        """The received frames have been read."""
        impair_release(self.address)

    def statistics(self) -> dict[str, int]:
        """Frames sent, and what became of them."""
        return self._state.statistics()
