"""Out-of-order ring buffer: segments of a byte stream come in any order; the buffer keeps what is missing in a list.

Each packet says which bytes of its message it carries (two 32-bit words behind the headers, first and last) and, in its
tag, how many the message has. Every message has a list in its home cluster's scratchpad, with a lock. The payload
handler takes the lock, puts the range into the sorted list and moves the next expected byte on over all ranges that now
join; the completion handler reports that byte to the host, and fails if it is not the message's end. Words of a list:
next expected byte, ranges kept, then pairs of first and last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pspin_model.handlers import (
    charge,
    fail,
    handler,
    helper,
    home_cluster,
    lock,
    message,
    packet,
    scratchpad,
    tag,
    unlock,
    write_to_host,
)

NEXT, COUNT, RANGES = 0, 1, 2
PLACES = 128
LIST_WORDS = RANGES + 2 * PLACES + 2
LISTS = 256
"""As many as message queues: of messages with one queue, one is handled at a time."""
FULL, INCOMPLETE = 1, 2
"""Codes of the handlers' own errors: the list is full; bytes are missing when the message is over."""
RANGE_BYTES = 36
"""Headers and a packet's range, before what it carries."""


@helper
def list_of(h: int) -> int:
    """Number of the message's list, and of its lock."""
    return int(message(h) % LISTS)


@helper
def kept(h: int) -> Any:
    """The message's list."""
    start = list_of(h) * LIST_WORDS
    return scratchpad(h, home_cluster(h), np.uint32)[start : start + LIST_WORDS]


@handler(code_bytes=32)
def ooorb_hh(h: int) -> None:
    """Header handler: an empty list."""
    state = kept(h)
    state[NEXT] = 0
    state[COUNT] = 0
    charge(h, store=2, alu=2, register=1, jump=1)


@handler(code_bytes=192)
def ooorb_ph(h: int) -> None:
    """Payload handler: insert the packet's range and pop what joins."""
    words = packet(h, np.uint32)
    first, last = words[7], words[8]
    charge(h, load=2, register=2, alu=4)
    lock(h, list_of(h))
    state = kept(h)
    count = np.int64(state[COUNT])
    if count == PLACES:
        unlock(h, list_of(h))
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
    unlock(h, list_of(h))
    charge(h, jump=1)


@handler(code_bytes=64)
def ooorb_th(h: int) -> None:
    """Completion handler: report the next expected byte to the host, which is the message's end."""
    charge(h, load=1, register=3, alu=5, branch=1)
    end = np.int64(kept(h)[NEXT])
    if end != tag(h):
        fail(h, INCOMPLETE)
    write_to_host(h, 8 * list_of(h), end)
    charge(h, alu=3, jump=1)


def message_bytes(packets: NDArray[np.uint8]) -> int:
    """What a message's packets carry together."""
    return int(len(packets) * (packets.shape[1] - RANGE_BYTES))


def fill(packets: NDArray[np.uint8]) -> None:
    """The ranges of a message's packets in the order of a fixed shuffle within windows of eight."""
    number = np.arange(len(packets))
    rng = np.random.default_rng(2)
    for start in range(0, len(number), 8):
        rng.shuffle(number[start : start + 8])
    length = packets.shape[1] - RANGE_BYTES
    words = packets[:, 28:RANGE_BYTES].view(np.uint32)
    words[:, 0] = number * length
    words[:, 1] = (number + 1) * length - 1
