"""Groups beside each other and one after the other; what they took is given back."""

from __future__ import annotations

import time

import pytest

from hostagent.launch.status import fetch_status
from tests.labs.torch_jobs import run


@pytest.mark.parametrize("debug", [pytest.param("OFF", marks=pytest.mark.slow), "DETAIL"])
def test_groups_do_not_disturb_each_other_and_give_their_slots_back(controller, monkeypatch, debug):
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", debug)
    outputs = run(3, controller, "groups.py")
    assert all("all groups done" in output for output in outputs)
    assert "OperationTimeoutError netsum: Ranks 1 failed to pass monitoredBarrier in 8000 ms" in outputs[0]
    assert "Rank 2 successfully reached monitoredBarrier" in outputs[2]
    end_s = time.monotonic() + 20
    status = fetch_status(controller)
    while status.jobs and time.monotonic() < end_s:
        time.sleep(0.1)
        status = fetch_status(controller)
    assert not status.jobs
    assert status.slots_free == status.slots
    assert not any(port.pid for port in status.ports)
