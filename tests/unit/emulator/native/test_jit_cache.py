"""Compiled loops are cached under a stamp that covers all they may call, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.native import jit_cache
from emulator.native.jit import njit
from emulator.ports.batch import batch_append


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four files: ``loop`` imports a module of a package and, inside a function, another; nothing imports ``apart``."""
    files = {
        "emulator/__init__.py": "",
        "emulator/loop.py": "from emulator.ports import (\n    ring,\n)\n\ndef late():\n    import hostagent.far\n",
        "emulator/ports/__init__.py": "",
        "emulator/ports/ring.py": "SIZE = 4\n",
        "hostagent/far.py": "from emulator import loop\n",
        "emulator/apart.py": "import numpy\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(jit_cache, "ROOT", tmp_path)
    return tmp_path


def stamp(house: Path) -> str:
    for cached in (jit_cache.source_stamp, jit_cache._source, jit_cache._files_of):
        cached.cache_clear()
    return jit_cache.source_stamp(str(house / "emulator/loop.py"))


@pytest.mark.parametrize("name", ["emulator/loop.py", "emulator/ports/ring.py", "hostagent/far.py"])
def test_a_change_of_anything_imported_changes_the_stamp(house: Path, name: str) -> None:
    before = stamp(house)
    assert stamp(house) == before
    with (house / name).open("a") as file:
        file.write("\nOTHER = 1\n")
    assert stamp(house) != before


def test_a_change_elsewhere_does_not(house: Path) -> None:
    before = stamp(house)
    (house / "emulator/apart.py").write_text("import sys\n")
    assert stamp(house) == before


def test_loops_are_cached_in_our_folder_with_our_stamp() -> None:
    locator = njit(batch_append.py_func)._cache._impl.locator
    assert Path(locator.get_cache_path()).is_relative_to(jit_cache.loops_folder())
    assert locator.get_source_stamp() == jit_cache.source_stamp(batch_append.py_func.__code__.co_filename)
