"""The congestion window of a core whose queues mark: a lone rank, one aggregator, every result after a round trip."""

from __future__ import annotations

import numpy as np
import pytest

from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses, ipv4_header
from hostagent.protocol.operation import OperationKind, Span
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.wire import ECN_MARKED
from hostagent.protocol.worker import CoreSettings
from tests.labs.worker_core import WorkerCore, operation_of

LANES, WINDOW, ROUND_NS = 16, 64, 1_000_000


class Loop:
    """A core whose frames are answered a round trip later."""

    def __init__(self, share: int) -> None:
        child = ReferenceChild(0, 1, 1)
        job = ReferenceJob(1, WINDOW, (child,))
        self._aggregator = ReferenceAggregator(LANES, {1: job})
        addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
        self.core = WorkerCore(CoreSettings(1, 0, 1, 1, LANES, WINDOW, addresses, checksum=False, share=share))
        self._tensor = np.ones(LANES * 4096, np.int32)
        ends = Span(self._tensor.ctypes.data, 0, self._tensor.size)
        self.core.submit(operation_of(OperationKind.SUM, DType.INT32, self._tensor.size, ends, ends))
        self._now_ns = ROUND_NS
        self._flight = self.core.transmit(self._now_ns)

    def round(self, marked: int = 0) -> int:
        """A round trip, in which so many contributions are marked; the window after it."""
        self._now_ns += ROUND_NS
        following = []
        for number, sent in enumerate(self._flight):
            frame = _marked(sent) if number < marked else sent
            for _, answer in self._aggregator.receive(0, frame):
                self.core.receive(answer, self._now_ns)
            following += self.core.transmit(self._now_ns)
        self._flight = following
        return int(self.core.record["congestion_window"][0])


def _marked(frame: bytes) -> bytes:
    total, source, destination = (int.from_bytes(frame[a:b], "big") for a, b in ((16, 18), (26, 30), (30, 34)))
    return frame[:14] + ipv4_header(total, source, destination, ECN_MARKED) + frame[34:]


@pytest.mark.parametrize("share", [1, 2])
def test_marks_halve_the_window_once_a_round_trip_and_it_recovers(share: int) -> None:
    loop = Loop(share)
    windows = [loop.round() for _ in range(6)]
    assert windows[-1] == WINDOW, "slow start"
    loop.round(marked=3)
    after = loop.round()
    assert WINDOW // 2 <= after <= WINDOW // 2 + share**2, "halved once, though three were marked"
    assert loop.core.statistics()["marks_received"] == 3
    grown = [loop.round() for _ in range(8)]
    assert grown[-1] - grown[0] == pytest.approx(7 * share**2, abs=2 * share**2) or grown[-1] == WINDOW
    for _ in range(40):
        loop.round()
    assert loop.round() == WINDOW


def test_a_window_that_is_always_marked_stays_at_two() -> None:
    loop = Loop(1)
    assert [loop.round(marked=WINDOW) for _ in range(20)][-1] in (2, 3)
