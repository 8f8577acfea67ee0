"""Training with the optimizer in a rack server, as processes, through the loss of a rank and of the server."""

from __future__ import annotations

import os
import signal

from hostagent.torch_backend.aggregators import running_aggregator
from tests.net.torch_jobs import Rank, ranks

FOR_EVER = ("--steps", "1000000", "--rejoins", "0", "--service", "mine:a-secret")
SCRIPT = "rack_training.py"
PATIENCE_S = 200.0


def line_with(rank: Rank, text: str) -> str:
    """The next line with that text; those before are left out."""
    assert rank.process.stdout is not None
    for line in rank.process.stdout:
        if text in line:
            return line
    raise AssertionError(f"rank {rank.number} ended without {text!r}")


def test_a_lost_rank_and_a_lost_server_are_named_and_the_service_goes_on_after_its_last_whole_step() -> None:
    with running_aggregator(2, "server", lanes=64) as rack:
        with ranks(2, rack.address, SCRIPT, *FOR_EVER) as started:
            line_with(started[0], " step 10 ")
            os.kill(started[1].process.pid, signal.SIGKILL)
            code, output = started[0].finish(PATIENCE_S)
        assert code != 0
        assert "rank 1" in output
        server = rack.services[0].process
        assert server is not None
        with ranks(2, rack.address, SCRIPT, *FOR_EVER) as started:
            begun = [int(line_with(rank, "begins after step").split()[-1]) for rank in started]
            line_with(started[0], " loss ")
            server.kill()
            ends = [rank.finish(PATIENCE_S) for rank in started]
    assert begun[0] == begun[1] >= 10
    assert all(code != 0 and "the rack server" in output for code, output in ends), ends
