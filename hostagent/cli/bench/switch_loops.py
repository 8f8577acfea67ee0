"""Compiled loops of the benchmarks of switches: work written by hand, next to P4 programs, and rounds of batches.

Rounds are compiled because Python between two batches would leave the caches as no live loop finds them, and cost more
than many a batch.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import prefetch
from emulator.native.syscalls import monotonic_ns
from emulator.ports.batch import TX_RING_BYTES, tx_ring_at
from emulator.ports.loop.program import call_program

LANE_WORD = 32
"""Lanes start 128 bytes into a cell (62 bytes of headroom, 66 of headers)."""
HEADER_AT = 62
AHEAD = 24
"""Frames between the prefetch of a line and its use: more time than a read from memory takes."""
IP_AT, IP_END, SUM_AT = 14, 34, 24
"""An IPv4 header and its checksum in a frame."""


@njit
def _swap(word: Any) -> Any:
    return (word << 24) | ((word & 0xFF00) << 8) | ((word >> 8) & 0xFF00) | (word >> 24)


@njit
def _big(cell: Any, offset: int, size: int) -> int:
    value = 0
    for i in range(size):
        value = value << 8 | cell[HEADER_AT + offset + i]
    return value


@njit
def bare_batch(words: Any, cells: Any, out: Any, slots: Any, sums: Any, lanes: int, window: int, children: int) -> int:
    """One batch. ``slots`` rows are {chunk + 1, bitmap}; returns the number of result frames written to ``out``."""
    results = 0
    full = (1 << children) - 1
    for index in range(words.shape[0]):
        cell, word = cells[index], words[index]
        if _big(cell, 12, 2) != 0x0800 or cell[HEADER_AT + 23] != 17 or _big(cell, 36, 2) != 48864:
            continue
        child, chunk = _big(cell, 46, 2), _big(cell, 58, 4)
        place = (chunk & (window - 1)) * 2 + ((chunk // window) & 1)
        total = sums[place]
        if slots[place, 0] != chunk + 1:
            slots[place, 0], slots[place, 1] = chunk + 1, 1 << child
            for i in range(lanes):
                total[i] = _swap(word[LANE_WORD + i])
        elif slots[place, 1] & (1 << child):
            continue
        else:
            slots[place, 1] |= 1 << child
            for i in range(lanes):
                total[i] += _swap(word[LANE_WORD + i])
        if slots[place, 1] != full:
            continue
        for _ in range(children):
            target = out[results % out.shape[0]]
            for i in range(LANE_WORD):
                target[i] = word[i]
            for i in range(lanes):
                target[LANE_WORD + i] = _swap(total[i])
            results += 1
    return results


@njit
def bare_forward(frames: Any, out: Any, counters: Any, length: int, lines: Any, touched: Any) -> int:
    """One batch of IPv4 frames: parse, count, new destination MAC, TTL less one, out. ``frames`` and ``out`` are rows
    of bytes; returns how many were IPv4. For frame i one word is read of ``lines[touched[i]]``, a row for each cache
    line: what a lookup reads at least. Prefetched, as lookups are, so that the misses overlap."""
    forwarded = seen = 0
    first, line_bytes, count = lines.ctypes.data, lines.itemsize * lines.shape[1], frames.shape[0]
    for index in range(min(AHEAD, count)):
        prefetch(first + touched[index] * line_bytes)
    for index in range(count):
        prefetch(first + touched[min(index + AHEAD, count - 1)] * line_bytes)
        seen |= lines[touched[index], 0]
        frame, target = frames[index], out[forwarded]
        if frame[12] != 0x08 or frame[13] != 0x00 or frame[14] != 0x45 or frame[22] == 0:
            continue
        port = (frame[33] + seen) & 3
        for i in range(length):
            target[i] = frame[i]
        for i in range(6):
            target[i] = 2 + port
        target[22] = frame[22] - 1
        counters[port, 0] += 1
        counters[port, 1] += length
        forwarded += 1
    return forwarded


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
