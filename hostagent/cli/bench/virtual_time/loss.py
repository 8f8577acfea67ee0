"""``netsum bench loss``: an allreduce on links that lose frames, next to the same without loss. In virtual time.

Each condition (ranks, rate, delay, queue) is a job of its own; every loss rate and seed again. What is slower than
the bounds below, or sends more, says so in its row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from emulator.network.topology.builders import star
from emulator.network.topology.parts import LinkClass
from hostagent.cli.bench.collectives import size_text
from hostagent.cli.bench.runner import BenchError, Report, Row
from hostagent.lab.simulated_job import Call, SimulatedJob, SimulationFailed
from hostagent.protocol.wire import full_frame_bytes

WINDOW, LANES, CALLS = 128, 256, 4
SIZE_BYTES = 2 << 20
"""Of the tensor, in float32."""
RANKS = (2, 4, 8)
RATES_MBIT = (10, 100, 1_000, 10_000)
DELAYS_MS = (0, 5, 50)
QUEUES = (16, 128, 1024)
LOSSES = (0.001, 0.01, 0.05)
SEEDS = (1, 2)
TURN_BYTES = 4 * LANES * WINDOW
"""Payload of one window: of a larger tensor each slot carries several chunks, one after another."""
MOST_REPEATS = 3.0
"""Retransmissions for each frame lost."""
FRAME_BITS = 8 * full_frame_bytes(LANES)


@dataclass(frozen=True, slots=True)
class Path:
    """The links of every rank, each way."""

    rate_mbit: int
    delay_ms: int
    queue: int
    """Frames that wait for a link."""

    def __str__(self) -> str:
        rate = f"{self.rate_mbit} Mbit/s" if self.rate_mbit < 1000 else f"{self.rate_mbit // 1000} Gbit/s"
        return f"{rate}, {self.delay_ms} ms, queue {self.queue}"


def bound(loss: float) -> float:
    """The slowest call, in loss-free calls, that is asked for."""
    return 1.3 if loss <= 0.01 else 2.0


def job_on(ranks: int, path: Path, loss: float, seed: int) -> SimulatedJob:
    """Frames of 256 lanes and 128 slots on a star."""
    queue_bytes = path.queue * full_frame_bytes(LANES)
    link = LinkClass("host", path.rate_mbit * 10**6, latency_ns=path.delay_ms * 10**6, queue_bytes=queue_bytes)
    return SimulatedJob(star(ranks, host_link=link), lanes=LANES, window=WINDOW, loss=loss, seed=seed)


def play(
    ranks: int, path: Path, loss: float, seed: int, calls: int = CALLS, size_bytes: int = SIZE_BYTES
) -> list[Call]:
    """Allreduces of float32, one after another."""
    job = job_on(ranks, path, loss, seed)
    return [job.allreduce(size_bytes // 4) for _ in range(calls)]


def round_trip_ns(path: Path) -> float:
    """Of one frame on an idle path: its bits and the delay, up and down."""
    return 2 * (FRAME_BITS * 1e3 / path.rate_mbit + path.delay_ms * 1e6)


def late_round_trips(ranks: int, loss: float, chain: int) -> int:
    """Round trips that loss adds where the window of slots limits: the median of the slowest chain of chunks.

    A slot's chunks are a chain: each is sent when the result of the one before has come. So a call takes a round trip
    for each chunk of a chain, one more wherever one of a chunk's contributions is lost, one more wherever one of its
    results is, and again where the retransmission or the answer is; it ends with the slowest of WINDOW chains.
    """
    late, again = 1 - (1 - loss) ** ranks, 1 - (1 - loss) ** 2
    stage = [1 - late, *(late * again**more * (1 - again) for more in range(4)), late * again**4]
    chunk = np.convolve(stage, stage)
    sums = np.ones(1)
    for _ in range(chain):
        sums = np.convolve(sums, chunk)
    return int(np.searchsorted(np.cumsum(sums), 0.5 ** (1 / WINDOW)))


def slots_make(ranks: int, path: Path, loss: float, free_ns: float, size_bytes: int) -> float:
    """How many times a loss-free call the window of slots alone makes of a call, whenever losses are found.

    A chain has time left where all slots' frames take a link longer than a round trip; the rest of what losses add to
    the slowest chain is added to the call.
    """
    chain = max(1, size_bytes // TURN_BYTES)
    spare_ns = max(WINDOW * FRAME_BITS * 1e3 / path.rate_mbit - round_trip_ns(path), 0) * chain
    return 1 + max(late_round_trips(ranks, loss, chain) * round_trip_ns(path) - spare_ns, 0) / free_ns


def rows_of(ranks: int, path: Path, size_bytes: int = SIZE_BYTES) -> Iterator[Row]:
    """One row for each loss rate. Each call is compared with the loss-free one of its number: the first has to find
    out what the path carries."""
    free = play(ranks, path, 0.0, 1, size_bytes=size_bytes)
    free_ns = sum(call.elapsed_ns for call in free[1:]) / len(free[1:])
    for loss in LOSSES:
        runs = [play(ranks, path, loss, seed, size_bytes=size_bytes) for seed in SEEDS]
        calls = [call for run in runs for call in run]
        worst = max(call.elapsed_ns / alone.elapsed_ns for run in runs for call, alone in zip(run, free, strict=True))
        lost = sum(call.lost + call.dropped for call in calls)
        repeats = sum(call.retransmissions for call in calls) / max(lost, 1)
        missed = [
            text
            for text, is_missed in (
                (f"more than {bound(loss)}x", worst > bound(loss)),
                (f"more than {MOST_REPEATS:.0f} repeats", repeats > MOST_REPEATS),
            )
            if is_missed
        ]
        note = f"worst call {worst:.2f}x; {repeats:.1f} retransmissions per lost frame"
        least = slots_make(ranks, path, loss, free_ns, size_bytes)
        if least > 1:
            note += f"; limited by the slots, which alone make {least:.2f}x of it"
        yield Row(
            f"n = {ranks}, {path}, {100 * loss:g} % loss",
            sum(call.elapsed_ns for call in calls) / len(calls) / 1e6,
            "ms",
            "no loss",
            free_ns / 1e6,
            "; ".join([note, *missed]),
            {
                "worst": worst,
                "least": least,
                "bound": bound(loss),
                "retransmissions_per_lost": repeats,
                "lost": lost,
                "missed": missed,
            },
        )


def measure(ranks: tuple[int, ...] = RANKS, size_bytes: int = SIZE_BYTES) -> Report:
    """All conditions. Raises BenchError where a sum is wrong or a call does not end."""
    paths = [Path(rate, delay, queue) for rate in RATES_MBIT for delay in DELAYS_MS for queue in QUEUES]
    try:
        rows = [row for count in ranks for path in paths for row in rows_of(count, path, size_bytes)]
    except SimulationFailed as error:
        raise BenchError(str(error)) from error
    missed = [row.details for row in rows if row.details["missed"]]
    limited = sum(details["least"] > details["bound"] for details in missed)
    remark = (
        f"{len(rows) - len(missed)} of {len(rows)} rows are within 1.3x (5 % loss: 2x) and 3 retransmissions a lost"
        f" frame; of the others {limited} cannot be, as the slots alone take longer"
    )
    links = f"{WINDOW} slots, {LANES} lanes, on links that lose frames"
    title = f"allreduce of {size_text(size_bytes)} in virtual time, {links}"
    return Report("loss", title, rows, seed=SEEDS[0], remarks=[remark])
