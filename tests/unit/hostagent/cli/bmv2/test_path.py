"""The folder for PATH: all commands of p4c and bmv2, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hostagent.cli.bmv2.path import COMMANDS, linked_folder

PROJECT = Path(__file__).parents[5] / "pyproject.toml"


def test_the_folder_has_the_commands_and_nothing_else(tmp_path: Path) -> None:
    scripts = tmp_path / "bin"
    scripts.mkdir()
    for name in (*COMMANDS, "python", "pip"):
        (scripts / name).write_text(name)
    folder = linked_folder(scripts, tmp_path / "cache")
    assert sorted(path.name for path in folder.iterdir()) == sorted(COMMANDS)
    assert all((folder / name).read_text() == name for name in COMMANDS)
    (folder / "p4c").unlink()
    (folder / "p4c").symlink_to("/nowhere")
    assert linked_folder(scripts, tmp_path / "cache") == folder
    assert (folder / "p4c").read_text() == "p4c"


def test_every_script_but_netsum_is_in_it() -> None:
    scripts = tomllib.loads(PROJECT.read_text())["project"]["scripts"]
    assert sorted(scripts) == sorted([*COMMANDS, "netsum"])
