"""Removes shared memory that dead processes have left behind, and nothing else.

The proof of death is a lock that can be had (``shm_files``): a pid could have been reused by another process, or
live in another container. A file that is not recognisably ours, or somebody else's, is left alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from emulator.ports.cable import shm_files
from emulator.ports.cable.bell import BELL_PREFIX, LOCK_OWNER, fifo_path
from emulator.ports.cable.shared_folder import shared_folder
from emulator.ports.cable.shm import LOCK_GATE, LOCK_HOST, LOCK_SWITCH, PORT_PREFIX
from emulator.ports.errors import PortError

FIFO_SUFFIX = fifo_path(Path("/x")).name.removeprefix("x")


def clean_stale(folder: Path | None = None) -> list[Path]:
    """Remove the ports and bells whose processes are all gone; returns what was removed."""
    folder = folder or shared_folder()
    removed = [path for path in sorted(folder.glob(f"{PORT_PREFIX}*")) if _remove_port(path)]
    bells = sorted(folder.glob(f"{BELL_PREFIX}*"))
    removed += [path for path in bells if path.suffix != FIFO_SUFFIX and _remove(path, (LOCK_OWNER,))]
    # a FIFO is made after its bell and removed before it, so alone it is stale
    fifos = [path for path in bells if path.suffix == FIFO_SUFFIX and not path.with_suffix("").exists()]
    return removed + [path for path in fifos if _unlink(path)]


def _remove_port(path: Path) -> bool:
    return _remove(path, (LOCK_GATE, LOCK_SWITCH, LOCK_HOST))


def _remove(path: Path, locks: tuple[int, ...]) -> bool:
    """Remove one file if all its locks can be had; they are kept until it has lost its name."""
    try:
        shared = shm_files.open_existing(path)
    except PortError:
        return False
    if shared is None:
        return False
    try:
        if not all(shm_files.try_lock(shared.descriptor, lock) for lock in locks) or not shared.is_named():
            return False
        return _unlink(path)
    finally:
        shared.close()


def _unlink(path: Path) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
