"""The metrics of a controller, parsed as Prometheus does."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from emulator.rpc.metrics import registry_of
from hostagent.controller import metrics
from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.worker.latency import BUCKETS, floor_ns

ROOT = Path(__file__).resolve().parents[4]


def report() -> pb.ReportReply:
    values = [
        {
            "progress/operations": 9,
            "frames_sent": 100,
            "message/frames_sent": 5,
            "latency_ns/4096": 3,
            "latency_ns/5120": 4,
        },
        {"progress/operations": 7, "retransmissions_sent": 2, "in_flight_ns": 1_500_000_000, "latency_ns/81920": 1},
    ]
    members = [
        pb.MemberReport(rank=rank, counters=[pb.Counter(name=name, value=value) for name, value in each.items()])
        for rank, each in enumerate([*values, {}])
    ]
    accepted = pb.Counter(name="accepted", value=41)
    job = pb.JobReport(job=5, group="world", size=3, verdicts=[accepted], members=members)
    return pb.ReportReply(jobs=[job], drops=[pb.Counter(name="checksum", value=2)])


STATUS = pb.StatusReply(
    aggregator_ready=True,
    slots=512,
    slots_free=384,
    jobs=[pb.JobStatus(job=5, group="world", size=3, state="running", window=64, restarts=1)],
)


def samples(status: pb.StatusReply, found: pb.ReportReply) -> dict[tuple[str, ...], float]:
    text = generate_latest(registry_of(lambda: metrics.collect(status, found))).decode()
    families = text_string_to_metric_families(text)
    return {
        (s.name, *(s.labels[label] for label in sorted(s.labels))): s.value
        for family in families
        for s in family.samples
    }


def test_slots_jobs_and_ranks_are_there() -> None:
    found = samples(STATUS, report())
    name, job = metrics.PREFIX, ("world", "5")
    expected = {
        (f"{name}aggregator_ready",): 1,
        (f"{name}leased_slots",): 128,
        (f"{name}jobs", "running"): 1,
        (f"{name}jobs", "failed"): 0,
        (f"{name}dropped_frames_total", "checksum"): 2,
        (f"{name}job_restarts_total", *job): 1,
        (f"{name}job_frames_total", *job, "accepted"): 41,
        (f"{name}rank_operations_total", *job, "0"): 9,
        (f"{name}rank_lag_operations", *job, "1"): 2,
        (f"{name}rank_sent_frames_total", *job, "0"): 105,
        (f"{name}rank_retransmitted_frames_total", *job, "1"): 2,
        (f"{name}rank_in_flight_seconds_total", *job, "1"): 1.5,
        (f"{name}chunk_latency_seconds_bucket", *job, "4.096e-06"): 0,
        (f"{name}chunk_latency_seconds_bucket", *job, "8.192e-06"): 7,
        (f"{name}chunk_latency_seconds_bucket", *job, "+Inf"): 8,
    }
    assert expected.items() <= found.items()
    assert not any("2" in key[3:] and key[0].startswith(f"{name}rank") for key in found), "it has said nothing"


def test_an_aggregator_that_is_away_leaves_what_the_controller_knows() -> None:
    away = pb.StatusReply(aggregator_ready=False, jobs=STATUS.jobs)
    found = samples(away, pb.ReportReply())
    assert found[f"{metrics.PREFIX}aggregator_ready",] == 0
    assert not any(key[0].startswith(f"{metrics.PREFIX}rank") for key in found)


@pytest.mark.parametrize("least", [0, 3000, floor_ns(BUCKETS - 1)])
def test_bounds_of_the_histogram_are_bounds_of_the_ranks_buckets(least: int) -> None:
    floors = {floor_ns(bucket) for bucket in range(BUCKETS)}
    assert {metrics.FIRST_EDGE_NS << power for power in range(metrics.EDGES)} <= floors
    counts = [count for _, count in metrics.cumulative({least: 1, 1 << 20: 5})]
    assert all(one <= other for one, other in itertools.pairwise(counts))
    assert counts[-1] == 6


def test_the_readme_names_every_metric() -> None:
    text = (ROOT / "hostagent/controller/README.md").read_text()
    names = {key[0].removeprefix(metrics.PREFIX) for key in samples(STATUS, report())}
    names = {name.removesuffix("_bucket").removesuffix("_count") for name in names}
    assert {name for name in names if f"`{name}`" not in text} == set()
