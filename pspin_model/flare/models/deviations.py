"""Where the simulation parts from the paper's model by more than a tenth, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

APART = 0.10
SHORT_PACKETS = 40
"""Packets of a core below which beginning and end are more than a twentieth of the time."""


def explanation(row: Mapping[str, Any]) -> str:
    """The reason that fits a sweep's row best; "" where bandwidth, and of a sparse one spills, agree within a tenth.

    Where cores are the bottleneck of a dense one two of the row's figures account for all of it: measured / model is
    the part of the cores' time that is busy, times the model's service time over the measured one. The reason says what
    is behind them.
    """
    measured, model = row["bandwidth_gbps"], row["model_gbps"]
    if row["refused"] or not model or not measured:
        return ""
    if "bound" in row:
        return _of_sparse(row, abs(measured / model - 1))
    if abs(measured / model - 1) <= APART:
        return ""
    if measured > model:
        return MERGED if row["algorithm"] == "multi" else PACED
    if row["algorithm"] != "tree" and row["service_cycles"] > 1.1 * row["model_service_cycles"]:
        return SATURATED
    if row["packets"] < SHORT_PACKETS * row["cores"]:
        return SHORT
    return UNEVEN


def _of_sparse(row: Mapping[str, Any], apart: float) -> str:
    if apart > APART:
        return TWO_BOUNDS if row["bound_by_a_hair"] else FEW_BLOCKS if row["bound"] == "locks" else UNEVEN
    spilled = row["spilled"]
    return NEIGHBOURS if spilled and abs(row["model_spilled"] / spilled - 1) > APART else ""


MERGED = "a further buffer is taken only while the others are in use, so there is less to merge at the end"
PACED = "back pressure spaces a block's packets further than the model's pace, so fewer meet"
SATURATED = "cores that wait are refilled: a packet waits for all C-1 others, not for half of them"
SHORT = "so few packets a core that beginning and end weigh: the model knows only the steady state"
UNEVEN = "cores idle while their group has no packet: the model takes any core for any packet"
NEIGHBOURS = "spills: with hardly more indices than entries the hash spreads neighbours, the model takes any entry"
TWO_BOUNDS = "cores and locks take about as long: packets wait now for the one, now for the other"
FEW_BLOCKS = "few packets a block: the lock is idle until they come, the model keeps it busy"
