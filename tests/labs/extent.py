"""How much of what could be tried a test tries: a part by `make test`, all of it by `make test-all`."""

from __future__ import annotations

import os

IS_COMPLETE = os.environ.get("NETSUM_TESTS") == "all"


def tries(few: int, most: int) -> int:
    """How many seeds, examples, batches: ``few``, or ``most`` where all is tried."""
    return most if IS_COMPLETE else few
