"""The deepest queue of a port, which is empty again when anybody asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hostagent.cli.rack.process import QueueWatch


def test_the_deepest_queue_is_kept() -> None:
    port: Any = SimpleNamespace(number=3, queued_out=5)
    watch = QueueWatch([port])
    watch.sample()
    port.queued_out = 0
    watch.sample()
    watch.stop()
    assert watch.deepest == {3: 5}
