"""The loops of worker and message cores for labs that call them from Python, as one object file: made once for all
processes, in a third of the time that numba takes, which would compile them in every process of pytest on a cold cache.
"""

from __future__ import annotations

import functools
from contextlib import suppress

from emulator.native.jit_cache import source_stamp
from emulator.native.loops_file import Entries, adopt_loops
from emulator.native.object_code import ObjectCodeError
from hostagent.protocol import messages, worker
from hostagent.transport.warm import ensure_warm


@functools.cache
def adopt_core_loops() -> None:
    """From now on calls of the cores' functions run the object file's code, and what these call by address is the
    code of live ranks. Where there is no place to cache in, numba compiles them."""
    ensure_warm(say=False)
    with suppress(OSError, ObjectCodeError):
        adopt_loops("lab-loops", source_stamp(__file__), entries(), say=False)


def entries() -> Entries:
    """What takes and returns one integer each; the functions that return two numba compiles."""
    return [
        (worker.core_poll_transmit, 5),
        (worker.core_receive, 4),
        (worker.core_submit, 2),
        (worker.core_next_timer, 1),
        (worker.core_freeze, 1),
        (worker.core_fail, 2),
        (worker.core_lowest_unfinished, 1),
        (messages.message_poll_transmit, 5),
        (messages.message_receive, 4),
        (messages.message_submit, 2),
        (messages.message_next_timer, 1),
        (messages.message_freeze, 1),
        (messages.message_resume, 3),
        (messages.message_fail, 2),
        (messages.message_peer_left, 3),
    ]
