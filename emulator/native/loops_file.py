"""Compiled loops kept as one object file for each machine and version, so that a process that runs them loads no numba:
that would take it a second of CPU.

Processes that start together on an empty cache would each compile everything, side by side, and take minutes where one
takes less than one. So the first to come takes a lock and compiles; the others wait for it and load what it left.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from emulator.native.jit_cache import loops_folder
from emulator.native.object_code import ObjectCode, build

WAIT_S = 300.0
"""Longest wait for another process that compiles; then this one goes on by itself, which is slow but right."""
LOOK_AGAIN_S = 0.1

Entries: TypeAlias = Sequence[tuple[Any, int]]
"""Deferred functions, each with its number of int64 arguments."""


def adopt_loops(name: str, stamp: str, entries: Entries, *, say: bool = True) -> bool:
    """Let Python's calls of these functions go to their object code; True if this call compiled it, which it tells the
    user before unless ``say`` is false. ``stamp``: of their sources. Raises OSError where there is no place to cache
    in, ObjectCodeError with another compiler than ours: numba then makes each function when it is called."""
    file = loops_folder() / f"{name}-{stamp[:16]}.o"
    compiled = not file.exists() and _compile_once(file, entries, say)
    code = ObjectCode(file.read_bytes())
    for function, arguments in entries:
        code.adopt(function, arguments)
    return compiled


def _compile_once(file: Path, entries: Entries, say: bool) -> bool:
    """Make the file, or wait until another process has; True if this one did."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        if not _locked(lock, time.monotonic() + WAIT_S) or file.exists():
            return False
        if say:
            print("netsum: compiling its loops, once for this version (up to a minute)", file=sys.stderr)
        made = file.with_suffix(f".{os.getpid()}")
        build(entries, made)
        made.rename(file)
        return True


def _locked(lock: Any, end_s: float) -> bool:
    """Take the lock, looking again until ``end_s``. The kernel gives it back however its holder ends."""
    while time.monotonic() < end_s:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(LOOK_AGAIN_S)
    return False
