"""Training with the optimizer in a rack server, as processes, through the loss of a rank and of the server.

A short `make soak-rack`: one tenant, one killed rank, one killed server.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hostagent.launch.processes import Service, netsum_command
from tests.labs.torch_jobs import Rank, free_port, ranks

SCRIPT, STEPS = "rack_training.py", 300
OPTIONS = ("--hidden", "40", "--steps", str(STEPS))
PATIENCE_S = 200.0
WEIGHTS = re.compile(r"has weights ([0-9a-f]{8}) after step (\d+)")
LOSS = "loss=0.01&seed=3"


def line_with(rank: Rank, text: str) -> str:
    """The next line with that text; those before are left out."""
    for line in rank.output:
        if text in line:
            return line
    raise AssertionError(f"rank {rank.number} ended without {text!r}")


@contextmanager
def network(folder: Path) -> Iterator[tuple[Service, str]]:
    """A server with checkpoints, not watched by anybody, and its controller's address."""
    names = [f"{number}=shm:training-{os.getpid()}-{number}?{LOSS}" for number in (1, 2)]
    ports = [word for name in names for word in ("--port", name)]
    listen = f"127.0.0.1:{free_port()}"
    keep = ("--checkpoint", str(folder / "state"), "--checkpoint-every", "5", "--die-with-parent", "--quiet")
    words = netsum_command("server", *ports, "--lanes", "64", "--cores", "2", "--listen", listen, *keep)
    server = Service("rack server", folder / "server.log", lambda _: words)
    told = netsum_command("controller", *ports, "--aggregator", f"netsum://{listen}", "--die-with-parent")
    controller = Service("controller", folder / "controller.log", lambda _: told)
    try:
        for service in (server, controller):
            service.start()
            service.wait_ready()
        yield server, str(controller.ready["address"])
    finally:
        for service in (controller, server):
            service.stop()


def kill(process: subprocess.Popen[str] | subprocess.Popen[bytes] | None) -> None:
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_lost_rank_and_lost_server_are_named_and_weights_are_unchanged(tmp_path: Path) -> None:
    with network(tmp_path) as (server, address):
        options = (*OPTIONS, "--service", "mine:a-secret")
        with ranks(2, address, SCRIPT, *options, "--rejoins", "0") as started:
            line_with(started[0], " step 10 ")
            os.kill(started[1].pid, signal.SIGKILL)
            code, output = started[0].finish(PATIENCE_S)
        assert code != 0
        assert "service 'mine', push_pull(" in output
        assert "rank 1" in output
        with ranks(2, address, SCRIPT, *options, "--then", "calm:a-secret") as started:
            begun = {int(line_with(rank, "begins after step").split()[-1]) for rank in started}
            line_with(started[0], " loss ")
            kill(server.process)
            server.start()
            server.wait_ready()
            ends = [rank.finish(PATIENCE_S) for rank in started]
    assert len(begun) == 1
    assert min(begun) >= 10
    assert server.ready["checkpoint"]["steps"].keys() == {"mine"}
    assert all(code == 0 and "the rack server" in output and "joins again after" in output for code, output in ends)
    trained = [WEIGHTS.findall(output) for _, output in ends]
    assert [len(found) for found in trained] == [2, 2], "the disturbed training's, then a calm one's"
    assert {weights for found in trained for weights, _ in found} == {trained[0][0][0]}
