"""The deepest queue of a port, which is empty again when anybody asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hostagent.cli.rack.process import QueueWatch


def test_the_deepest_queue_is_kept() -> None:
    ring = {"tail": 5, "limit": 8, "mask": 7}  # eight cells, of which five wait
    port: Any = SimpleNamespace(number=3, wire_ring=ring)
    watch = QueueWatch([port])
    watch.sample()
    ring["limit"] = 13
    watch.sample()
    watch.stop()
    assert watch.deepest == {3: 5}
