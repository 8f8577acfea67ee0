"""A key's memory in its service's arena, and the cores that its blocks are assigned to.

Memory comes from the arena and is zero. Only the home core of the service's job gives and takes it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import atomic_add64, load_once64
from emulator.native.jit import njit
from emulator.native.memory import load_i32, load_i64, load_u8, store_i32, store_i64, store_u8, zero_bytes
from hostagent.protocol.worker.plan import group_count, group_size
from hostagent.rackserver.records import BLOCK_BYTES
from hostagent.rackserver.services.optimizer_step import key_of
from hostagent.rackserver.services.records import BUFFERS_AT, MAX_BUFFERS, key_at, service_at

LIMIT, TAKEN = 0, 8
"""Offsets of the two numbers that all services share."""


@njit
def take_memory(service: Any, size_bytes: int) -> Any:
    """Zeroed memory of the arena, on a cache line; 0 when the tenant's is used up, or that of all services."""
    size = (size_bytes + 63) & ~63
    service.wanted += size
    if size > service.arena_bytes - service.arena_used:
        return 0
    if atomic_add64(service.common + TAKEN, size) + size > load_once64(service.common + LIMIT):
        atomic_add64(service.common + TAKEN, -size)
        return 0
    address = service.arena + service.arena_used
    service.arena_used += size
    return address


@njit
def shrink(service: Any, used: int) -> None:
    """Free what was last taken from the arena, back to ``used`` bytes."""
    atomic_add64(service.common + TAKEN, used - service.arena_used)
    service.arena_used = used


@njit
def provide(service: Any, key: Any, states: int) -> Any:
    """Allocate both versions of the weights and of ``states`` state tensors. False if memory does not suffice; the
    bytes that would be needed have then been added to ``wanted``."""
    size, fits = key.chunks * service.lanes * 4, True
    for buffer in range(states + 1):
        for side in range(2):
            place = key.address_of_buffers + 8 * (2 * buffer + side)
            if load_i64(place, 0) == 0:
                address = take_memory(service, size)
                fits = fits and (address != 0 or size == 0)
                store_i64(place, 0, address)
    if fits:
        key.states = max(key.states, states)
    return fits


@njit
def make_key(service: Any, key: Any, number: int, elements: int) -> Any:
    """A key that the service does not have yet; False when there is no room for it."""
    chunks = (elements + service.lanes - 1) // service.lanes
    key.number, key.elements, key.chunks = number, elements, chunks
    key.group = group_size(service.lanes, service.window)
    key.groups = group_count(chunks, key.group)
    key.block_log2 = block_log2(service)
    key.states, key.updates, key.written, key.pushed_step, key.born = 0, 0, 0, -1, -1
    for place in range(2 * MAX_BUFFERS):
        store_i64(key.address_of_buffers, place, 0)
    blocks = (chunks + (1 << key.block_log2) - 1) >> key.block_log2
    key.versions, key.owners = take_memory(service, 16 * chunks + 1), take_memory(service, blocks + 1)
    key.exponents, key.squares = take_memory(service, 8 * chunks + 1), take_memory(service, 8 * chunks + 1)
    key.pushes, key.gradient = take_memory(service, 8 * chunks + 1), 0
    fits = key.versions != 0 and key.owners != 0 and key.exponents != 0 and key.squares != 0 and key.pushes != 0
    if not provide(service, key, 0) or not fits:
        return False
    for place in range(2 * chunks):
        store_i64(key.versions, place, -1)
    for place in range(chunks):
        store_i64(key.pushes, place, -1)
    deal_blocks(service, key, blocks)
    if key.listed == 0:
        store_i32(service.listed, service.keys_known, number)
        service.keys_known += 1
        key.listed = 1
    return True


@njit
def put_key(service_address: int, number: int, elements: int, states: int) -> Any:
    """Room for a key and its state, from outside a batch; False when there is none, or the key has another size."""
    service = service_at(service_address)
    key = key_at(key_of(service, number))
    key.address_of_buffers = key_of(service, number) + BUFFERS_AT
    if key.written == 0:
        if not make_key(service, key, number, elements):
            return False
    elif key.elements != elements:
        return False
    return provide(service, key, max(key.states, states))


@njit
def give_back(service: Any, key: Any, used: int) -> None:
    """What an operation has taken of the arena that then found no room. Nothing has been written there."""
    shrink(service, used)
    for place in range(2 * MAX_BUFFERS):
        if load_i64(key.address_of_buffers, place) >= service.arena + used:
            store_i64(key.address_of_buffers, place, 0)


@njit
def forget_keys(service: Any) -> None:
    """Return the service to its initial state."""
    service.incomplete = 1
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        for block in range((key.chunks + (1 << key.block_log2) - 1) >> key.block_log2):
            count_block(service, key, block, -1)
        key.written, key.listed, key.stepped = 0, 0, 0
    service.keys_known = 0
    zero_bytes(service.arena, service.arena_used)
    shrink(service, 0)


@njit
def block_log2(service: Any) -> int:
    """See ``rackserver.records.block_log2_of``."""
    fits = max(1, min(BLOCK_BYTES // (4 * service.lanes), service.window // 2))
    result = 0
    while 2 << result <= fits:
        result += 1
    return result


@njit
def deal_blocks(service: Any, key: Any, blocks: int) -> None:
    """Assign each block to the core that owns the fewest bytes so far: loads differ by a block at most."""
    for block in range(blocks):
        least = 0
        for core in range(1, service.cores):
            if load_i64(service.loads, core) < load_i64(service.loads, least):
                least = core
        store_u8(key.owners, block, least)
        count_block(service, key, block, 1)


@njit
def count_block(service: Any, key: Any, block: int, sign: int) -> None:
    """A block's bytes, to what its core owns, or from it."""
    block_bytes, core = (4 * service.lanes) << key.block_log2, load_u8(key.owners, block)
    size = min(block_bytes, 4 * key.elements - block * block_bytes)
    store_i64(service.loads, core, load_i64(service.loads, core) + sign * size)
