"""The ports benchmark runs and leaves nothing behind; its figures are for people."""

from __future__ import annotations

from pathlib import Path

from emulator.ports.bench import format_bench, run_bench_ports
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]


def test_a_short_benchmark(shm_folder: Path) -> None:
    result = run_bench_ports(round_trips=50, frames=2000, udp_rounds=5)
    assert min(result.shm_round_trip_busy_ns, result.shm_frames_per_s, result.udp_frames_per_s) > 0
    assert len(format_bench(result).splitlines()) == 6
    assert list(shm_folder.iterdir()) == []
