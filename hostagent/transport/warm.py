"""Compiling the ranks' loops once per machine and version, not once per rank, and running them without the compiler.

What was compiled is kept as one object file, so that a rank loads no numba: that would take it a second of CPU. Ranks
that start together on an empty cache would each compile everything, side by side, and take minutes where one takes half
a minute. So the first to come takes a lock and compiles; the others wait for it and load what it left.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from emulator.ports.jit_cache import loops_folder, source_stamp
from emulator.ports.object_code import ObjectCode, ObjectCodeError, build

WAIT_S = 300.0
"""For another process that compiles; then this one goes on by itself, which is slow but right."""
LOOK_AGAIN_S = 0.1

_adopted = False


def ensure_warm(*, say: bool = True) -> bool:
    """Returns when this process has the ranks' loops; True if this call compiled them. ``say``: tell on stderr."""
    global _adopted
    if _adopted:
        return False
    file = loops_folder() / f"host-loops-{source_stamp(__file__)[:16]}.o"
    try:
        compiled = not file.exists() and _compile_once(file, say)
        _adopt(ObjectCode(file.read_bytes()))
    except (OSError, ObjectCodeError):
        return False  # no place to cache in, or another compiler than ours: each rank compiles for itself
    _adopted = True
    return compiled


def _compile_once(file: Path, say: bool) -> bool:
    """Make the file, or wait until another process has; True if this one did."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        if not _locked(lock, time.monotonic() + WAIT_S) or file.exists():
            return False
        if say:
            print("netsum: compiling its loops, once for this version (about half a minute)", file=sys.stderr)
        made = file.with_suffix(f".{os.getpid()}")
        made.write_bytes(build(all_entries()))
        made.rename(file)
        return True


def _adopt(code: ObjectCode) -> None:
    for function, arguments in all_entries():
        code.adopt(function, arguments)


def all_entries() -> list[tuple[Any, int]]:
    """What is called by its name, and the large loops that are called by their address (see ``entry_address``)."""
    from hostagent.protocol.worker.fill import fill_lanes
    from hostagent.protocol.worker.served_lanes import fill_served, store_served
    from hostagent.protocol.worker.store import store_lanes

    return [*entries(), *((loop, 5) for loop in (fill_lanes, store_lanes, fill_served, store_served))]


def entries() -> list[tuple[Any, int]]:
    """(function, number of int64 arguments), the largest first. A test compares this with what a rank really calls."""
    from emulator.ports import host, peer, shm
    from hostagent.protocol.worker import operations, restart
    from hostagent.transport import loop, loop_calls

    found: list[tuple[Callable[..., Any], int]] = [
        (loop.run_loop, 1),
        (restart.core_resume, 4),
        (host.host_posted, 1),
        (host.host_consumed, 1),
        (peer.ring_peer, 1),
        (peer.leave_peer, 1),
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
