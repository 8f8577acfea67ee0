"""Whether a folder of checkpoints is one server's or several racks', which a run's servers have to be, too.

One server keeps ``NAME.npz`` in the folder itself, those of racks in ``rack-0``, ``rack-1`` ...: a run of the other
kind would find nothing there, and begin anew without a word.
"""

from __future__ import annotations

from pathlib import Path

import typer

from hostagent.launch.aggregators import RACK_FOLDER

FILES = "*.npz"
"""As in `rackserver.checkpoint_folder`, which would import the server's loops here."""


def check_layout(folder: Path, racks: int) -> None:
    """Raises typer.BadParameter where a run with so many rack servers would leave checkpoints in the folder unread."""
    files = sorted(path.name for path in folder.glob(FILES))
    there = _racks_in(folder)
    of_one = f"one server ({', '.join(files[:2])}{', ...' if len(files) > 2 else ''})"
    of_racks = f"racks ({', '.join(f'{RACK_FOLDER}{rack}' for rack in there)})"
    these = "this is one server" if racks == 1 else f"these are {racks} racks"
    if files and there:
        raise _refused(
            f"{folder} has checkpoints of {of_one} and of {of_racks}: move away what is not to be gone on from"
        )
    if files and racks > 1:
        raise _refused(f"{folder} has checkpoints of {of_one}, and {these}: leave out --racks and --rack-of to go on")
    if there and (racks == 1 or max(there) >= racks):
        needed = max(2, max(there) + 1)
        raise _refused(f"{folder} has checkpoints of {of_racks}, and {these}: give --racks {needed} to go on")


def check_server_folder(folder: Path, rack: int | None) -> None:
    """The same for one server that is started by itself, with a folder of its own: one that has racks' is above it."""
    there = _racks_in(folder)
    if there:
        own = folder / f"{RACK_FOLDER}{there[0] if rack is None else rack}"
        raise _refused(
            f"{folder} has checkpoints of racks ({', '.join(f'{RACK_FOLDER}{each}' for each in there)}), and a server "
            f"reads those of its own folder only: give --checkpoint {own} to go on"
        )


def _racks_in(folder: Path) -> list[int]:
    """Numbers of the racks that have a checkpoint."""
    numbers = (path.parent.name.removeprefix(RACK_FOLDER) for path in folder.glob(f"{RACK_FOLDER}*/{FILES}"))
    return sorted({int(number) for number in numbers if number.isdecimal()})


def _refused(why: str) -> typer.BadParameter:
    return typer.BadParameter(f"{why}, or --no-restore, or another folder", param_hint="--checkpoint")
