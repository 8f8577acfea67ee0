"""The options of a torch.optim parameter group as the server's hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hostagent.protocol.served import Hyperparameters, ServedFlag, ServedOptimizer
from hostagent.torch_backend.errors import RefusedError

NAMES = {"sgd": torch.optim.SGD, "nag": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for all groups."""

    nag: bool = False
    """Nesterov's momentum in Parameter Hub's order of operations."""
    divisor: int = 1
    rescale: float = 1.0
    max_norm: float = 0.0
    """Gradients are clipped to this norm over all keys; 0: they are not."""
    skip: bool = False
    """A step with a NaN or an infinity in any gradient is left out."""

    def __post_init__(self) -> None:
        """Raises RefusedError for numbers that would ruin weights."""
        if not math.isfinite(self.rescale):
            raise RefusedError(f"netsum's RackOptimizer: rescale={self.rescale}; it multiplies gradients: use a number")
        if math.isnan(self.max_norm) or self.max_norm < 0:
            raise RefusedError(f"netsum's RackOptimizer: max_norm={self.max_norm}; use a norm, or 0 not to clip")

    @property
    def split(self) -> bool:
        """Must all gradients be there before any weight can change?"""
        return bool(self.skip or self.max_norm)


def make_template(optim: Any, params: Any, options: Mapping[str, Any]) -> tuple[torch.optim.Optimizer, bool]:
    """The torch optimizer that is meant (which checks its options and never steps), and whether it is "nag"."""
    if isinstance(optim, torch.optim.Optimizer):
        if options:
            raise RefusedError(
                f"netsum's RackOptimizer: {', '.join(options)} passed with an optimizer that has options already"
            )
        _check_supported(type(optim))
        return optim, False
    made = NAMES.get(optim) if isinstance(optim, str) else optim
    if made is None:
        raise RefusedError(f"netsum's RackOptimizer: no optimizer {optim!r}; the server has {', '.join(NAMES)}")
    _check_supported(made)
    is_nag = optim == "nag"
    if is_nag:
        options = {"momentum": 0.9, **options, "nesterov": True}
    return made(params, **options), is_nag


def _check_supported(made: Any) -> None:
    if made not in NAMES.values():
        name = getattr(made, "__name__", repr(made))
        raise RefusedError(f"netsum's RackOptimizer: the server does not implement {name}; it has {', '.join(NAMES)}")


def hyperparameters(template: torch.optim.Optimizer, group: Mapping[str, Any], policy: Policy) -> Hyperparameters:
    """The hyperparameters of one group's step, from its current options."""
    flags = ServedFlag(0)
    for name, flag in (("maximize", ServedFlag.MAXIMIZE), ("amsgrad", ServedFlag.AMSGRAD)):
        flags |= flag if group.get(name) else ServedFlag(0)
    flags |= ServedFlag.SKIP if policy.skip else ServedFlag(0)
    flags |= ServedFlag.CLIP if policy.max_norm else ServedFlag(0)
    common: dict[str, Any] = {
        "divisor": policy.divisor,
        "lr": float(group["lr"]),
        "weight_decay": float(group["weight_decay"]),
        "rescale": policy.rescale,
        "max_norm": policy.max_norm,
    }
    if isinstance(template, torch.optim.SGD):
        kind = ServedOptimizer.NAG if policy.nag else ServedOptimizer.SGD
        if group["nesterov"] and not policy.nag:
            flags |= ServedFlag.NESTEROV
        momentum, dampening = float(group["momentum"]), float(group["dampening"])
        return Hyperparameters(kind, int(flags), beta1=momentum, beta2=dampening, **common)
    decoupled = isinstance(template, torch.optim.AdamW) or bool(group.get("decoupled_weight_decay"))
    kind = ServedOptimizer.ADAMW if decoupled else ServedOptimizer.ADAM
    beta1, beta2 = (float(beta) for beta in group["betas"])
    return Hyperparameters(kind, int(flags), beta1=beta1, beta2=beta2, eps=float(group["eps"]), **common)


def check_groups(template: torch.optim.Optimizer, groups: Sequence[Mapping[str, Any]]) -> None:
    """Refuse the parameter groups of another kind of optimizer, as a state_dict has them."""
    needed = {"lr", "weight_decay"} | ({"momentum"} if isinstance(template, torch.optim.SGD) else {"betas", "eps"})
    for number, group in enumerate(groups):
        lacking = sorted(needed - set(group))
        if lacking:
            raise RefusedError(
                f"netsum's RackOptimizer: the state is of another optimizer than {type(template).__name__}: its "
                f"parameter group {number} has no {', '.join(lacking)}"
            )


def moves_without_gradient(template: torch.optim.Optimizer, group: Mapping[str, Any]) -> bool:
    """Whether a gradient of zeros can change a weight."""
    return not isinstance(template, torch.optim.SGD) or bool(group["momentum"] or group["weight_decay"])


def state_names(template: torch.optim.Optimizer, group: Mapping[str, Any]) -> tuple[str, ...]:
    """torch's names of the state tensors, in the order of the server's buffers 1, 2, ..."""
    if isinstance(template, torch.optim.SGD):
        return ("momentum_buffer",) if group["momentum"] else ()
    return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
