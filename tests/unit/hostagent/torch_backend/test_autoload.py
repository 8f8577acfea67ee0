"""What `import torch` runs: the backend's name, another backend's in its place, monitored barriers for it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

SHOW = "from torch.distributed.distributed_c10d import Backend, BackendConfig as C; print({})"


def printed(expression: str, replaced: str = "") -> str:
    """What a fresh Python prints for an expression over torch's ``Backend`` and its config C."""
    environment = {**os.environ, "NETSUM_REPLACE_BACKEND": replaced}
    line = [sys.executable, "-c", SHOW.format(expression)]
    return subprocess.run(line, env=environment, check=True, capture_output=True, text=True, timeout=100).stdout.strip()


def test_a_replaced_backend_is_netsum_however_it_is_asked_for() -> None:
    asked = ("C(Backend('gloo'))", "C(Backend('undefined'))", "C(Backend('cpu:gloo'))")
    maps = [f"{each}.get_device_backend_map()['cpu']" for each in asked]
    assert printed(", ".join(maps), "GLOO") == "netsum netsum netsum"


def test_other_backends_stay_what_they_are() -> None:
    assert printed("Backend('gloo'), Backend('netsum'), Backend('nccl')") == "gloo netsum nccl"
    assert printed("Backend('nccl'), Backend('mpi')", "gloo") == "nccl mpi"


def test_a_rank_of_a_run_writes_whole_lines_and_at_once() -> None:
    """Each write to a socket of packets is a packet; the process is killed, so nothing is written at its end."""
    script = "import torch, os, sys; print('ab', 1); print('cd', file=sys.stderr); os.kill(os.getpid(), 9)"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            environment = {**os.environ, "NETSUM_REPORT_FAILURES": "1"}
            line = [sys.executable, "-u", "-c", script]
            subprocess.run(line, env=environment, stdout=theirs.fileno(), stderr=theirs.fileno(), timeout=100)
        assert list(iter(lambda: ours.recv(100), b"")) == [b"ab 1\n", b"cd\n"]
