"""netsum bench frames: a small run, and SimPy's model."""

from __future__ import annotations

import pytest

from emulator.network.topology.builders import star, tree
from hostagent.cli.bench.virtual_time.frames import measure
from hostagent.cli.bench.virtual_time.simpy_model import play
from hostagent.cli.parsing import UsageError
from hostagent.lab.aggregation_tree import aggregation_tree
from hostagent.protocol.wire import full_frame_bytes

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop


@pytest.mark.slow
def test_both_simulate_the_same_network() -> None:
    (row,) = measure(("tree=2x2",), 400_000).rows
    assert row.value > 0
    assert row.details["hops"] == 12 * (391 + 2)


def test_the_model_s_frames_leave_one_after_another() -> None:
    topology = tree((2, 2))
    outcome = play(topology, aggregation_tree(topology), 300, 256, 128)
    frame_ns = full_frame_bytes(256) * 8 // 10
    assert outcome.elapsed_ns == 299 * frame_ns + 4 * (frame_ns + 1_000)
    assert outcome.hops == 300 * 12


def test_the_model_s_window_limits() -> None:
    topology = star(2)
    outcome = play(topology, aggregation_tree(topology), 10, 256, 1)
    assert outcome.elapsed_ns == 10 * 2 * (full_frame_bytes(256) * 8 // 10 + 1_000)


def test_a_network_of_an_unknown_kind() -> None:
    with pytest.raises(UsageError, match="choose one of star"):
        measure(("circle=3",))
