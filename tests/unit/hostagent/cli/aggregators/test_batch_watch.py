"""A batch that takes long is reported once, with its location, and so is its end."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from hostagent.cli.aggregators.batch_watch import SECOND_NS, BatchWatch


def test_a_long_batch_is_told_once_and_its_end_as_well() -> None:
    told: list[str] = []
    runner = SimpleNamespace(batch_began_ns=0, batch_thread=threading.get_ident())
    watch = BatchWatch("core:m:C", runner, told.append)
    watch.look(5 * SECOND_NS)
    runner.batch_began_ns = 7 * SECOND_NS
    watch.look(16 * SECOND_NS)
    assert told == []
    watch.look(17 * SECOND_NS)
    watch.look(30 * SECOND_NS)
    [text] = told
    assert text.startswith("core:m:C: process() has not returned for 10 s")
    assert "batch_watch.py" in text  # the innermost line of this thread, which looks
    runner.batch_began_ns = 0
    watch.look(31 * SECOND_NS)
    assert told[1:] == ["core:m:C: process() has returned; sums go on"]
    watch.look(32 * SECOND_NS)
    assert len(told) == 2


def test_another_batch_after_a_long_one_begins_anew() -> None:
    told: list[str] = []
    runner = SimpleNamespace(batch_began_ns=1 * SECOND_NS, batch_thread=0)
    watch = BatchWatch("c", runner, told.append)
    watch.look(11 * SECOND_NS)
    runner.batch_began_ns = 12 * SECOND_NS
    watch.look(22 * SECOND_NS)
    assert [text.count("has not returned for 10 s") for text in told] == [1, 0, 1]
