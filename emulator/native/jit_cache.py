"""Where compiled loops are cached, and under which stamp: a loop is compiled again when anything it may call changed.

numba's own stamp is a digest of the file that defines the function; a function that it calls in another file may change
unseen. Ours covers every file of our packages that the defining file imports, directly or not, and nothing else, so
that a change in one package does not invalidate the loops of the others.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from emulator.native.folders import LOOPS, cache_root

ROOT = Path(__file__).resolve().parents[2]
DAY_S = 24 * 3600
UNUSED_S = 30 * DAY_S

PACKAGES = ("emulator", "hostagent", "pspin_model")
IMPORT = re.compile(r"^[ \t]*(?:from +([\w.]+) +import +(\([^)]*\)|[^\n]*)|import +([\w.]+))", re.MULTILINE)


@functools.cache
def machine_key() -> str:
    """What compiled code depends on besides its source: compiler versions, CPU and its features."""
    import llvmlite.binding  # the library itself, and nothing of numba

    # read, not asked of importlib.metadata, whose import alone takes a tenth of the start of a switch
    numba = find_spec("numba")
    assert numba is not None
    assert numba.origin is not None
    numba_version = hashlib.sha256(Path(numba.origin).with_name("_version.py").read_bytes()).hexdigest()[:16]
    cpu = llvmlite.binding.get_host_cpu_name()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    return f"{numba_version} {llvmlite.__version__} {cpu} {features}"


@functools.cache
def loops_folder() -> Path:
    """Where compiled loops are cached, or what NUMBA_CACHE_DIR names: a folder for each kind of machine and compiler.

    When it is new, those that were not used for a month are removed.
    """
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    folder = cache_root() / f"{LOOPS}{hashlib.sha256(machine_key().encode()).hexdigest()[:16]}"
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            for other in folder.parent.glob(f"{LOOPS}*"):
                if time.time() - other.stat().st_mtime > UNUSED_S:
                    shutil.rmtree(other, ignore_errors=True)
        elif time.time() - folder.stat().st_mtime > DAY_S:
            os.utime(folder)
    except OSError:
        pass  # no place to cache in: numba compiles again, and says so where it matters
    return folder


@functools.cache
def source_stamp(path: str) -> str:
    """Digest of a file and of all files of ours that it imports, directly or not."""
    found: set[Path] = set()
    todo = [Path(path).resolve()]
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo += _source(file)[1]
    return hashlib.sha256(b"".join(_source(file)[0] for file in sorted(found))).hexdigest()


@functools.cache
def _source(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """The digest of a file's path and text, and the files of ours that it imports. The path is that within the
    installation, so that another one of the same version finds what this one has compiled."""
    text = path.read_bytes()
    place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    digest = hashlib.sha256(bytes(place) + b"\0" + text).digest()
    return digest, tuple(dict.fromkeys(_imports(text.decode())))


def _imports(text: str) -> Iterator[Path]:
    for match in IMPORT.finditer(text):
        module = match[1] or match[3]
        if module.split(".")[0] not in PACKAGES:
            continue
        for path in _files_of(module):
            yield path
            if path.name == "__init__.py":  # what is imported from a package may be a module in it
                for name in re.findall(r"\w+", match[2] or ""):
                    yield from _files_of(f"{module}.{name}")


@functools.cache
def _files_of(module: str) -> tuple[Path, ...]:
    base = ROOT.joinpath(*module.split("."))
    return tuple(path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists())
