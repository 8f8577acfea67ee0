"""What a user may choose for a process group: the precision of sums of floats."""

from __future__ import annotations

import os
from dataclasses import dataclass

from hostagent.torch_backend.errors import RefusedError

PRECISION_VARIABLE = "NETSUM_PRECISION"
BLOCK, EXACT = "block", "exact"
"""Block floating point, the default, and correctly rounded sums (PROTOCOL.md, sections 8.1 and 8.8)."""


@dataclass(frozen=True, slots=True)
class Options:
    """``pg_options`` of ``init_process_group("netsum")`` and ``new_group``; the same on every rank."""

    precision: str = ""
    """``block`` or ``exact``; empty: what the environment's NETSUM_PRECISION says, ``block`` where it says nothing."""


def is_exact(options: Options) -> bool:
    """Whether sums of floats are exact. Raises RefusedError for a precision that does not exist."""
    chosen, source = options.precision, "the option precision"
    if not chosen:
        chosen, source = os.environ.get(PRECISION_VARIABLE) or BLOCK, PRECISION_VARIABLE
    if chosen not in (BLOCK, EXACT):
        raise RefusedError(f"netsum: {source} is {chosen!r}, must be {BLOCK} or {EXACT}")
    return chosen == EXACT
