"""Loops written by hand: what the benches compare P4 programs with."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import prefetch

LANE_WORD = 32
"""Lanes start 128 bytes into a cell (62 bytes of headroom, 66 of headers)."""
HEADER_AT = 62
AHEAD = 24
"""Frames between asking for a line and reading it: that takes longer than memory does."""


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
    line: what a look-up reads at least. As look-ups are, it is asked for ahead: so the waits overlap."""
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
