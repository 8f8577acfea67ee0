"""The rounds of the benches of tables, compiled: a batch's frames get new keys, then the batch runs, and is timed.

Python between two batches would leave the caches as no live loop finds them, and cost more than many a batch.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.syscalls import monotonic_ns
from emulator.ports.batch import TX_RING_BYTES, tx_ring_at
from emulator.ports.loop.program import call_program
from hostagent.cli.bench.hand_written import bare_forward

IP_AT, IP_END, SUM_AT = 14, 34, 24
"""An IPv4 header and its checksum in a frame."""


@njit
def _next(state: int) -> Any:
    """Knuth's generator (MMIX); its upper bits are random."""
    return state * 6364136223846793005 + 1442695040888963407


@njit
def _draw(state: int, count: int) -> Any:
    return ((state >> 33) & 0x7FFF_FFFF) % count


@njit
def _sum_ipv4(frame: Any) -> None:
    total = 0
    for at in range(IP_AT, IP_END, 2):
        if at != SUM_AT:
            total += frame[at] << 8 | frame[at + 1]
    total = (total & 0xFFFF) + (total >> 16)
    total = 0xFFFF - ((total & 0xFFFF) + (total >> 16))
    frame[SUM_AT], frame[SUM_AT + 1] = total >> 8, total & 0xFF


@njit
def draw_keys(frames: Any, offset: int, keys: Any, summed: bool, state: int) -> Any:
    """Give each frame (a row of bytes) any of the keys at that offset, and an IPv4 checksum if ``summed``; the
    generator's next state."""
    for index in range(frames.shape[0]):
        state = _next(state)
        key = keys[_draw(state, keys.shape[0])]
        for place in range(keys.shape[1]):
            frames[index, offset + place] = key[place]
        if summed:
            _sum_ipv4(frames[index])
    return state


@njit
def switch_rounds(
    program: int, context: int, batch: int, rings: int, ports: int,
    frames: Any, offset: int, keys: Any, summed: bool, times_ns: Any,
) -> None:  # fmt: skip
    """A round for each of the times, through a loaded program whose ``ports`` rings are emptied before it."""
    state = 1
    for number in range(times_ns.shape[0]):
        state = draw_keys(frames, offset, keys, summed, state)
        for ring in range(rings, rings + ports * TX_RING_BYTES, TX_RING_BYTES):
            tx_ring_at(ring).limit = tx_ring_at(ring).tail + frames.shape[0]
        start_ns = monotonic_ns()
        call_program(program, context, batch, 0)
        times_ns[number] = monotonic_ns() - start_ns


@njit
def limit_rounds(
    frames: Any, out: Any, counters: Any, length: int, lines: Any, touched: Any, offset: int, keys: Any, times_ns: Any
) -> Any:
    """The same through ``bare_forward``, each frame with one of the lines; how many frames it forwarded."""
    forwarded, state = 0, 1
    for number in range(times_ns.shape[0]):
        state = draw_keys(frames, offset, keys, False, state)
        for index in range(touched.shape[0]):
            state = _next(state)
            touched[index] = _draw(state, lines.shape[0])
        start_ns = monotonic_ns()
        forwarded += bare_forward(frames, out, counters, length, lines, touched)
        times_ns[number] = monotonic_ns() - start_ns
    return forwarded
