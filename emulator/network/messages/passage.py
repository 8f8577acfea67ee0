"""How long a message takes over links that nobody else uses; compiled."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.network.schedule.columns import Columns, Kind

Array: TypeAlias = NDArray[Any]
COMPUTE, COLLECTIVE = int(Kind.COMPUTE), int(Kind.COLLECTIVE)


class Links(NamedTuple):
    """What loops read of the links: int64 [links]."""

    source: Array
    """Number of the node."""
    destination: Array
    alpha_ns: Array
    latency_ns: Array
    numerator: Array
    """s bytes occupy a link for ceil(s * numerator / denominator) ns, exactly."""
    denominator: Array


@njit(internal=True)
def bits_ns(size: int, link: int, links: Links) -> Any:
    return -(-size * links.numerator[link] // links.denominator[link])


@njit(internal=True)
def delay_ns(columns: Columns, task: int, links: Links, passed: Array) -> int:
    """Alpha and latency of the route; of a collective's tree: of the slowest way through it.

    ``passed`` [nodes]: zeros, and so again afterwards.
    """
    route, total = columns.route, 0
    if columns.kind[task] != COLLECTIVE:
        for hop in range(route.offsets[task], route.offsets[task + 1]):
            total += links.alpha_ns[route.values[hop]] + links.latency_ns[route.values[hop]]
        return total
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        link = route.values[hop]
        arrival = passed[links.source[link]] + links.alpha_ns[link] + links.latency_ns[link]
        passed[links.destination[link]] = max(passed[links.destination[link]], arrival)
        total = max(total, arrival)
    for hop in range(route.offsets[task], route.offsets[task + 1]):
        passed[links.destination[route.values[hop]]] = 0
    return total
