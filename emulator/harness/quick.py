"""The compiled switch for one packet at a time.

Machine code is called through ctypes: the compiled loops that live switches use want numba, whose first call in a
process takes seconds, which would be most of a small test run.
"""

from __future__ import annotations

import ctypes

from emulator.ports.batch import FrameBatch
from emulator.switch.core import Switch
from emulator.switch.engines import CompiledEngine, Engine
from emulator.v1model.compiled import CompiledProgram

PROCESS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 4, ctypes.c_int64, ctypes.c_int64)
"""See `Switch.program_address`."""


class QuickEngine(CompiledEngine):
    def process(self, batch: FrameBatch, now_ns: int) -> None:
        words = [int(batch.record[name][0]) for name in ("addresses", "lengths", "ports", "count")]
        PROCESS(self.program_address)(self.context_address, *words, now_ns)


class QuickSwitch(Switch):
    """A `Switch` that answers the first packet at once, and is slower than one with many."""

    def _make_engine(self, program: CompiledProgram) -> Engine:
        return QuickEngine(program, self.ports) if program.engine == "llvm" else super()._make_engine(program)
