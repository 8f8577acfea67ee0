"""The folder of one run: socket names, logs, ranks' errors, its controller's address. Removed at the end of the run,
or, if it was killed, by the next one.

A run holds a lock on its folder; the kernel frees it with the process, so a lock that can be acquired proves that the
run has ended. A pid would not: it may have been reused, or belong to another container.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "netsum-run-"
ANNOUNCEMENT = "controller.json"
YOUNG_S = 60.0
"""A younger folder may belong to a run that has made it and not locked it yet."""


@contextmanager
def run_folder(place: Path | None = None) -> Iterator[Path]:
    """A new locked folder in ``place`` (the system's for temporary files), gone after the block."""
    place = place or Path(tempfile.gettempdir())
    remove_dead(place)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place) as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(descriptor)


def announce(folder: Path, address: str, script: str) -> None:
    """Note where the run's controller answers, for `running`."""
    (folder / ANNOUNCEMENT).write_text(json.dumps({"controller": address, "script": script, "pid": os.getpid()}))


def running(place: Path | None = None) -> dict[str, str]:
    """This user's runs on this machine: HOST:PORT of the controller -> script and pid, for people. The oldest first."""
    found: dict[str, str] = {}
    for folder in sorted((place or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"), key=_began_s):
        with suppress(OSError, ValueError, KeyError):
            noted = json.loads((folder / ANNOUNCEMENT).read_text())  # written under the lock, so nobody waits for ours
            if folder.stat().st_uid == os.getuid() and not _lock_is_free(folder):
                found.setdefault(noted["controller"], f"{noted['script']}, process {noted['pid']}")
    return found


def _began_s(folder: Path) -> float:
    with suppress(OSError):
        return (folder / ANNOUNCEMENT).stat().st_mtime
    return 0.0


def _lock_is_free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def remove_dead(place: Path, now_s: float | None = None) -> list[Path]:
    """Remove the folders of this user's runs that are dead; returns them."""
    now_s = time.time() if now_s is None else now_s
    return [folder for folder in sorted(place.glob(f"{PREFIX}*")) if _is_dead(folder, now_s) and _remove(folder)]


def _is_dead(folder: Path, now_s: float) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or now_s - status.st_mtime < YOUNG_S:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked: the run is alive
        return False
    finally:
        os.close(descriptor)
    return True


def _remove(folder: Path) -> bool:
    with suppress(OSError):
        shutil.rmtree(folder)
    return not folder.exists()
