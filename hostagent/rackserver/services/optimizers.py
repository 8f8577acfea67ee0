"""Optimizer steps over a chunk: float32, in the order of operations, and with the roundings, of torch.optim.

torch's loops on a CPU fuse a multiplication with the addition behind it (``add`` with alpha, ``lerp``, ``addcmul``),
and so do these: on the same gradients the bits are the same. Only Adam's weights differ, by less than 1e-6 relative
over 1,000 steps: torch's vectorized square root may be off in the last place. NAG is Parameter Hub's order, each
operation by itself.

A step reads one version of weights and state and writes the other; all addresses are of the chunk's first element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import fused_multiply_add
from emulator.native.jit import njit
from emulator.native.memory import load_f32, store_f32
from hostagent.protocol.served import ServedFlag, ServedOptimizer

SGD, NAG = int(ServedOptimizer.SGD), int(ServedOptimizer.NAG)
ADAM, ADAMW = int(ServedOptimizer.ADAM), int(ServedOptimizer.ADAMW)
NESTEROV, MAXIMIZE = int(ServedFlag.NESTEROV), int(ServedFlag.MAXIMIZE)
AMSGRAD = int(ServedFlag.AMSGRAD)


@njit
def state_tensors(optimizer: int, flags: int, momentum: float) -> int:
    """How many state tensors a step needs."""
    if optimizer >= ADAM:
        return 3 if flags & AMSGRAD else 2
    return 1 if momentum != 0 or optimizer == NAG else 0


@njit
def prepare(gradient: int, weights: int, count: int, key: Any, scale: Any) -> None:
    """What all optimizers do to the gradient first: scale, rescale, sign, weight decay."""
    if scale != 1:
        for i in range(count):
            store_f32(gradient, i, load_f32(gradient, i) * scale)
    if key.rescale != 1:
        for i in range(count):
            store_f32(gradient, i, load_f32(gradient, i) * key.rescale)
    if key.flags & MAXIMIZE:
        for i in range(count):
            store_f32(gradient, i, -load_f32(gradient, i))
    if key.decay != 0 and key.optimizer in (SGD, ADAM):
        for i in range(count):
            store_f32(gradient, i, fused_multiply_add(load_f32(weights, i), key.decay, load_f32(gradient, i)))


@njit
def sgd(gradient: int, weights: int, new_weights: int, count: int, lr: Any) -> None:
    """The last line of SGD."""
    for i in range(count):
        store_f32(new_weights, i, fused_multiply_add(load_f32(gradient, i), -lr, load_f32(weights, i)))


@njit
def momentum(gradient: int, held: int, new: int, count: int, key: Any) -> None:
    """The momentum buffer; the gradient becomes the direction."""
    if key.first:
        for i in range(count):
            store_f32(new, i, load_f32(gradient, i))
    else:
        for i in range(count):
            kept = load_f32(held, i) * key.momentum
            store_f32(new, i, fused_multiply_add(load_f32(gradient, i), key.fresh, kept))
    if key.flags & NESTEROV:
        for i in range(count):
            store_f32(gradient, i, fused_multiply_add(load_f32(new, i), key.momentum, load_f32(gradient, i)))
    else:
        for i in range(count):
            store_f32(gradient, i, load_f32(new, i))


@njit
def nag(gradient: int, weights: int, new_weights: int, held: int, new: int, count: int, key: Any) -> None:
    """m *= mu; g += wd * w; m += g; g += mu * m; w -= lr * g."""
    lr, mu, decay = key.lr, key.momentum, key.decay
    for i in range(count):
        given = load_f32(gradient, i) + decay * load_f32(weights, i)
        kept = load_f32(held, i) * mu + given
        store_f32(new, i, kept)
        store_f32(new_weights, i, load_f32(weights, i) - lr * (given + mu * kept))


@njit
def first_moment(held: Any, given: Any, fresh: Any) -> Any:
    """torch's ``lerp``."""
    return fused_multiply_add(fresh, given - held, held)


@njit
def second_moment(held: Any, given: Any, beta2: Any, fresh2: Any) -> Any:
    """torch's ``mul`` and ``addcmul``."""
    return fused_multiply_add(fresh2 * given, given, held * beta2)


@njit
def divisor_of(square: Any, correction: Any, eps: Any) -> Any:
    """Divisor of the first moment in Adam's step."""
    return np.sqrt(square) / correction + eps


@njit
def adam(gradient: int, weights: int, new_weights: int, held: Any, new: Any, count: int, key: Any) -> None:
    """Adam's moments and step, and AdamW's behind its decay; ``held`` and ``new`` are addresses of the two moments."""
    fresh, fresh2, beta2, eps = key.fresh, key.fresh2, key.beta2, key.eps
    correction, step_size, keep = key.correction, key.step_size, key.keep
    for i in range(count):
        given = load_f32(gradient, i)
        mean = first_moment(load_f32(held[0], i), given, fresh)
        square = second_moment(load_f32(held[1], i), given, beta2, fresh2)
        store_f32(new[0], i, mean)
        store_f32(new[1], i, square)
        divisor = divisor_of(square, correction, eps)
        store_f32(new_weights, i, load_f32(weights, i) * keep + step_size * mean / divisor)


@njit
def amsgrad(gradient: int, weights: int, new_weights: int, held: Any, new: Any, count: int, key: Any) -> None:
    """As ``adam``, over the largest second moment so far."""
    fresh, fresh2, beta2, eps = key.fresh, key.fresh2, key.beta2, key.eps
    correction, step_size, keep = key.correction, key.step_size, key.keep
    for i in range(count):
        given = load_f32(gradient, i)
        mean = first_moment(load_f32(held[0], i), given, fresh)
        square = second_moment(load_f32(held[1], i), given, beta2, fresh2)
        largest = load_f32(held[2], i)
        largest = largest if largest > square or largest != largest else square
        store_f32(new[0], i, mean)
        store_f32(new[1], i, square)
        store_f32(new[2], i, largest)
        divisor = divisor_of(largest, correction, eps)
        store_f32(new_weights, i, load_f32(weights, i) * keep + step_size * mean / divisor)


@njit
def set_terms(key: Any, numbers: Any, updates: int, begins: Any) -> None:
    """A step's terms in the forms that the loops use.

    ``numbers`` are lr, beta1, beta2, eps, weight decay, rescale, max norm in float64, as torch holds them; ``updates``
    counts this step; ``begins``: the state begins with it.
    """
    lr, beta1, beta2, eps, decay, rescale, max_norm = numbers
    key.lr, key.momentum, key.eps = np.float32(lr), np.float32(beta1), np.float32(eps)
    key.decay, key.rescale, key.max_norm = np.float32(decay), np.float32(rescale), max_norm
    key.keep, key.first = np.float32(1), 1 if begins else 0
    if key.optimizer >= ADAM:
        key.fresh, key.fresh2, key.beta2 = np.float32(1 - beta1), np.float32(1 - beta2), np.float32(beta2)
        steps = np.float64(updates)
        key.step_size = np.float32(-(lr / (1 - beta1**steps)))
        key.correction = np.float32((1 - beta2**steps) ** 0.5)
        if key.optimizer == ADAMW:
            key.keep = np.float32(1 - lr * decay)
    else:
        key.fresh = np.float32(1 - beta2)
