"""Elements of packets that are more than numbers: records, complex numbers, bfloat16."""

from __future__ import annotations

import numpy as np
import pytest

from pspin_model.handlers import HandlerError, charge_elements, handler, packet, scratchpad, tag
from pspin_model.machine import FLARE_COSTS, Machine

PAIR = np.dtype([("index", np.uint16), ("value", np.float32)])


@handler
def adds(h: int) -> None:
    """Add up the packet, as its tag says what it is."""
    total, what = scratchpad(h, 0, np.float32), tag(h)
    if what == 0:
        for pair in packet(h, PAIR):
            total[pair["index"]] += pair["value"]
            charge_elements(h, np.float32, 1)
    elif what == 1:
        numbers = packet(h, np.complex64)
        total.view(np.complex64)[: numbers.size] += numbers
        charge_elements(h, np.float32, 2 * numbers.size)
    elif what == 2:
        words = packet(h, np.uint16)
        total[: words.size] += (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
        charge_elements(h, np.uint16, words.size)


def unpriced(h):
    charge_elements(h, PAIR, 1)


def test_records_complex_numbers_and_bfloat16_are_added() -> None:
    pairs = np.array([(3, 1.5), (0, 2.0), (3, 1.0)], PAIR)
    floats = np.arange(4, dtype=np.float32)
    kinds = [pairs, np.array([1 + 2j, 3 - 1j], np.complex64), (floats.view(np.uint32) >> 16).astype(np.uint16)]
    machine = Machine(costs=FLARE_COSTS)
    context = machine.context("c", payload=adds, scratchpad_bytes=64)
    machine.inject(context, [0] * 3, [each.tobytes() for each in kinds], [0, 5000, 10000], tags=range(3))
    run = machine.run()
    assert run.faults == []
    want = np.array([2, 0, 0, 2.5], np.float32) + np.array([1, 2, 3, -1], np.float32) + floats
    assert context.scratchpads[0].view(np.float32)[:4].tolist() == want.tolist()
    assert (run.packets["end"] - run.packets["start"]).tolist() == [3 * 4, 4 * 4, 4]


def test_what_has_no_price_says_so() -> None:
    with pytest.raises(HandlerError, match=r"^unpriced \(test_types.py:\d+\): no price for elements of Record"):
        Machine().context("c", payload=handler(unpriced))
