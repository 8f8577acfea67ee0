"""The device config: faithful, deterministic, and safe to read from anyone."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from emulator.p4runtime.pipeline import package as subject
from emulator.p4runtime.pipeline.package import PackageError, pack, unpack


def make_zip(members: dict[str, bytes | str], manifest: object = None, **options: Any) -> bytes:
    if manifest is None:
        manifest = {"version": 1, "main": "main.p4", "defines": {}}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        archive.writestr("netsum.json", manifest if isinstance(manifest, (str, bytes)) else json.dumps(manifest))
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "program" / "parts").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (tmp_path / "program" / "main.p4").write_text(
        '#include <core.p4>\n#include <v1model.p4>\n#include "parts/a.p4"\n  #  include  <b.p4>\n'
    )
    (tmp_path / "program" / "parts" / "a.p4").write_text('#include "../c.p4"\n#include "nowhere.p4"\n')
    (tmp_path / "program" / "c.p4").write_text('#include "parts/a.p4" // a cycle, for the preprocessor to judge\n')
    (tmp_path / "shared" / "b.p4").write_text("// bé\n")
    return tmp_path


def test_round_trip_keeps_the_layout(tree: Path) -> None:
    package = unpack(pack(tree / "program" / "main.p4", {"LANES": "64"}, [tree / "shared", tree / "unused"]))
    assert package.main == "program/main.p4"
    assert package.include_paths == ("shared",)
    assert package.defines == {"LANES": "64"}
    assert set(package.files) == {"program/main.p4", "program/parts/a.p4", "program/c.p4", "shared/b.p4"}
    assert package.files[package.main] == (tree / "program" / "main.p4").read_bytes()


def test_same_input_same_bytes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pack(tree / "program" / "main.p4", {"A": "1", "B": "2"}, [tree / "shared"])
    monkeypatch.chdir(tree / "program")
    assert pack("main.p4", {"B": "2", "A": "1"}, ["../shared"]) == first


def test_a_single_file_is_at_the_root(tree: Path) -> None:
    package = unpack(pack(tree / "shared" / "b.p4"))
    assert (package.main, package.include_paths) == ("b.p4", ())


def test_unreadable_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"nothing\.p4"):
        pack(tmp_path / "nothing.p4")


def test_any_zip_tool_will_do() -> None:
    assert unpack(make_zip({"main.p4": "// x\n" * 1000}, compression=zipfile.ZIP_DEFLATED)).main == "main.p4"


@pytest.mark.parametrize(
    "name", ["../main.p4", "/main.p4", "a/../../main.p4", "a\\main.p4", "./main.p4", "C:main.p4", "a\nb.p4"]
)
def test_names_that_leave_the_package(name: str) -> None:
    with pytest.raises(PackageError, match=r"plain relative path|twice"):
        unpack(make_zip({"main.p4": "", name: ""}))


@pytest.mark.parametrize("folder", ["..", "/etc", "a/../.."])
def test_include_paths_that_leave_the_package(folder: str) -> None:
    manifest = {"version": 1, "main": "main.p4", "defines": {}, "include_paths": [folder]}
    with pytest.raises(PackageError, match="plain relative path"):
        unpack(make_zip({"main.p4": ""}, manifest))


def test_zip_bomb() -> None:
    bomb = make_zip({"main.p4": bytes(64 << 20)}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    with pytest.raises(PackageError, match="unpacks to more than"):
        unpack(bomb)


def test_many_files_whose_sum_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_PACKAGE_BYTES", 5000)
    with pytest.raises(PackageError, match="unpacks to more than"):
        unpack(make_zip({f"{i}.p4": bytes(1000) for i in range(9)}, compression=zipfile.ZIP_DEFLATED))


def test_too_many_files() -> None:
    with pytest.raises(PackageError, match="more than 256 files"):
        unpack(make_zip({f"{i}.p4": "" for i in range(300)}))


def test_too_large_to_look_at() -> None:
    with pytest.raises(PackageError, match="more than"):
        unpack(b"PK" + bytes(subject.MAX_PACKAGE_BYTES))


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ("{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("[" * 100_000, "not JSON|version"),
        ([], "version"),
        ({"version": 2, "main": "main.p4"}, "version 2"),
        ({"version": 1}, "main must be"),
        ({"version": 1, "main": "other.p4"}, "not in the package"),
        ({"version": 1, "main": "main.p4", "defines": {"A": 1}}, "defines"),
        ({"version": 1, "main": "main.p4", "defines": {"A B": "1"}}, "not a name"),
        ({"version": 1, "main": "main.p4", "defines": {"A": "1\n#include </etc/passwd>"}}, "one line"),
        ({"version": 1, "main": "main.p4", "include_paths": "x"}, "include_paths"),
        ({"version": 1, "main": "main.p4", "shell": "rm"}, "unknown keys: shell"),
    ],
)
def test_bad_manifests(manifest: object, complaint: str) -> None:
    with pytest.raises(PackageError, match=complaint):
        unpack(make_zip({"main.p4": ""}, manifest))


def test_no_manifest() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("main.p4", "")
    with pytest.raises(PackageError, match=r"no netsum\.json"):
        unpack(buffer.getvalue())


def test_source_that_is_not_text() -> None:
    with pytest.raises(PackageError, match="UTF-8"):
        unpack(make_zip({"main.p4": b"\xff\xfe"}))


@pytest.mark.parametrize("data", [b"", b"PK", b"\x7fELF", b'{"program": "bmv2 json"}', bytes(1000)])
def test_other_things_are_no_packages(data: bytes) -> None:
    with pytest.raises(PackageError, match="netsum package"):
        unpack(data)


def test_damaged_packages_only_ever_raise_package_errors(tree: Path) -> None:
    whole = pack(tree / "program" / "main.p4", {}, [tree / "shared"])
    for cut in range(0, len(whole), 7):
        with pytest.raises(PackageError):
            unpack(whole[:cut])
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        try:
            unpack(bytes(damaged))
        except PackageError:
            continue
