"""Where we keep what is worth keeping between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Where everything we cache lives: ``NETSUM_CACHE``, else ``netsum`` under the user's cache folder."""
    if chosen := os.environ.get("NETSUM_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "netsum"
