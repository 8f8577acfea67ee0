"""The one decorator for compiled loops: numba, without the GIL, cached on disk under a key that can be trusted.

numba invalidates a cached function only when the file that defines it changes, not when a function it calls in another
file does. So the cache folder's name carries a digest of all our files that hold compiled loops, of numba's and
llvmlite's versions and of the CPU: a stale loop cannot be loaded after an upgrade, and a home shared between machines
works.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba

from emulator.ports.folders import cache_root

DAY_S = 24 * 3600
UNUSED_S = 30 * DAY_S

PACKAGES = ("emulator", "hostagent", "pspin_model")


@functools.cache
def machine_key() -> str:
    """What compiled code depends on besides its source: compiler versions, CPU and its features."""
    cpu = llvmlite.binding.get_host_cpu_name()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    return f"{numba.__version__} {llvmlite.__version__} {cpu} {features}"


def _source_digest() -> str:
    digest = hashlib.sha256(machine_key().encode())
    root = Path(__file__).resolve().parents[2]
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_bytes()
            if b"njit" in text or b"intrinsic" in text:
                digest.update(text)
    return digest.hexdigest()[:16]


def _choose_folder() -> Path:
    """This version's folder; when it is new, folders of other versions that were not used for a month are removed."""
    folder = cache_root() / f"loops-{_source_digest()}"
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            for other in folder.parent.glob("loops-*"):
                if time.time() - other.stat().st_mtime > UNUSED_S:
                    shutil.rmtree(other, ignore_errors=True)
        elif time.time() - folder.stat().st_mtime > DAY_S:
            os.utime(folder)
    except OSError:
        pass  # no place to cache in: numba compiles anew, and says so where it matters
    return folder


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_choose_folder())  # type: ignore[attr-defined]


def loops_folder() -> Path:
    """Where compiled loops are cached: ours, or what NUMBA_CACHE_DIR names."""
    return Path(str(numba.config.CACHE_DIR))  # type: ignore[attr-defined]


def njit(function: Any = None, **options: Any) -> Any:
    """``numba.njit`` with ``nogil`` and ``cache``; takes the same options."""
    settings = {"nogil": True, "cache": True, "error_model": "numpy", **options}
    return numba.njit(**settings) if function is None else numba.njit(**settings)(function)
