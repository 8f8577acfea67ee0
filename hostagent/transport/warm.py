"""Compiling the ranks' loops once per machine and version, not once per rank.

The loops are cached on disk, but ranks that start together on an empty cache would each compile all of them, side by
side, and take minutes where one takes half a minute. So the first to come takes a lock and compiles; the others wait
for it and load what it left. Afterwards a marker beside the loops makes all this one look at a file.
"""

from __future__ import annotations

import fcntl
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba

from emulator.ports.jit_cache import loops_folder, source_stamp

WAIT_S = 300.0
"""For another process that compiles; then this one goes on by itself, which is slow but right."""
LOOK_AGAIN_S = 0.1


def ensure_warm(*, say: bool = True) -> bool:
    """Returns when the ranks' loops are in the cache; True if this call compiled them. ``say``: tell on stderr."""
    folder = loops_folder()
    marker = folder / f"host-loops-{source_stamp(__file__)[:16]}"
    if marker.exists():
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with marker.with_suffix(".lock").open("w") as lock:
            if not _locked(lock, time.monotonic() + WAIT_S) or marker.exists():
                return False
            if say:
                print("netsum: compiling its loops, once for this version (about half a minute)", file=sys.stderr)
            compile_all()
            marker.touch()
            return True
    except OSError:
        return False  # no place to cache in: each rank compiles for itself


def compile_all() -> None:
    """Compile, or load, every function that a rank calls from Python; all take int64 only."""
    for function, arguments in entries():
        function.compile((numba.types.int64,) * arguments)
    from hostagent.protocol.quantizer.machine import entry_address
    from hostagent.protocol.worker.fill import fill_lanes
    from hostagent.protocol.worker.served_lanes import fill_served, store_served
    from hostagent.protocol.worker.store import store_lanes

    for loop in (fill_lanes, store_lanes, fill_served, store_served):
        entry_address(loop)


def entries() -> list[tuple[Any, int]]:
    """(function, number of arguments), the largest first. A test compares this with what a rank really calls."""
    from emulator.ports import shm
    from hostagent.protocol.worker import operations, restart
    from hostagent.transport import loop, loop_calls

    found: list[tuple[Callable[..., Any], int]] = [
        (loop.run_loop, 1),
        (restart.core_resume, 4),
        (operations.operation_hash, 6),
        (loop.announce, 1),
        (shm._load, 1),
        (shm._store, 2),
    ]
    for name, arguments in CALLS.items():
        found.append((getattr(loop_calls, name), arguments))
    return list(found)


CALLS = {
    "is_done": 2,
    "status_of": 2,
    "wait_done": 3,
    "publish_word": 2,
    "publish": 5,
    "wake": 3,
    "command": 5,
    "wait_command": 3,
}


def _locked(lock: Any, end_s: float) -> bool:
    """Take the lock, looking again until ``end_s``. The kernel gives it back however its holder ends."""
    while time.monotonic() < end_s:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(LOOK_AGAIN_S)
    return False
