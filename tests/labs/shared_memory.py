"""A shared-memory folder of a test's own, so that tests see exactly what they leave behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def shm_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in /dev/shm that this process and its children use."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="netsum-test-") as name:
        monkeypatch.setenv("NETSUM_SHM", name)
        yield Path(name)
