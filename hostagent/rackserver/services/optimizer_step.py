"""One chunk's optimizer step, from one version to the other, and what follows when a step has become whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.atomics import atomic_add64, store_release64
from emulator.native.jit import njit
from emulator.native.memory import load_f32, load_f64, load_i32, load_i64, store_i64
from hostagent.protocol.served import ServedFlag
from hostagent.rackserver.hierarchy.training_lineage import note_age
from hostagent.rackserver.services.optimizers import (
    ADAM,
    AMSGRAD,
    NAG,
    adam,
    amsgrad,
    momentum,
    nag,
    prepare,
    sgd,
)
from hostagent.rackserver.services.records import (
    KEY,
    KEY_BYTES,
    SERVICE,
    SKIPS,
    STEPS,
    key_at,
    service_at,
)

assert KEY.fields is not None
assert SERVICE.fields is not None
PUSHED_CHUNKS, APPLIED_CHUNKS = KEY.fields["pushed_chunks"][1], KEY.fields["applied_chunks"][1]
PUSHED_KEYS, APPLIED_KEYS = SERVICE.fields["pushed_keys"][1], SERVICE.fields["applied_keys"][1]
STEP = SERVICE.fields["step"][1]
CLIP, SKIP = int(ServedFlag.CLIP), int(ServedFlag.SKIP)
LANE_BYTES = 4


@njit
def key_of(service: Any, number: int) -> Any:
    """Address of a key's record."""
    return service.keys + number * KEY_BYTES


@njit
def side_at(key: Any, index: int, step: int) -> Any:
    """Which version of a chunk is the newest that is not newer than a step."""
    first, second = load_i64(key.versions, index), load_i64(key.versions, key.chunks + index)
    if second <= step and (second > first or first > step):
        return 1
    return 0


@njit
def chunk_of(key: Any, buffer: int, side: int, index: int, lanes: int) -> Any:
    """Address of a chunk of a buffer's version."""
    return key.buffers[2 * buffer + side] + index * lanes * LANE_BYTES


@njit
def step_chunk(service_address: int, key_address: int, index: int, gradient: int, count: int) -> Any:
    """Run the optimizer on a chunk. Called through ``compiled_calls``; returns the version (0 or 1) that was written.

    ``gradient``: address of private memory, which is overwritten.
    """
    service, key = service_at(service_address), key_at(key_address)
    side, lanes = side_at(key, index, service.step), service.lanes
    other = 1 - side
    weights, new_weights = chunk_of(key, 0, side, index, lanes), chunk_of(key, 0, other, index, lanes)
    prepare(gradient, weights, count, key, np.float32(service.scale if service.split else 1.0))
    if key.optimizer >= ADAM:
        held = (
            chunk_of(key, 1, side, index, lanes),
            chunk_of(key, 2, side, index, lanes),
            chunk_of(key, 3, side, index, lanes),
        )
        new = (
            chunk_of(key, 1, other, index, lanes),
            chunk_of(key, 2, other, index, lanes),
            chunk_of(key, 3, other, index, lanes),
        )
        if key.flags & AMSGRAD:
            amsgrad(gradient, weights, new_weights, held, new, count, key)
        else:
            adam(gradient, weights, new_weights, held, new, count, key)
    elif key.optimizer == NAG:
        held_momentum, new_momentum = chunk_of(key, 1, side, index, lanes), chunk_of(key, 1, other, index, lanes)
        nag(gradient, weights, new_weights, held_momentum, new_momentum, count, key)
    else:
        if key.momentum != 0:
            held_momentum, new_momentum = chunk_of(key, 1, side, index, lanes), chunk_of(key, 1, other, index, lanes)
            momentum(gradient, held_momentum, new_momentum, count, key)
        sgd(gradient, weights, new_weights, count, key.lr)
    store_i64(key.versions, other * key.chunks + index, service.open_step)
    return other


@njit
def note_applied(service: Any, key_address: int) -> None:
    """A chunk has been stepped. The last of the last key makes the step whole."""
    key = key_at(key_address)
    if atomic_add64(key_address + APPLIED_CHUNKS, 1) + 1 >= key.chunks:
        note_key_applied(service)


@njit
def note_key_applied(service: Any) -> None:
    """A key has been stepped."""
    if atomic_add64(service.address + APPLIED_KEYS, 1) + 1 == service.keys_of_step:
        commit(service, 1)


@njit
def commit(service: Any, updates: int) -> None:
    """The open step is whole."""
    step = service.open_step
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        if key.pushed_step == step and updates:
            key.updates += updates
            key.stepped = step
        elif key.born == step:
            forget_state(key)
    service.open_step, service.revertible = -1, 1 if updates else 2
    service.not_finite += service.open_not_finite
    service.last_not_finite, service.open_not_finite = service.open_not_finite, 0
    note_age(service, service.age + 1)
    store_release64(service.address + STEP, step)


@njit
def forget_state(key: Any) -> None:
    """The step with which the state would have begun is skipped, or undone: the next one may begin it."""
    key.states, key.born = 0, -1


@njit
def step_back(service: Any) -> None:
    """Roll back the last completed step, which is possible once: the previous version becomes valid."""
    step = service.step
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        if key.stepped == step:
            key.updates -= 1
        if key.born == step:
            forget_state(key)
        for index in range(2 * key.chunks):
            if load_i64(key.versions, index) == step:
                store_i64(key.versions, index, -1)
        for index in range(key.chunks):
            if load_i64(key.pushes, index) == step:
                store_i64(key.pushes, index, -1)
        key.pushed_step = -1
    service.skipped -= 1 if service.revertible == 2 else 0
    service.not_finite -= service.last_not_finite
    service.revertible = 0
    store_release64(service.address + STEP, step - 1)


@njit
def note_pushed(service: Any, key_address: int) -> None:
    """A chunk's gradient has arrived, in a split step."""
    key = key_at(key_address)
    if atomic_add64(key_address + PUSHED_CHUNKS, 1) + 1 >= key.chunks:
        note_key_pushed(service)


@njit
def note_key_pushed(service: Any) -> None:
    """A key's gradient has arrived. The last one decides the step."""
    if atomic_add64(service.address + PUSHED_KEYS, 1) + 1 == service.keys_of_step:
        decide(service)


@njit
def decide(service: Any) -> None:
    """All gradients have arrived: decide whether the step is taken, and the scale of the gradients."""
    total, flags, max_norm = 0.0, 0, 0.0
    for place in range(service.keys_known):
        key = key_at(key_of(service, load_i32(service.listed, place)))
        if key.pushed_step != service.open_step:
            continue
        flags |= key.flags
        max_norm = key.max_norm
        for index in range(key.chunks):
            total += load_f64(key.squares, index)
    norm = np.sqrt(total)
    service.norm = norm
    service.scale = 1.0
    if flags & CLIP:
        share = max_norm / (norm + 1e-6)
        service.scale = 1.0 if share >= 1.0 else share  # a NaN stays one, as in torch's clip_grad_norm_
    service.release = 1
    if flags & SKIP and not np.isfinite(norm):
        service.skipped += 1
        service.decision = SKIPS
        commit(service, 0)
    else:
        service.decision = STEPS


@njit
def squares_of(gradient: int, count: int, rescale: Any) -> Any:
    """Sum of a chunk's squares in float64, in an order that depends only on ``count``."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        one += square(gradient, i, rescale)
        two += square(gradient, i + 1, rescale)
        three += square(gradient, i + 2, rescale)
        four += square(gradient, i + 3, rescale)
    for i in range(whole, count):
        one += square(gradient, i, rescale)
    return (one + two) + (three + four)


@njit
def square(gradient: int, index: int, rescale: Any) -> Any:
    """One element's."""
    value = np.float64(load_f32(gradient, index)) * rescale
    return value * value
