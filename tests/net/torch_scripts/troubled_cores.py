"""Aggregators (core:troubled_cores:CLASS) with a fault in their code, once."""

import os
import time
from pathlib import Path

from hostagent.cli.aggregators.reference_core import ReferenceCore

ONCE = Path(os.environ.get("TROUBLED_ONCE", "/nonexistent/once"))


class Raises(ReferenceCore):
    def process(self, batch, now_ns):
        if self.calls == 0 and not ONCE.exists():
            ONCE.touch()
            raise KeyError("the reason")
        return super().process(batch, now_ns)


class Hangs(ReferenceCore):
    def process(self, batch, now_ns):
        if self.calls == 0:
            end_s = time.monotonic() + 13
            while time.monotonic() < end_s:
                pass
        return super().process(batch, now_ns)
