"""Aggregators by name: constructors of their cores.

A user's own core is named ``core:MODULE:CLASS``; it is constructed as ours are, with the keywords of `CoreOptions`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hostagent.protocol.services.aggregator import LANES, Aggregator, AggregatorRefused

if TYPE_CHECKING:
    from emulator.ports.batch import TxPortTable

OUR_CORES = {
    "pspin": ("pspin_model.aggregator", "PspinAggregator"),
    "server": ("hostagent.rackserver.core", "RackServer"),
}
"""Name -> module and class. Imported when chosen."""

DEFAULT_SLOTS = 512
"""As p4src/allreduce.p4 has."""


class UnknownCore(Exception):
    """There is no such core, or it can't be made; the text says what to write."""


@dataclass(frozen=True, slots=True)
class CoreOptions:
    """What every core is made from."""

    lanes: int
    slots: int
    ports: TxPortTable


def make_core(name: str, options: CoreOptions) -> Aggregator:
    """The core called so. Raises UnknownCore."""
    if options.lanes not in LANES:
        raise UnknownCore(f"--lanes {options.lanes}: choose one of {', '.join(map(str, LANES))}")
    if not 1 <= options.slots <= 1 << 16:
        raise UnknownCore(f"--slots {options.slots}: choose 1 to {1 << 16}")
    try:
        core = _class_of(name)(lanes=options.lanes, slots=options.slots, ports=options.ports)
    except AggregatorRefused as error:
        raise UnknownCore(f"{name}: {error}") from error
    if not isinstance(core, Aggregator):
        raise UnknownCore(f"{name} is not an aggregator: see hostagent.protocol.services.aggregator.Aggregator")
    return core


def place_of(name: str) -> tuple[str, str]:
    """Module and class, by name alone. Raises UnknownCore."""
    if name in OUR_CORES:
        return OUR_CORES[name]
    kind, _, rest = name.partition(":")
    module, _, attribute = rest.partition(":")
    if kind != "core" or not module or not attribute:
        raise UnknownCore(f"there is no aggregator {name!r}: choose {', '.join(OUR_CORES)} or core:MODULE:CLASS")
    return module, attribute


def _class_of(name: str) -> Callable[..., Aggregator]:
    module, attribute = place_of(name)
    if sys.flags.safe_path:  # as `netsum run` starts services; last, so that no file of the user's hides one of ours
        sys.path.append(os.getcwd())
    try:
        found: Callable[..., Aggregator] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownCore(f"cannot import {attribute} from {module}: {error}") from error
    return found
