"""Compiled loops of the forwarding benchmark: a sender, a receiver, a host that does both, and the limit."""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import load_acquire64, pause
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, store_i64, store_u32
from emulator.native.syscalls import monotonic_ns, ppoll, sendmmsg
from emulator.ports.batch import batch_at
from emulator.ports.cable.bell import bell_cancel, bell_prepare, bell_sleep
from emulator.ports.host import SPIN_NS, SPINS_PER_CLOCK
from emulator.ports.interface.packet_socket import packet_has_input, packet_receive, packet_release
from emulator.ports.sockets.mmsg import MESSAGE_BYTES, MESSAGES, MSG_DONTWAIT, set_frame, transmit

NAP_NS = 50_000
"""Sleep of a receiver without input: it shares its core with the sender, and its ring holds thousands of frames."""

START_TIMEOUT_NS = 30_000_000_000
"""Time-out of a receiver until the first frame."""

STALLED_NS = 500_000_000
"""A window that makes no progress for this long has lost a frame."""


@njit
def send_frames(descriptor: int, messages: int, count: int, work_ns: int) -> int:
    """Send ``count`` prepared messages (a multiple of MESSAGES) again and again for ``work_ns``; how many left."""
    sent = 0
    end_ns = monotonic_ns() + work_ns
    while monotonic_ns() < end_ns:
        for first in range(0, count, MESSAGES):
            sent += max(0, sendmmsg(descriptor, messages + first * MESSAGE_BYTES, MESSAGES, MSG_DONTWAIT))
    return sent


@njit
def count_frames(port: int, batch: int, quiet_ns: int, results: int) -> None:
    """Receive until nothing more has come for ``quiet_ns``; ``results``: {frames, time of the first, of the last}."""
    frames = 0
    first_ns = last_ns = monotonic_ns()
    while True:
        batch_at(batch).count = 0
        taken = packet_receive(port, batch, MESSAGES)
        packet_release(port)
        now_ns = monotonic_ns()
        if taken > 0:
            first_ns = now_ns if frames == 0 else first_ns
            last_ns = now_ns
            frames += taken
        elif now_ns - last_ns > (quiet_ns if frames > 0 else START_TIMEOUT_NS):
            break
        else:
            ppoll(0, 0, NAP_NS)
    store_i64(results, frames)
    store_i64(results + 8, first_ns)
    store_i64(results + 16, last_ns)


@njit
def _pass_on(port: int, out: int, batch: int) -> Any:
    """Send what has come in at one port out at another, straight from the kernel's slots; how many frames."""
    frames = batch_at(batch)
    frames.count = 0
    packet_receive(port, batch, MESSAGES)
    count = frames.count
    addresses, lengths = frames.addresses, frames.lengths
    for index in range(count):
        set_frame(out, index, load_i64(addresses + 8 * index), load_u32(lengths + 4 * index))
    if count > 0:
        transmit(out, count)
        packet_release(port)
    return count


@njit
def limit_loop(left: int, right: int, left_out: int, right_out: int, batch: int, sleeper: int, stop: int) -> int:
    """The upper bound for a switch: receive and send, and nothing else. Returns the number of frames."""
    passed = 0
    while load_acquire64(stop) == 0:
        moved = _pass_on(left, left_out, batch) + _pass_on(right, right_out, batch)
        passed += moved
        if moved > 0:
            continue
        start_ns = monotonic_ns()
        has_input = False
        while not has_input and monotonic_ns() - start_ns < SPIN_NS:
            for _ in range(SPINS_PER_CLOCK):
                pause()
                has_input = has_input or packet_has_input(left) or packet_has_input(right)
        if has_input:
            continue
        sequence = bell_prepare(sleeper)
        if packet_has_input(left) or packet_has_input(right) or load_acquire64(stop) != 0:
            bell_cancel(sleeper)
        else:
            bell_sleep(sleeper, sequence, -1)
    return passed


@njit
def _swap32(value: int) -> int:
    return (value & 0xFF) << 24 | (value & 0xFF00) << 8 | (value >> 8) & 0xFF00 | value >> 24


@njit
def _contribute(port: int, frames: int, stride: int, length: int, chunk_at: int, first: int, count: int) -> None:
    """Send one child's contributions to ``count`` chunks from ``first`` on."""
    for index in range(count):
        frame = frames + index * stride
        store_u32(frame + chunk_at, _swap32((first + index) & 0xFFFFFFFF))
        set_frame(port, index, frame, length)
    transmit(port, count)


@njit
def exchange(
    left: int, right: int, batch: int, frames: int, stride: int, length: int, chunk_at: int, window: int, work_ns: int,
    results: int,
) -> int:  # fmt: skip
    """Two children in one process: contributions for chunk after chunk, at most ``window`` without an answer.

    Each gets an answer for each chunk. {chunks answered, time of the first sending, of the last answer} go to
    ``results``. Returns 0, or 1 where answers stayed away.
    """
    sent = left_done = right_done = 0
    start_ns = last_ns = monotonic_ns()
    end_ns = start_ns + work_ns
    while last_ns < end_ns or min(left_done, right_done) < sent:
        now_ns = monotonic_ns()
        if now_ns < end_ns and sent - min(left_done, right_done) <= window - MESSAGES:
            _contribute(left, frames, stride, length, chunk_at, sent, MESSAGES)
            _contribute(right, frames + MESSAGES * stride, stride, length, chunk_at, sent, MESSAGES)
            sent += MESSAGES
        batch_at(batch).count = 0
        from_left = packet_receive(left, batch, MESSAGES)
        packet_release(left)
        from_right = packet_receive(right, batch, MESSAGES)
        packet_release(right)
        left_done += from_left
        right_done += from_right
        if from_left + from_right > 0:
            last_ns = now_ns
        elif (now_ns >= end_ns and sent == min(left_done, right_done)) or now_ns - last_ns > STALLED_NS:
            break
        else:
            pause()
    store_i64(results, min(left_done, right_done))
    store_i64(results + 8, start_ns)
    store_i64(results + 16, last_ns)
    return sent != left_done or sent != right_done
