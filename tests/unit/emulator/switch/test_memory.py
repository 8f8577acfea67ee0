"""What a program leaves behind when another replaces it."""

from __future__ import annotations

import gc
import weakref

from tests.labs.p4runtime_device import Bench


def test_a_replaced_program_leaves_its_memory_at_once() -> None:
    """Tables are large and few, so the garbage collector would see no reason to come for them."""
    bench = Bench("llvm")
    try:
        gc.disable()
        tables = [weakref.ref(table) for table in bench.switch.tables()]
        bench.set_pipeline("VERIFY_AND_COMMIT")
        assert tables
        assert [table() for table in tables] == [None] * len(tables)
    finally:
        gc.enable()
        bench.close()
