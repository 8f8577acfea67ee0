"""The wheel alone: installed in an environment of its own it runs the demo and a test of a user's, from any folder.

The environment has what the wheel says that it requires, pytest, and what these require (linked from the environment
that runs this test); neither this checkout nor anything else, so that an undeclared dependency fails.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
NAMESPACES = ("google",)
"""Packages of which several distributions install parts."""
USERS_TEST = """
from emulator import P4Switch

def test_a_routed_packet(p4_switch):
    switch: P4Switch = p4_switch("router.p4")
    switch.table("routes").add({"destination": "10.0.0.0/8"}, "set_nhop", port=2, dmac=1)
    assert len(switch.table("routes").entries()) == 1
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True, timeout=100)
    (wheel,) = folder.glob("netsum-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True, timeout=60)
    python = folder / "env" / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    subprocess.run([*pip, f"--python={python}", "install", "--no-deps", "--no-index", wheel], check=True, timeout=60)
    for distribution in required_by(importlib.metadata.distribution("netsum"), "pytest"):
        link_into(packages, distribution)
    return python.parent


def required_by(distribution: importlib.metadata.Distribution, *more: str) -> list[importlib.metadata.Distribution]:
    """What it requires without extras, directly or by others; and the same of ``more``."""
    found: dict[str, importlib.metadata.Distribution] = {}
    pending = [*(Requirement(text) for text in distribution.requires or ()), *map(Requirement, more)]
    while pending:
        requirement = pending.pop()
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and canonicalize_name(requirement.name) not in found:
            needed = importlib.metadata.distribution(requirement.name)
            found[canonicalize_name(requirement.name)] = needed
            extras = "".join(requirement.extras)
            pending += [
                other
                for other in map(Requirement, needed.requires or ())
                if other.marker is None or other.marker.evaluate({"extra": extras})
            ]
    return list(found.values())


def link_into(folder: Path, distribution: importlib.metadata.Distribution) -> None:
    """Links to the top of what it has installed in site-packages; namespace packages are folders of links."""
    for file in distribution.files or ():
        parts = Path(str(file)).parts
        if parts[0] in ("..", "__pycache__") or parts[0].endswith(".pth"):
            continue
        depth = 2 if parts[0] in NAMESPACES else 1
        link, target = folder.joinpath(*parts[:depth]), Path(str(distribution.locate_file(Path(*parts[:depth]))))
        if not link.exists() and len(parts) >= depth:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)


def run(program: Path, *words: str, cwd: Path, status: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(program), *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_the_packages_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = (
        "import emulator, hostagent, pspin_model; print(emulator.__file__, hostagent.__file__, pspin_model.__file__)"
    )
    places = run(installed / "python", "-c", program, cwd=tmp_path).split()
    assert all(Path(place).is_relative_to(installed.parent) for place in places), places


def test_a_users_test_runs(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(USERS_TEST)
    text = run(installed / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in text


def test_the_examples_of_the_readmes_are_there(installed: Path, tmp_path: Path) -> None:
    netsum = installed / "netsum"
    run(netsum, "examples", "demo", cwd=tmp_path)
    assert "ok (" in run(netsum, "stf", "router.p4", "demo/router.stf", cwd=tmp_path)
    assert "2 passed" in run(installed / "python", "-m", "pytest", "-q", "demo/test_hub.py", cwd=tmp_path)
    assert (tmp_path / "demo" / "ptf" / "router.py").exists()


@pytest.mark.slow
def test_the_demo_runs(installed: Path, tmp_path: Path) -> None:
    """Two passes over the data are too few for the demo's accuracy goal, and enough for all that it says of netsum."""
    words = "demo", "-n", "2", "--epochs", "2", "--json"
    report = json.loads(run(installed / "netsum", *words, cwd=tmp_path, status=1))
    failed = [check["name"] for check in report["checks"] if not check["passed"]]
    assert failed == ["the model learns"], report["checks"]
    assert (tmp_path / "netsum-report" / "report.html").exists()
