"""Folders of runs: gone at their end, and those of killed runs at the next start."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hostagent.launch.run_folder import PREFIX, YOUNG_S, announce, remove_dead, run_folder, running


def dead_folder(place: Path, age_s: float) -> Path:
    folder = place / f"{PREFIX}killed"
    (folder / "ranks").mkdir(parents=True)
    (folder / "ranks" / "error.json").write_text("{}")
    made_s = time.time() - age_s
    os.utime(folder, (made_s, made_s))
    return folder


def test_a_run_removes_its_folder_and_those_of_the_dead(tmp_path: Path) -> None:
    left = dead_folder(tmp_path, age_s=2 * YOUNG_S)
    with run_folder(tmp_path) as folder:
        assert not left.exists()
        (folder / "switch.log").write_text("started\n")
    assert list(tmp_path.iterdir()) == []


def test_a_living_run_keeps_its_folder_however_old(tmp_path: Path) -> None:
    with run_folder(tmp_path) as folder:
        assert remove_dead(tmp_path, time.time() + 1e6) == []
        assert folder.is_dir()


def test_what_may_be_starting_or_is_no_runs_stays(tmp_path: Path) -> None:
    young = dead_folder(tmp_path, age_s=0)
    linked = tmp_path / f"{PREFIX}link"
    linked.symlink_to(young)
    (tmp_path / "netsum-other").mkdir()
    assert remove_dead(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 3


def test_runs_of_this_machine_are_found_by_their_controller(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}killed").mkdir()
    announce(tmp_path / f"{PREFIX}killed", "127.0.0.1:9", "dead.py")
    with run_folder(tmp_path) as folder:
        assert running(tmp_path) == {}, "it has no controller yet"
        announce(folder, "127.0.0.1:50100", "train.py")
        assert running(tmp_path) == {"127.0.0.1:50100": f"train.py, process {os.getpid()}"}
    assert running(tmp_path) == {}
