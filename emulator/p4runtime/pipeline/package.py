"""The device config: a zip of P4 source that the switch compiles itself.

``netsum.json`` is the manifest: ``version`` (1), ``main`` (the program's name in the zip), ``defines`` (preprocessor
names to values) and ``include_paths`` (folders in the zip, searched in order). All other members are source text.
The layout keeps the files' places relative to each other, so that an include resolves as it does on disk; core.p4 and
v1model.p4 belong to the switch and are not packed.

`pack` gives the same bytes for the same input everywhere: members sorted, stored uncompressed, with a fixed date.
`unpack` takes any zip and trusts nothing in it.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

MANIFEST_NAME = "netsum.json"
VERSION = 1

MAX_PACKAGE_BYTES = 16 << 20
MAX_FILE_BYTES = 8 << 20
MAX_FILES = 256
"""The largest public P4_16 programs have about a hundred files and under 2 MB."""

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_MACRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
"""The zip format's first day."""
_MANIFEST_KEYS = {"version", "main", "defines", "include_paths"}


class PackageError(ValueError):
    """Data that are no package, or one that breaks a limit; the text says what and where."""


@dataclass(frozen=True, slots=True)
class Package:
    main: str
    """Name of the program among ``files``."""
    files: Mapping[str, bytes]
    """Relative posix path -> source text, UTF-8."""
    defines: Mapping[str, str] = field(default_factory=dict)
    include_paths: tuple[str, ...] = ()


# --- Packing ----------------------------------------------------------------------------------------------------


def pack(path: str | Path, defines: Mapping[str, str] | None = None, include_paths: Sequence[str | Path] = ()) -> bytes:
    """Pack a program with the files it includes, directly or not, under any condition.

    An include that is found nowhere is left to the switch: it may be the switch's own, or under a false ``#if``.
    Raises PackageError for a program that cannot be read or is too large.
    """
    main = Path(os.path.abspath(path))
    folders = [Path(os.path.abspath(folder)) for folder in include_paths]
    files = _collect(main, folders)
    used_folders = [folder for folder in folders if any(file.is_relative_to(folder) for file in files)]
    root = Path(os.path.commonpath([main.parent, *(file.parent for file in files), *used_folders]))
    package = Package(
        main=main.relative_to(root).as_posix(),
        files={file.relative_to(root).as_posix(): text for file, text in files.items()},
        defines=dict(defines or {}),
        include_paths=tuple(folder.relative_to(root).as_posix() for folder in used_folders),
    )
    _check(package)
    return _write(package)


def _collect(main: Path, folders: Sequence[Path]) -> dict[Path, bytes]:
    files: dict[Path, bytes] = {}
    waiting = [main]
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        try:
            files[path] = path.read_bytes()
        except OSError as error:
            raise PackageError(f"cannot read {path}: {error.strerror}") from error
        if len(files) > MAX_FILES:
            raise PackageError(f"{main} includes more than {MAX_FILES} files")
        waiting.extend(_included(path, files[path], folders))
    return files


def _included(path: Path, text: bytes, folders: Iterable[Path]) -> list[Path]:
    found = []
    for quoted, angled in _INCLUDE.findall(text):
        name = os.fsdecode(quoted or angled)
        candidates = [folder / name for folder in ([path.parent, *folders] if quoted else folders)]
        target = next((Path(os.path.abspath(c)) for c in candidates if c.is_file()), None)
        if target is not None:
            found.append(target)
    return found


def _write(package: Package) -> bytes:
    manifest: dict[str, Any] = {"version": VERSION, "main": package.main, "defines": package.defines}
    if package.include_paths:
        manifest["include_paths"] = package.include_paths
    members = {MANIFEST_NAME: json.dumps(manifest, sort_keys=True, indent=1).encode(), **package.files}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _FIXED_DATE)
            member.create_system = 3  # Unix on every machine, for equal bytes
            member.external_attr = 0o100644 << 16
            archive.writestr(member, members[name])
    return buffer.getvalue()


# --- Unpacking --------------------------------------------------------------------------------------------------


def unpack(data: bytes) -> Package:
    """Read a package from anyone. Raises PackageError."""
    if not data:
        raise PackageError("the device config is empty: send a package of P4 source (`netsum package PROGRAM.p4`)")
    if len(data) > MAX_PACKAGE_BYTES:
        raise PackageError(f"the package has {len(data)} bytes, more than {MAX_PACKAGE_BYTES}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = _read_members(archive)
    except PackageError:
        raise
    except Exception as error:  # zipfile raises many types on damaged input: BadZipFile, zlib.error, struct.error, ...
        raise PackageError(
            f"the device config is not a package of P4 source, which is a zip (`netsum package PROGRAM.p4`): {error}"
        ) from error
    package = _from_manifest(members)
    _check(package)
    return package


def _read_members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MAX_FILES + 1:
        raise PackageError(f"the package has more than {MAX_FILES} files")
    members: dict[str, bytes] = {}
    room_bytes = MAX_PACKAGE_BYTES
    for info in infos:
        if info.filename in members:
            raise PackageError(f"the package holds {info.filename} twice")
        if info.flag_bits & 1:
            raise PackageError(f"{info.filename} is encrypted")
        limit = min(room_bytes, MAX_FILE_BYTES)
        with archive.open(info) as member:
            text = member.read(limit + 1)  # the size in the directory may lie
        if len(text) > limit:
            raise PackageError(f"{info.filename} unpacks to more than {limit} bytes")
        members[info.filename] = text
        room_bytes -= len(text)
    return members


def _from_manifest(members: dict[str, bytes]) -> Package:
    if MANIFEST_NAME not in members:
        raise PackageError(f"the package has no {MANIFEST_NAME}")
    try:
        manifest = json.loads(members.pop(MANIFEST_NAME))
    except (ValueError, RecursionError) as error:
        raise PackageError(f"{MANIFEST_NAME} is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        version = manifest.get("version") if isinstance(manifest, dict) else None
        raise PackageError(f"{MANIFEST_NAME} has version {version!r}; this switch reads version {VERSION}")
    unknown = sorted(manifest.keys() - _MANIFEST_KEYS)
    if unknown:
        raise PackageError(f"{MANIFEST_NAME} has unknown keys: {', '.join(unknown)}")
    main, defines = manifest.get("main"), manifest.get("defines", {})
    include_paths = manifest.get("include_paths", [])
    if not isinstance(main, str):
        raise PackageError(f"{MANIFEST_NAME}: main must be the name of the program")
    if not isinstance(defines, dict) or not all(isinstance(value, str) for value in defines.values()):
        raise PackageError(f"{MANIFEST_NAME}: defines must map names to texts")
    if not isinstance(include_paths, list) or not all(isinstance(folder, str) for folder in include_paths):
        raise PackageError(f"{MANIFEST_NAME}: include_paths must be a list of folders")
    return Package(main, members, defines, tuple(include_paths))


# --- Both ways --------------------------------------------------------------------------------------------------


def _check(package: Package) -> None:
    for name in package.files:
        _check_name(name)
        try:
            package.files[name].decode()
        except UnicodeDecodeError as error:
            raise PackageError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    for folder in package.include_paths:
        if folder != ".":
            _check_name(folder)
    if package.main not in package.files:
        raise PackageError(f"the program {package.main} is not in the package")
    for name, value in package.defines.items():
        if not _MACRO_NAME.match(name):
            raise PackageError(f"{name!r} is not a name that can be defined")
        if "\n" in value or "\r" in value:
            raise PackageError(f"the definition of {name} has more than one line")
    if sum(map(len, package.files.values())) > MAX_PACKAGE_BYTES:
        raise PackageError(f"the sources have more than {MAX_PACKAGE_BYTES} bytes")


def _check_name(name: str) -> None:
    parts = PurePosixPath(name).parts
    unsafe = (
        name.startswith("/") or ".." in parts or not parts or any(c in name for c in "\\:") or not name.isprintable()
    )
    if unsafe or name != PurePosixPath(name).as_posix():
        raise PackageError(f"{name!r} is not a plain relative path")
