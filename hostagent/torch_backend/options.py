"""What a user may choose for a process group: the precision of sums of floats, and where they are quantized."""

from __future__ import annotations

import os
from dataclasses import dataclass

from hostagent.torch_backend.errors import RefusedError

PRECISION_VARIABLE = "NETSUM_PRECISION"
BLOCK, EXACT = "block", "exact"
"""Block floating point, the default, and correctly rounded sums (PROTOCOL.md, sections 8.1 and 8.8)."""

QUANTIZER_VARIABLE = "NETSUM_QUANTIZER"
DEVICE, HOST = "device", "host"


@dataclass(frozen=True, slots=True)
class Options:
    """``pg_options`` of ``init_process_group("netsum")`` and ``new_group``; the same on every rank."""

    precision: str = ""
    """``block`` or ``exact``; empty: what the environment's NETSUM_PRECISION says, ``block`` where it says nothing."""
    quantizer: str = ""
    """Where large sums of floats on a GPU are quantized: ``device`` or ``host``; empty: what the environment's
    NETSUM_QUANTIZER says, ``device`` where it says nothing. ``host`` if only some ranks' tensors are on a GPU."""


def is_exact(options: Options) -> bool:
    """Whether sums of floats are exact. Raises RefusedError for a precision that does not exist."""
    return _chosen("precision", options.precision, PRECISION_VARIABLE, (BLOCK, EXACT)) == EXACT


def quantizes_on_device(options: Options) -> bool:
    """Whether GPUs quantize. Raises RefusedError for a place that does not exist."""
    return _chosen("quantizer", options.quantizer, QUANTIZER_VARIABLE, (DEVICE, HOST)) == DEVICE


def _chosen(option: str, value: str, variable: str, choices: tuple[str, str]) -> str:
    """The option's value, or the environment variable's, or the first of the choices."""
    chosen, source = value, f"the option {option}"
    if not chosen:
        chosen, source = os.environ.get(variable) or choices[0], variable
    if chosen not in choices:
        raise RefusedError(f"netsum: {source} is {chosen!r}, must be {' or '.join(choices)}")
    return chosen
