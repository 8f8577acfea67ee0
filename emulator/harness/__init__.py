"""Packet tests: what people write to try a program, and what runs it.

What tests import is here: ``from emulator.harness import Meter, call``, and the fixtures' types for annotations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.harness.calls import call as call
    from emulator.harness.errors import ExpectationFailed as ExpectationFailed
    from emulator.harness.errors import WrongTest as WrongTest
    from emulator.harness.meters import Meter as Meter
    from emulator.harness.network import P4Network as P4Network
    from emulator.harness.switch import P4Switch as P4Switch

_PUBLIC = {
    "ExpectationFailed": "errors", "Meter": "meters", "P4Network": "network", "P4Switch": "switch",
    "WrongTest": "errors", "call": "calls",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: the plugin lies in this package, and every pytest run imports that."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
