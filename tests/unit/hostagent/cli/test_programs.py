"""The example files: copied, and right."""

from __future__ import annotations

import re
from pathlib import Path

from emulator.harness.stf.runner import Runner
from emulator.p4.library import examples_folder
from tests.clients.command import netsum

ROOT = Path(__file__).resolve().parents[4]


def test_examples_are_copied_and_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    done = netsum("examples", str(folder))
    assert done.exit_code == 0
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == ["README.md", "hub.p4", "ptf/router.py", "router.stf", "test_hub.py", "train.py"]
    assert sorted(done.stdout.split()) == sorted(str(folder / name) for name in names)
    again = netsum("examples", str(folder))
    assert again.exit_code == 1
    assert "would be overwritten" in again.stderr


def test_the_routers_packet_test_holds() -> None:
    for result in Runner("router.p4", engine="both").run_file(str(examples_folder() / "router.stf")):
        assert result.held, result.explanation


def test_the_script_of_the_readme_is_the_one_that_is_copied() -> None:
    (script,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert script == (examples_folder() / "train.py").read_text()
