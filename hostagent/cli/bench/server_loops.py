"""Compiled loops of the rack server's benchmark: workers that send and receive, a copying server, tall and wide."""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import atomic_add64, load_acquire64, pause
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u32, store_be32, store_i64, store_lane
from emulator.ports.batch import (
    TX_LIMIT,
    TX_MASK,
    TX_RING_BYTES,
    TX_TAIL,
    batch_append,
    batch_at,
    tx_append,
)
from emulator.ports.host import host_flush, host_post, host_receive, host_release
from emulator.ports.loop.program import call_program
from emulator.ports.port import port_flush, port_receive, port_refresh, port_release
from emulator.ports.state import OUT_PUBLISHED, WIRE_TX
from hostagent.protocol.quantizer.blocks import dequantize
from hostagent.protocol.wire import LANES_AT
from hostagent.protocol.worker.header import CHUNK_AT
from hostagent.rackserver.frames.lanes import add_lanes
from hostagent.rackserver.services.optimizers import adam
from hostagent.rackserver.services.records import key_at

PER_WORKER = 64
"""Frames of a worker in one batch, as the live loop takes them."""


@njit
def make_frames(first: int, stride: int, frames: int, template: int, length: int) -> None:
    """Contributions from a template, each with its own number and lanes."""
    for chunk in range(frames):
        frame = first + chunk * stride
        copy_bytes(frame, template, length)
        store_be32(frame + CHUNK_AT, chunk)
        for i in range((length - LANES_AT) // 4):
            store_lane(frame + LANES_AT, i, (chunk + i) & 0xFFFF)


@njit
def copy_batch(tx: int, batch: int) -> None:
    """What a server does that only reads each frame and writes one: the traffic of a sum without the sum."""
    for index in range(batch_at(batch).count):
        port = load_u32(batch_at(batch).ports + 4 * index)
        frame = load_i64(batch_at(batch).addresses + 8 * index)
        tx_append(tx + port * TX_RING_BYTES, frame, load_u32(batch_at(batch).lengths + 4 * index))


@njit
def play(
    program: int, context: int, records: int, workers: int, frames: int, stride: int, length: int, batch: int
) -> Any:
    """All workers send all their frames, a batch at a time, and take the answers; how many answers.

    ``records``: for each worker the addresses of its port, its host's end and its first frame. ``program`` 0: copy.
    """
    answers = 0
    for start in range(0, frames, PER_WORKER):
        end = min(start + PER_WORKER, frames)
        for worker in range(workers):
            host, pool = load_i64(records + 24 * worker + 8), load_i64(records + 24 * worker + 16)
            for chunk in range(start, end):
                host_post(host, pool + chunk * stride, length)
            host_flush(host)
        batch_at(batch).count = 0
        for worker in range(workers):
            port_refresh(load_i64(records + 24 * worker))
            port_receive(load_i64(records + 24 * worker), batch, PER_WORKER, 0)
        if program == 0:
            copy_batch(context, batch)
        else:
            call_program(program, context, batch, 0)
        for worker in range(workers):
            port_release(load_i64(records + 24 * worker))
            port_flush(load_i64(records + 24 * worker), 0)
        for worker in range(workers):
            host = load_i64(records + 24 * worker + 8)
            batch_at(batch).count = 0
            host_receive(host, batch, PER_WORKER)
            answers += batch_at(batch).count
            host_release(host)
    return answers


@njit
def play_ready(
    program: int, context: int, records: int, first: int, end: int, frames: int, stride: int, length: int, batch: int
) -> None:
    """The server's part of `play` alone, for workers ``first`` to ``end``: nobody sends, nobody takes the answers."""
    for start in range(0, frames, PER_WORKER):
        batch_at(batch).count = 0
        for worker in range(first, end):
            pool = load_i64(records + 24 * worker + 16)
            for chunk in range(start, min(start + PER_WORKER, frames)):
                batch_append(batch, pool + chunk * stride, length, worker)
        if program == 0:
            copy_batch(context, batch)
        else:
            call_program(program, context, batch, 0)
        for worker in range(first, end):
            ring = load_i64(load_i64(records + 24 * worker) + WIRE_TX)
            store_i64(ring + TX_LIMIT, load_i64(ring + TX_TAIL) + load_u32(ring + TX_MASK) + 1)
    for worker in range(first, end):  # back to what the port has published
        port = load_i64(records + 24 * worker)
        ring, published = load_i64(port + WIRE_TX), load_i64(port + OUT_PUBLISHED)
        store_i64(ring + TX_TAIL, published)
        store_i64(ring + TX_LIMIT, published + load_u32(ring + TX_MASK) + 1)


@njit
def step_by(lanes: int, buffers: int, gradient: int, answers: int, key_address: int, sizes: int) -> None:
    """Adam on a tensor in complete sums, as a server does it: dequantized, stepped, and answered to four workers.

    ``buffers``: addresses of weights and both moments, then of those that are written. ``sizes``: numbers of the
    tensor, of a chunk, and of what is stepped at once: a chunk, or a block of chunks when the last of them is there.
    """
    key, held, new = key_at(key_address), buffers, buffers + 24
    count, chunk, together = load_i64(sizes), load_i64(sizes + 8), load_i64(sizes + 16)
    for first in range(0, count, together):
        at = 4 * first
        for part in range(0, 4 * together, 4 * chunk):
            dequantize(lanes + at + part, gradient + part, chunk, 0, 2, 4)
        moments = (load_i64(held + 8) + at, load_i64(held + 16) + at, load_i64(held + 16) + at)
        new_moments = (load_i64(new + 8) + at, load_i64(new + 16) + at, load_i64(new + 16) + at)
        adam(gradient, load_i64(held) + at, load_i64(new) + at, moments, new_moments, together, key)
        for part in range(0, 4 * together, 4 * chunk):
            for worker in range(4):
                copy_bytes(answers + 4 * together * worker + part, load_i64(new) + at + part, 4 * chunk)


@njit
def sum_tall(target: int, sources: int, count: int, block: int, core: int, cores: int) -> None:
    """Each core adds whole blocks of all arrays; nobody waits for anybody. ``sources``: addresses, ``block`` lanes."""
    blocks = load_i64(sources + 8 * count)
    for index in range(core, blocks, cores):
        for source in range(count):
            add_lanes(target + 4 * index * block, load_i64(sources + 8 * source) + 4 * index * block, 0, block)


@njit
def sum_wide(target: int, sources: int, count: int, block: int, core: int, cores: int, barrier: int) -> None:
    """All cores join on each array of each block, and wait for each other behind it."""
    blocks = load_i64(sources + 8 * count)
    share = block // cores
    for index in range(blocks):
        for source in range(count):
            place = 4 * (index * block + core * share)
            add_lanes(target + place, load_i64(sources + 8 * source) + place, 0, share)
            turn = (atomic_add64(barrier, 1) // cores + 1) * cores
            while load_acquire64(barrier) < turn:
                pause()
