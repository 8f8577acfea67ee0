"""Cached output of ``netsum compile``: a warm run reads files and loads no compiler.

A summary is keyed like the compiled program itself (`compiled.load`): by this compiler's own sources, the machine, and
what was asked; and it holds the digests of all files that were read, so that a changed one is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from emulator.native.folders import cache_root

_PACKAGE = Path(__file__).resolve().parents[1]
_OWN_FOLDERS = ("p4", "v1model", "native", "ports")
_LIBRARIES = ("llvmlite", "numba", "google", "p4")


@dataclass(frozen=True, slots=True)
class Summary:
    name: str
    tables: int
    actions: int
    counters: int
    registers: int
    machine_code_bytes: int
    """0 for a program that has nothing to run."""
    warnings: tuple[str, ...]
    p4info: Mapping[str, str]
    """Contents of the P4Info files, by suffix; the binary form in hexadecimal."""
    sources: tuple[tuple[str, str], ...]
    """(path, SHA-256) of every file read."""


def summary_key(
    path: str, defines: Mapping[str, str], include_paths: Sequence[str], is_strict: bool, has_code: bool
) -> str:
    """Digest of everything but the sources' texts that decides a summary."""
    settings = (path, tuple(sorted(defines.items())), tuple(include_paths), is_strict, has_code)
    return hashlib.sha256(repr((_tool_digest(), settings)).encode()).hexdigest()


def find_summary(key: str) -> Summary | None:
    """The one stored under that key, if every file it was made from still has the same content."""
    try:
        content = json.loads(_path(key).read_bytes())
        sources = tuple((str(path), str(digest)) for path, digest in content.pop("sources"))
        warnings = tuple(map(str, content.pop("warnings")))
        summary = Summary(**content, warnings=warnings, sources=sources)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return summary if summary.sources and all(_unchanged(path, digest) for path, digest in sources) else None


def store_summary(key: str, summary: Summary) -> None:
    """All or nothing; a cache that cannot be written is not an error."""
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(asdict(summary)))
        temporary.replace(path)
    except OSError:
        return


def _path(key: str) -> Path:
    return cache_root() / "programs" / f"{key}.json"


def _unchanged(path: str, digest: str) -> bool:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _tool_digest() -> str:
    """SHA-256 over the compiler's sources, the libraries' places and dates, and the machine."""
    digest = hashlib.sha256(f"{sys.version} {platform.machine()} {_processor()}".encode())
    for place in _library_places():
        digest.update(f"{place} {os.stat(place).st_mtime_ns}".encode())
    for path in _own_sources():
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _library_places() -> Iterator[str]:
    """Folders of the libraries, as a fresh process finds them: whatever this one has imported does not matter."""
    installed = sorted({path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")})
    for library in _LIBRARIES:
        spec = PathFinder.find_spec(library, installed)
        yield from (spec.submodule_search_locations or ()) if spec is not None else ()


def _own_sources() -> Iterator[str]:
    for folder in _OWN_FOLDERS:
        for place, folders, files in os.walk(_PACKAGE / folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            yield from (os.path.join(place, name) for name in sorted(files) if name.endswith((".py", ".p4")))


def _processor() -> str:
    """The first processor's model and features, from /proc/cpuinfo."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return file.read(1 << 13).partition("\n\n")[0].partition("cpu MHz")[0] + platform.node()
    except OSError:
        return platform.node()


def message_texts(message: Any) -> dict[str, str]:
    """P4Info or another message as files of each format, by their suffix, as p4c writes them; the binary one in
    hexadecimal."""
    from google.protobuf import json_format, text_format

    kind = message.DESCRIPTOR
    header = f"# proto-file: {kind.file.name}\n# proto-message: {kind.full_name}\n\n"
    return {
        ".bin": message.SerializeToString(deterministic=True).hex(),
        ".json": json_format.MessageToJson(message, indent=1) + "\n",
        ".txtpb": header + text_format.MessageToString(message),
    }
