"""Ranks in racks, and checkpoints of racks: whether a run fits the layout of its checkpoint folder.

One server keeps ``NAME.npz`` in the folder itself, those of racks in ``rack-0``, ``rack-1`` ...: a run of the other
kind would find nothing there and silently start from the beginning.
"""

from __future__ import annotations

from pathlib import Path

from hostagent.cli.parsing import UsageError
from hostagent.launch.aggregators import RACK_FOLDER, in_runs

MOST_RACKS = 16


def place_ranks(ranks: int, racks: int, text: str | None) -> tuple[int, ...]:
    """The rack of each rank: contiguous blocks of ranks, or as ``--rack-of 0,0,1,1`` says. Empty for a single rack.

    Raises UsageError.
    """
    if racks > ranks:
        raise UsageError(f"{racks} racks for {ranks} ranks: give at most one for each rank", "--racks")
    if text is None:
        return in_runs(ranks, racks) if racks > 1 else ()
    parts = text.split(",")
    if len(parts) != ranks or not all(part.isdecimal() for part in parts):
        example = ",".join(map(str, in_runs(ranks, min(ranks, max(racks, 2)))))
        raise _bad_rack_of(text, f"give a rack for each of {ranks} ranks, as in {example}")
    rack_of = tuple(map(int, parts))
    if racks > 1 and set(rack_of) != set(range(racks)):
        raise _bad_rack_of(text, f"--racks {racks} are 0 to {racks - 1}, and each must have a rank")
    if set(rack_of) != set(range(1 + max(rack_of))) or not 1 <= max(rack_of) < MOST_RACKS:
        raise _bad_rack_of(text, f"there are 2 to {MOST_RACKS} racks, numbered from 0, and each must have a rank")
    return rack_of


def _bad_rack_of(text: str, why: str) -> UsageError:
    return UsageError(f"{text!r}: {why}", "--rack-of")


FILES = "*.npz"
"""As in `rackserver.checkpoint_folder`, which would import the server's loops here."""


def check_layout(folder: Path, racks: int) -> None:
    """Raises UsageError if a run with this number of rack servers would ignore checkpoints in the folder."""
    files = sorted(path.name for path in folder.glob(FILES))
    there = _racks_in(folder)
    of_one = f"one server ({', '.join(files[:2])}{', ...' if len(files) > 2 else ''})"
    of_racks = f"racks ({', '.join(f'{RACK_FOLDER}{rack}' for rack in there)})"
    these = "this is one server" if racks == 1 else f"these are {racks} racks"
    if files and there:
        raise _refused(
            f"{folder} has checkpoints of {of_one} and of {of_racks}: remove those that are not to be continued"
        )
    if files and racks > 1:
        raise _refused(
            f"{folder} has checkpoints of {of_one}, and {these}: leave out --racks and --rack-of to continue"
        )
    if there and (racks == 1 or max(there) >= racks):
        needed = max(2, max(there) + 1)
        raise _refused(f"{folder} has checkpoints of {of_racks}, and {these}: give --racks {needed} to continue")


def check_server_folder(folder: Path, rack: int | None) -> None:
    """The same for one server that is started by itself: its folder must not be the parent of racks' folders."""
    there = _racks_in(folder)
    if there:
        own = folder / f"{RACK_FOLDER}{there[0] if rack is None else rack}"
        raise _refused(
            f"{folder} has checkpoints of racks ({', '.join(f'{RACK_FOLDER}{each}' for each in there)}), and a server "
            f"reads its own folder only: give --checkpoint {own} to continue"
        )


def _racks_in(folder: Path) -> list[int]:
    """Numbers of the racks that have a checkpoint."""
    numbers = (path.parent.name.removeprefix(RACK_FOLDER) for path in folder.glob(f"{RACK_FOLDER}*/{FILES}"))
    return sorted({int(number) for number in numbers if number.isdecimal()})


def _refused(why: str) -> UsageError:
    return UsageError(f"{why}, or --no-restore, or another folder", "--checkpoint")
