"""A controller's figures for Prometheus (``netsum controller --metrics``): aggregator, slots, jobs and their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.rpc.metrics import Families, Metrics
from hostagent.controller.core.lifecycle import JobState
from hostagent.protocol.counters import latency_buckets

PREFIX = "netsum_controller_"
FIRST_EDGE_NS, EDGES = 1 << 12, 25
"""Upper bounds of the histogram: 4 us, doubled up to 69 s. Each is the floor of a bucket of the ranks' histograms, so
that no count has to be divided."""


def collect(status: Any, report: Any) -> Families:
    """Families of one scrape. ``status``: a StatusReply; ``report``: a ReportReply, empty where the aggregator does not
    answer."""
    metrics = Metrics(PREFIX)
    metrics.gauge("aggregator_ready", "Whether the aggregator accepts jobs (1).", int(status.aggregator_ready))
    metrics.gauge("slots", "Slots of the aggregator.", status.slots)
    metrics.gauge("leased_slots", "Slots that jobs have.", status.slots - status.slots_free)
    states = [job.state for job in status.jobs]
    for state in JobState:
        metrics.gauge("jobs", "Jobs by state.", states.count(state.value), state=state.value)
    for counter in report.drops:
        metrics.counter("dropped_frames", "Frames that reached no set, by reason.", counter.value, reason=counter.name)
    reports = {job.job: job for job in report.jobs}
    for job in status.jobs:
        labels = {"job": job.job, "group": job.group}
        metrics.gauge("job_ranks", "Ranks of a job.", job.size, **labels)
        metrics.gauge("job_window_slots", "Slots of a job's window.", job.window, **labels)
        metrics.counter("job_restarts", "Resumptions after a restart of the aggregator.", job.restarts, **labels)
        if job.job in reports:
            _job(metrics, reports[job.job], labels)
    return metrics.families()


def _job(metrics: Metrics, job: Any, labels: Mapping[str, object]) -> None:
    for counter in job.verdicts:
        metrics.counter(
            "job_frames", "A job's frames by what became of them.", counter.value, **labels, verdict=counter.name
        )
    members = {m.rank: {c.name: c.value for c in m.counters} for m in job.members if m.counters}
    foremost = max((counters.get("progress/operations", 0) for counters in members.values()), default=0)
    histogram: dict[int, int] = {}
    for rank, counters in members.items():
        of_rank = {**labels, "rank": rank}
        operations = counters.get("progress/operations", 0)
        metrics.counter("rank_operations", "Operations that a rank has called.", operations, **of_rank)
        metrics.gauge("rank_lag_operations", "Operations behind the foremost rank.", foremost - operations, **of_rank)
        for name, says in (("frames", "Frames that a rank sent."), ("bytes", "Their bytes.")):
            sent = counters.get(f"{name}_sent", 0) + counters.get(f"message/{name}_sent", 0)
            metrics.counter(f"rank_sent_{name}", says, sent, **of_rank)
        again = counters.get("retransmissions_sent", 0) + counters.get("message/retransmissions_sent", 0)
        metrics.counter("rank_retransmitted_frames", "Of these, retransmissions.", again, **of_rank)
        busy_s = counters.get("in_flight_ns", 0) / 1e9
        metrics.counter("rank_in_flight_seconds", "Time with an operation in flight.", busy_s, **of_rank)
        for floor_ns, count in latency_buckets(counters):
            histogram[floor_ns] = histogram.get(floor_ns, 0) + count
    if histogram:
        says = "Time from a chunk's first frame to its result, over all ranks."
        metrics.histogram("chunk_latency_seconds", says, cumulative(histogram), **labels)


def cumulative(histogram: Mapping[int, int]) -> list[tuple[str, int]]:
    """Chunks below each upper bound in seconds, from counts by the least latency of a bucket in nanoseconds."""
    edges_ns = [FIRST_EDGE_NS << power for power in range(EDGES)]
    below = [(f"{edge / 1e9:.9g}", sum(n for floor, n in histogram.items() if floor < edge)) for edge in edges_ns]
    return [*below, ("+Inf", sum(histogram.values()))]
