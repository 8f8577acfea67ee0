"""Where shared memory lives; apart, because a controller asks, too, which needs no numpy."""

from __future__ import annotations

import os
from pathlib import Path


def shared_folder() -> Path:
    """``NETSUM_SHM`` (tests, machines with a small /dev/shm), else /dev/shm."""
    return Path(os.environ.get("NETSUM_SHM", "/dev/shm"))
