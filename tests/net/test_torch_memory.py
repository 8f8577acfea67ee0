"""What a rank costs: memory beyond torch and its tensors, and CPU time while nothing is asked of it."""

from __future__ import annotations

import json

from tests.labs.torch_jobs import run

MOST_BYTES = 64 << 20
MOST_IDLE_SHARE = 0.05
"""Of a core. A loop that polls instead of sleeping takes all of one."""


def test_a_rank_takes_little_memory_and_sleeps_when_idle(controller):
    for output in run(2, controller, "memory.py"):
        [said] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        assert 0 < said["used_bytes"] < MOST_BYTES
        assert said["idle_share"] < MOST_IDLE_SHARE
