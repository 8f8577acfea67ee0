"""Which port of the aggregator a rank is to have."""

from __future__ import annotations

import os

from hostagent.transport.session.terms import SessionError

PORTS_VARIABLE = "NETSUM_PORTS"
"""``1,2,3``: ports' numbers by rank, where it matters which rank has which, as where they are of several racks."""


def wanted_port() -> int:
    """This rank's (torchrun's RANK) of NETSUM_PORTS; 0 where there is none. Raises SessionError."""
    told, rank = os.environ.get(PORTS_VARIABLE, ""), os.environ.get("RANK", "0")
    if not told:
        return 0
    numbers = told.split(",")
    if not all(number.isdecimal() and int(number) for number in numbers):
        raise SessionError(f"{PORTS_VARIABLE}={told!r}: write the port's number of each rank, as in 1,2,3")
    if not rank.isdecimal() or int(rank) >= len(numbers):
        raise SessionError(f"{PORTS_VARIABLE}={told!r} has {len(numbers)} ports, and none for rank {rank}")
    return int(numbers[int(rank)])
