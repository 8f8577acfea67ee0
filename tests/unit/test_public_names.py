"""API.md lists what the packages export, and every exported name is there when it is asked for."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "emulator",
    "emulator.harness",
    "hostagent",
    "pspin_model",
    "pspin_model.aggregator",
    "pspin_model.flare",
    "pspin_model.handlers",
    "pspin_model.machine",
    "pspin_model.riscv",
)


def listed() -> dict[str, set[str]]:
    """Names by package, as API.md's table has them; a row without a package continues the one above."""
    names: dict[str, set[str]] = {}
    packages: list[str] = []
    for row in (ROOT / "API.md").read_text().splitlines():
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        if len(cells) == 3 and "`" in cells[1]:
            packages = re.findall(r"`([\w.]+)`", cells[0]) or packages
            for package in packages:
                names.setdefault(package, set()).update(re.findall(r"`(\w+)`", cells[1]))
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_lists_what_a_package_exports(package: str) -> None:
    assert listed()[package] == set(importlib.import_module(package).__all__)


def test_the_page_lists_no_other_package() -> None:
    assert set(listed()) == set(PACKAGES)


def test_every_package_that_exports_names_to_users_is_listed() -> None:
    """In pspin_model these are all packages directly below it with names in ``__all__``."""
    folders = sorted(file.parent for file in (ROOT / "pspin_model").glob("*/__init__.py"))
    exporting = [folder.name for folder in folders if "__all__" in (folder / "__init__.py").read_text()]
    assert [f"pspin_model.{name}" for name in exporting] == [
        name for name in PACKAGES if name.startswith("pspin_model.")
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_can_be_had(package: str) -> None:
    module = importlib.import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchName'"):
        module.NoSuchName  # noqa: B018


def test_importing_a_package_loads_none_of_what_it_exports() -> None:
    heavy = "numba", "torch", "scapy", "grpc"
    program = (
        f"import sys, emulator.harness, hostagent, pspin_model.flare; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
