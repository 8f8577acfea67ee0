"""DDP beside RPC."""

from __future__ import annotations

from tests.labs.torch_jobs import run


def test_ddp_trains_in_the_threads_of_rpc(controller):
    assert all("trained" in output for output in run(2, controller, "ddp_in_rpc.py"))
