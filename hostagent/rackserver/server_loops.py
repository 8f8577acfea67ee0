"""The loops of a rack server's process, from an object file."""

from __future__ import annotations

import inspect

from emulator.native.jit_cache import source_stamp
from emulator.native.loops_file import Entries, adopt_loops
from emulator.native.object_code import ObjectCodeError
from hostagent.rackserver import thread_pool
from hostagent.rackserver.core import SERVICE_ENTRIES
from hostagent.rackserver.frames.answers import answer
from hostagent.rackserver.frames.lanes import combine
from hostagent.rackserver.hierarchy.memory import TIER_ENTRIES
from hostagent.rackserver.process_batch import process


def adopt_server_loops() -> None:
    """From now on this process needs no numba to serve; where that cannot be, it loads numba as ever."""
    try:
        adopt_loops("server-loops", source_stamp(__file__), entries())
    except (OSError, ObjectCodeError):
        return


def entries() -> Entries:
    """What the live loop, the threads and Python call by name, and what is called by its address."""
    named = (process, thread_pool.follow, thread_pool.stop)
    addressed = (answer, combine, *SERVICE_ENTRIES.values(), *TIER_ENTRIES.values())
    return [(function, len(inspect.signature(function).parameters)) for function in (*named, *addressed)]
