"""Probes: who measures whom in which round, what counts of the samples, and a probe of a simulated cloud."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.network.messages.simulate import Sharing, simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.columns import Kind, Ragged
from emulator.network.schedule.parts import Chunks
from hostagent.planner.placement.cloud import Cloud
from hostagent.planner.placement.costs import Costs, Matrix
from hostagent.planner.placement.network import Pairs, infer_network

PROBE_BYTES = 8
"""Of a message that measures latency."""
CROSSING = 16
"""Messages that measure a shared link are longer by this factor: when each begins to cross it counts less."""
REPEATS = 20
PERCENTILE = 10
"""Of a pair's samples: delays by other traffic only make samples longer, and the shortest one may be luck."""
SPIKE_SHARE, SPIKE = 0.02, 10.0
"""Of simulated samples: the share that is longer by this factor, as of a host that was not scheduled."""


def tournament(ranks: int) -> list[Pairs]:
    """Rounds in which no rank has two partners, and together every pair once: n - 1 rounds of n / 2 pairs, or n rounds
    with one rank idle in each where n is odd (the circle method, Kirkman 1847)."""
    players = [*range(ranks), *([-1] if ranks % 2 else [])]
    half, rounds = len(players) // 2, []
    for _ in range(len(players) - 1):
        both = zip(players[:half], reversed(players[half:]), strict=True)
        rounds.append([(min(pair), max(pair)) for pair in both if -1 not in pair])
        players = [players[0], players[-1], *players[1:-1]]
    return rounds


def costs_of(names: Sequence[str], small_ns: Matrix, large_ns: Matrix | None, large_bytes: int) -> Costs:
    """From round trips [hosts, hosts] of small and large messages, NaN where there are none, in either half.

    Raises PlacementError for a pair without a probe.
    """
    small, large = (_both_ways(each) for each in (small_ns, small_ns if large_ns is None else large_ns))
    byte_ns = np.maximum(large - small, 0) / 2 / max(1, large_bytes - PROBE_BYTES)
    return Costs(tuple(names), np.maximum(small / 2 - PROBE_BYTES * byte_ns, 0), byte_ns)


def _both_ways(matrix: Matrix) -> Matrix:
    found = np.where(np.isnan(matrix), matrix.T, matrix)
    np.fill_diagonal(found, 0.0)
    return found


def robust(samples_ns: NDArray[np.float64]) -> Any:
    """What counts of the round trips [..., repeats] of a pair."""
    return np.percentile(samples_ns, PERCENTILE, axis=-1)


def probe_cloud(
    cloud: Cloud,
    seed: int = 1,
    jitter: float = 0.2,
    large_bytes: int = 0,
    repeats: int = REPEATS,
    done: Callable[[str, int, int], object] = lambda text, count, total: None,
) -> Costs:
    """Round trips in virtual time, the pairs of a round at once, ``repeats`` times each.

    A sample is longer than the round trip by an exponential share with mean ``jitter``, and some by `SPIKE`.
    ``large_bytes``: of messages that measure the time of a byte, and the rates of what pairs share; 0: only latencies
    are measured. ``done``: is told what is done, how often it has been, and will have been in the end.
    """
    random = np.random.default_rng(seed)

    def probed(pairs: Pairs, there_bytes: int, back_bytes: int) -> NDArray[np.float64]:
        samples = [(random.exponential(jitter, repeats), random.random(repeats)) for _ in pairs]
        delays, luck = np.array(samples).swapaxes(0, 1)
        stretched = _round_trips_ns(cloud, pairs, there_bytes, back_bytes)[:, None] * (1 + delays)
        return robust(stretched * np.where(luck < SPIKE_SHARE, SPIKE, 1.0))  # type: ignore[no-any-return]

    def measure(size_bytes: int) -> Matrix:
        found = np.full((len(cloud.places),) * 2, np.nan)
        rounds = tournament(len(cloud.places))
        for number, pairs in enumerate(rounds):
            found[tuple(np.array(pairs).T)] = probed(pairs, size_bytes, size_bytes)
            done(f"rounds of {size_bytes:,} bytes", number, len(rounds))
        return found

    if not large_bytes:
        return costs_of(cloud.places, measure(PROBE_BYTES), None, 0)
    costs = costs_of(cloud.places, measure(PROBE_BYTES), measure(large_bytes), large_bytes)

    def crossing(pairs: Pairs) -> list[float]:
        size_bytes = CROSSING * large_bytes
        begin_ns = min(costs.latency_ns[pair] for pair in pairs)
        both = zip(pairs, probed(pairs, size_bytes, PROBE_BYTES), strict=True)
        return [(round_trip_ns - costs.latency_ns[pair] - begin_ns) / size_bytes for pair, round_trip_ns in both]

    return replace(costs, network=infer_network(costs, crossing))


def _round_trips_ns(cloud: Cloud, pairs: Pairs, there_bytes: int, back_bytes: int) -> NDArray[np.int64]:
    source, destination = np.array(pairs).T
    count, everybody = len(pairs), tuple(range(len(cloud.places)))
    chunks = [Chunks(count, size_bytes, everybody, ()) for size_bytes in (there_bytes, back_bytes)]
    builder, number = Builder("probe", cloud.topology, chunks, cloud.places), np.arange(count, dtype=np.int32)
    builder.messages(Kind.SEND, source, destination, number, routes=cloud.routes(source, destination))
    pings, back = Ragged.equal(number[:, None]), cloud.routes(destination, source)
    builder.messages(Kind.SEND, destination, source, count + number, routes=back, after=pings)
    return simulate(builder.build(), Sharing.FAIR).finish_ns[count:]
