"""Which rack a rank belongs to, as ``netsum run`` is told."""

from __future__ import annotations

import typer

from hostagent.launch.aggregators import in_runs

MOST_RACKS = 16


def place_ranks(ranks: int, racks: int, told: str | None) -> tuple[int, ...]:
    """The rack of each rank: racks have runs of ranks, or what ``--rack-of 0,0,1,1`` says. Empty where there is one.

    Raises typer.BadParameter.
    """
    if racks > ranks:
        raise typer.BadParameter(f"{racks} for {ranks} ranks: at most one for each", param_hint="--racks")
    if told is None:
        return in_runs(ranks, racks) if racks > 1 else ()
    parts = told.split(",")
    if len(parts) != ranks or not all(part.isdecimal() for part in parts):
        example = ",".join(map(str, in_runs(ranks, min(ranks, max(racks, 2)))))
        raise _refused(told, f"write a rack's number for each of {ranks} ranks, as in {example}")
    rack_of = tuple(map(int, parts))
    if racks > 1 and set(rack_of) != set(range(racks)):
        raise _refused(told, f"--racks {racks} are 0 to {racks - 1}, and each is to have a rank")
    if set(rack_of) != set(range(1 + max(rack_of))) or not 1 <= max(rack_of) < MOST_RACKS:
        raise _refused(told, f"racks are numbered from 0, 2 to {MOST_RACKS} of them, and each is to have a rank")
    return rack_of


def _refused(told: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"{told!r}: {why}", param_hint="--rack-of")
