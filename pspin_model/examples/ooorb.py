"""Out-of-order ring buffer: segments of a byte stream come in any order; the buffer keeps what is missing in a list.

Each packet says which bytes it carries (two 32-bit words behind the headers, first and last). The payload handler takes
the context's lock, puts the range into the sorted list in cluster 0's scratchpad and moves the next expected byte on
over all ranges that now join. Words of the scratchpad: next expected byte, ranges kept, then pairs of first and last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pspin_model.handlers import charge, fail, handler, lock, packet, scratchpad, unlock, write_to_host

NEXT, COUNT, RANGES = 0, 1, 2
PLACES = 128
FULL = 1
"""Code of the handler's own error when the list is full."""


@handler(code_bytes=32)
def ooorb_hh(h: int) -> None:
    """Header handler: an empty list."""
    state = scratchpad(h, 0, np.uint32)
    state[NEXT] = 0
    state[COUNT] = 0
    charge(h, store=2, alu=2, register=1, jump=1)


@handler(code_bytes=192)
def ooorb_ph(h: int) -> None:
    """Payload handler: insert the packet's range and pop what joins."""
    words = packet(h, np.uint32)
    first, last = words[7], words[8]
    charge(h, load=2, register=2, alu=4)
    lock(h, 0)
    state = scratchpad(h, 0, np.uint32)
    count = np.int64(state[COUNT])
    if count == PLACES:
        unlock(h, 0)
        fail(h, FULL)
    place = count
    while place > 0 and state[RANGES + 2 * place - 2] > first:
        state[RANGES + 2 * place] = state[RANGES + 2 * place - 2]
        state[RANGES + 2 * place + 1] = state[RANGES + 2 * place - 1]
        place -= 1
    state[RANGES + 2 * place] = first
    state[RANGES + 2 * place + 1] = last
    moved = count - place
    count += 1
    done = 0
    while done < count and state[RANGES + 2 * done] <= state[NEXT]:
        if state[RANGES + 2 * done + 1] >= state[NEXT]:
            state[NEXT] = state[RANGES + 2 * done + 1] + 1
        done += 1
    for i in range(2 * (count - done)):
        state[RANGES + i] = state[RANGES + 2 * done + i]
    state[COUNT] = count - done
    charge(h, load=3 + 2 * moved + 2 * done, store=4 + 2 * moved, alu=6 + 2 * moved + 3 * done)
    charge(h, branch_taken=moved + done, branch=3)
    unlock(h, 0)
    charge(h, jump=1)


@handler(code_bytes=64)
def ooorb_th(h: int) -> None:
    """Completion handler: tell the host the next expected byte."""
    charge(h, load=1, register=2, alu=5)
    write_to_host(h, 0, np.int64(scratchpad(h, 0, np.uint32)[NEXT]))
    charge(h, alu=3, jump=1)


def fill(packets: NDArray[np.uint8]) -> None:
    """Consecutive ranges in the order of a fixed shuffle within windows of eight packets."""
    number = np.arange(len(packets))
    rng = np.random.default_rng(2)
    for start in range(0, len(number), 8):
        rng.shuffle(number[start : start + 8])
    length = packets.shape[1] - 36
    words = packets[:, 28:36].view(np.uint32)
    words[:, 0] = number * length
    words[:, 1] = (number + 1) * length - 1
