"""Telling the user what a first run waits for."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numba.core import event


class Teller(event.Listener):
    """Says once that the machine or a handler is being compiled, which is kept. What was kept makes no event; what is
    never kept, as an operator of the user's, takes little."""

    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data.get("dispatcher")
        function = getattr(dispatcher, "py_func", None)
        kept = getattr(getattr(dispatcher, "_cache", None), "cache_path", None)
        if not self.told and kept and str(getattr(function, "__module__", "")).startswith("pspin_model."):
            self.told = True
            print("netsum: compiling the machine and its handlers, once for this version (half a minute or more)",
                  file=sys.stderr, flush=True)  # fmt: skip

    def on_end(self, event: Any) -> None:
        pass


@functools.cache
def tell_compiling() -> None:
    """From now on this process tells on stderr when it compiles what it keeps."""
    event.register("numba:compile", Teller())  # type: ignore[no-untyped-call]
