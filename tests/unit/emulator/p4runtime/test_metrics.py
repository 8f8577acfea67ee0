"""The metrics of a switch, from its statistics, parsed as Prometheus does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from emulator.p4runtime import metrics
from emulator.ports.port import PortStatistics
from emulator.rpc.metrics import registry_of

ROOT = Path(__file__).resolve().parents[4]


def statistics(program: str | None = "allreduce.p4") -> dict[str, Any]:
    port = PortStatistics(10, 1000, 20, 2000, drops={"ring_full": 3}, bells_rung=4, queued_out=5)
    return {
        "device_id": 7,
        "program": program,
        "engine": "llvm",
        "ports": {"1": {"spec": "1=shm:a", **asdict(port)}},
        "drops": {"egress_spec_511": 6},
        "faults": {"header_stack": 1},
        "loop": {"turns": 100, "frames": 10, "sleeps": 9, "no_program": 0},
    }


def samples(found: dict[str, Any]) -> dict[tuple[str, ...], float]:
    text = generate_latest(registry_of(lambda: metrics.collect(found))).decode()
    families = text_string_to_metric_families(text)
    return {
        (s.name, *(s.labels[label] for label in sorted(s.labels))): s.value
        for family in families
        for s in family.samples
    }


def test_every_counter_of_a_port_and_the_program_is_there() -> None:
    assert samples(statistics()) == {
        ("netsum_switch_info", "7", "llvm", "allreduce.p4"): 1,
        ("netsum_switch_port_received_frames_total", "1"): 10,
        ("netsum_switch_port_received_bytes_total", "1"): 1000,
        ("netsum_switch_port_sent_frames_total", "1"): 20,
        ("netsum_switch_port_sent_bytes_total", "1"): 2000,
        ("netsum_switch_port_wakeups_total", "1"): 4,
        ("netsum_switch_port_queued_frames", "1"): 5,
        ("netsum_switch_port_dropped_frames_total", "1", "ring_full"): 3,
        ("netsum_switch_dropped_packets_total", "egress_spec_511"): 6,
        ("netsum_switch_faults_total", "header_stack"): 1,
        ("netsum_switch_loop_turns_total",): 100,
        ("netsum_switch_loop_frames_total",): 10,
        ("netsum_switch_loop_sleeps_total",): 9,
    }


def test_a_switch_without_a_program_has_metrics_too() -> None:
    assert ("netsum_switch_info", "7", "llvm", "") in samples(statistics(None))


def test_the_readme_names_every_metric() -> None:
    text = (ROOT / "emulator/p4runtime/README.md").read_text()
    names = {key[0].removeprefix(metrics.PREFIX) for key in samples(statistics())}
    names = {name.removesuffix("_bucket").removesuffix("_count") for name in names}
    assert {name for name in names if f"`{name}`" not in text} == set()
