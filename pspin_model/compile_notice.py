"""A notice on stderr when a first run has to compile the machine or its handlers."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numba.core import event


class CompileNotice(event.Listener):
    """Printed once, when code is compiled that is then kept on disk. Code that was kept causes no event; code that is
    never kept, such as a user's operator, compiles quickly."""

    def __init__(self) -> None:
        self.printed = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data.get("dispatcher")
        function = getattr(dispatcher, "py_func", None)
        kept = getattr(getattr(dispatcher, "_cache", None), "cache_path", None)
        if not self.printed and kept and str(getattr(function, "__module__", "")).startswith("pspin_model."):
            self.printed = True
            print("netsum: compiling the machine and its handlers, once for this version (half a minute or more)",
                  file=sys.stderr, flush=True)  # fmt: skip

    def on_end(self, event: Any) -> None:
        pass


@functools.cache
def print_compile_notice() -> None:
    """From now on this process prints the notice when it compiles."""
    event.register("numba:compile", CompileNotice())  # type: ignore[no-untyped-call]
