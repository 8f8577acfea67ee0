"""Where the cache is, also for users without a home that can be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.native import folders


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files; nothing else says where to cache."""
    monkeypatch.delenv("NETSUM_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folders._usable.cache_clear()
    return tmp_path


def test_a_cache_that_can_be_written_is_used(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(temporary / "home"))
    assert folders.cache_root() == temporary / "home/.cache/netsum"
    monkeypatch.setenv("NETSUM_CACHE", str(temporary / "chosen"))
    assert folders.cache_root() == temporary / "chosen"


@pytest.mark.parametrize("home", ["/proc", "/dev/null", "/nonexistent" if os.getuid() else "/sys"])
def test_one_that_cannot_has_a_substitute_of_the_users_own(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    root = folders.cache_root()
    assert root == temporary / f"netsum-cache-{os.getuid()}"
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_substitute_that_others_can_write_is_not_trusted(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc")
    (temporary / f"netsum-cache-{os.getuid()}").mkdir()
    (temporary / f"netsum-cache-{os.getuid()}").chmod(0o777)
    assert folders.cache_root() == folders.wanted_cache_root() == Path("/proc/.cache/netsum")
