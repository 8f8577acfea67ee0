"""Where we keep what is worth keeping between runs."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

LOOPS = "loops-"
"""Begins the names of folders of compiled loops in a cache."""


def cache_root() -> Path:
    """Where everything we cache lives: `wanted_cache_root`, or where that cannot be written, a folder of the user's
    among the system's temporary files.

    A cache that is filled and can only be read (of an image, say) is used as it is.
    """
    return _usable(wanted_cache_root())


def wanted_cache_root() -> Path:
    """``NETSUM_CACHE``, else ``netsum`` under the user's cache folder."""
    if chosen := os.environ.get("NETSUM_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "netsum"
    try:
        return Path.home() / ".cache" / "netsum"
    except RuntimeError:  # a user whom the system does not know
        return Path("/nonexistent/.cache/netsum")


@functools.cache
def _usable(wanted: Path) -> Path:
    if not why_unusable(wanted) or any(wanted.glob(f"{LOOPS}*")):
        return wanted
    temporary = Path(tempfile.gettempdir()) / f"netsum-cache-{os.getuid()}"
    return wanted if why_unusable(temporary) or not _is_ours(temporary) else temporary


def why_unusable(folder: Path) -> str:
    """Why files cannot be made in a folder, which is made if it is not there; empty if they can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _is_ours(folder: Path) -> bool:
    """Machine code is loaded from there, so nobody else may have put it there."""
    status = folder.lstat()
    return not folder.is_symlink() and status.st_uid == os.getuid() and not status.st_mode & 0o022
