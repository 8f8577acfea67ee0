"""The ports benchmark runs and leaves nothing behind; its figures are for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.cli.bench import ports
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]


@pytest.mark.slow
def test_a_short_benchmark(shm_folder: Path) -> None:
    rows = ports.measure(round_trips=50, frames=2000, udp_rounds=5).rows
    assert len(rows) == 4
    assert min(row.value for row in rows) > 0
    assert rows[-1].ratio == rows[-1].value / (rows[-1].baseline_value or 0)
    assert list(shm_folder.iterdir()) == []
