"""Weights and optimizer state that another rack's server sends; the old ones stay valid until all have arrived.

They are written into the versions that a step would write, marked TRANSFERRED, which are not read, and which a new job
discards. When the last has arrived all become valid at once.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import store_release64
from emulator.native.jit import njit
from emulator.native.memory import load_i32, load_i64, store_i64, zero_bytes
from hostagent.rackserver.hierarchy.training_lineage import has_same_root
from hostagent.rackserver.services.optimizer_step import STEP, key_of
from hostagent.rackserver.services.records import TRANSFERRED, key_at


@njit
def can_receive(service: Any, key: Any, keys: int, elements: int) -> Any:
    """Whether this server holds complete state of the same model; ``key``: the first that is transferred."""
    is_whole = service.incomplete == 0 and service.age > 0 and key.written != 0
    return is_whole and has_same_root(service) and service.keys_known == keys and key.elements == elements


@njit
def mark_transferred(key: Any, side: int, part: int) -> None:
    """The weights of a chunk have arrived."""
    store_i64(key.versions, side * key.chunks + part, TRANSFERRED)


@njit
def discard_transfer(service: Any) -> None:
    """Discard what has arrived of an incomplete transfer."""
    service.receives = 0
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        for index in range(2 * key.chunks):
            if load_i64(key.versions, index) == TRANSFERRED:
                store_i64(key.versions, index, -1)


@njit
def commit_transfer(service: Any, step: int) -> None:
    """The transfer is complete: its weights and state are those of this step."""
    service.receives = 0
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        for index in range(key.chunks):
            side = 1 if load_i64(key.versions, key.chunks + index) == TRANSFERRED else 0
            store_i64(key.versions, side * key.chunks + index, step)
            store_i64(key.versions, (1 - side) * key.chunks + index, -1)
            store_i64(key.pushes, index, -1)
        for buffer in range(2 * (1 + key.next_states), 2 * (1 + key.states)):
            zero_bytes(key.buffers[buffer], key.chunks * service.lanes * 4)
        key.updates, key.states = key.next_updates, key.next_states
        key.pushed_step, key.stepped, key.born = -1, 0, -1
    store_release64(service.address + STEP, step)
