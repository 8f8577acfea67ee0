"""The wheel alone: installed in an environment of its own it runs the demo and a test of a user's, from any folder.

The environment has netsum's dependencies (those of the environment that runs this test) and not this checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    # A path in a .pth file is searched, and .pth files in that folder are not read: no editable installation of ours.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def run(program: Path, *words: str, cwd: Path, status: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(program), *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=110)
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


def test_the_demo_runs(installed: Path, tmp_path: Path) -> None:
    """Two passes over the data are too few for the demo's accuracy goal, and enough for all that it says of netsum."""
    words = "demo", "-n", "2", "--epochs", "2", "--json"
    report = json.loads(run(installed / "netsum", *words, cwd=tmp_path, status=1))
    failed = [check["name"] for check in report["checks"] if not check["passed"]]
    assert failed == ["the model learns"], report["checks"]
    assert (tmp_path / "netsum-report" / "report.html").exists()
