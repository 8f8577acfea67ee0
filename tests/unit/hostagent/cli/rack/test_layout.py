"""A folder of checkpoints that is of another number of servers than the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.cli.parsing import UsageError
from hostagent.cli.rack.layout import FILES, check_layout, check_server_folder
from hostagent.rackserver.services.checkpoint_folder import file_name
from tests.clients.command import netsum


def keep(folder: Path, *names: str) -> Path:
    """Checkpoints of these names, as far as anybody looks at them here."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("names", "racks", "what"),
    [
        (["rack-0/a.npz", "rack-1/a.npz"], 1, r"racks \(rack-0, rack-1\), and this is one server: give --racks 2 "),
        (["rack-0/a.npz"], 1, "give --racks 2 "),
        (["rack-0/a.npz", "rack-2/a.npz"], 2, r"\(rack-0, rack-2\), and these are 2 racks: give --racks 3 "),
        (["a.npz"], 2, r"one server \(a.npz\), and these are 2 racks: leave out --racks"),
        (["a.npz", "b.npz", "c.npz"], 2, r"\(a.npz, b.npz, ...\)"),
        (["a.npz", "rack-0/a.npz", "rack-1/a.npz"], 2, "of one server .* and of racks .*: remove those"),
    ],
)
def test_checkpoints_of_another_number_of_servers_are_refused(
    tmp_path: Path, names: list[str], racks: int, what: str
) -> None:
    with pytest.raises(UsageError, match=f"{what}.*, or --no-restore, or another folder"):
        check_layout(keep(tmp_path, *names), racks)


@pytest.mark.parametrize(
    ("names", "racks"),
    [
        ([], 2),
        (["a.npz", "b.npz", "notes/rack.npz", "rack-of-ours/a.npz"], 1),
        (["rack-0/a.npz", "rack-1/a.npz"], 2),
        (["rack-1/a.npz"], 2),  # the other one's is lost, and is brought by this one
        (["rack-0/a.npz", "rack-1/a.npz"], 3),
        (["rack-0/server.lock", "rack-1/server.lock"], 1),  # servers that ended before anything was kept
    ],
)
def test_other_checkpoints_are_gone_on_from(tmp_path: Path, names: list[str], racks: int) -> None:
    check_layout(keep(tmp_path, *names), racks)
    check_layout(tmp_path / "not there yet", racks)


def test_a_run_looks_before_it_starts_and_not_where_it_begins_anew(tmp_path: Path) -> None:
    folder = keep(tmp_path / "kept", "rack-0/a.npz", "rack-1/a.npz")
    words = ["run", "--aggregator", "server", "--checkpoint", str(folder), str(tmp_path / "none.py")]
    refused = netsum(*words)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("netsum run: --checkpoint: ")
    assert "there is no script" in netsum(*words[:-1], "--no-restore", words[-1]).stderr


@pytest.mark.parametrize(("rack", "own"), [(None, "rack-1"), (0, "rack-0"), (1, "rack-1")])
def test_a_server_by_itself_is_refused_the_folder_above_the_racks_folders(
    tmp_path: Path, rack: int | None, own: str
) -> None:
    keep(tmp_path, "rack-1/a.npz")
    with pytest.raises(UsageError, match=f"of racks .rack-1., .*: give --checkpoint {tmp_path / own} to continue"):
        check_server_folder(tmp_path, rack)
    check_server_folder(tmp_path / "rack-1", rack)
    check_server_folder(keep(tmp_path / "alone", "a.npz"), rack)


def test_a_servers_files_are_those_that_are_looked_for() -> None:
    assert Path(file_name("a")).match(FILES)
