"""Packets of several reductions into one machine, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pspin_model.machine.machine import Context, Machine


def inject_in_turns(machine: Machine, parts: Sequence[tuple[Context, dict[str, Any]]]) -> None:
    """Queue the packets of several contexts, each given as arguments of `Machine.inject`, in order of time."""
    if len(parts) == 1:
        machine.inject(parts[0][0], **parts[0][1])
    if len(parts) < 2:
        return
    owner = np.concatenate([np.full(len(part["at"]), context.index) for context, part in parts])
    order = np.argsort(np.concatenate([part["at"] for _, part in parts]), kind="stable")
    rest = {
        name: np.concatenate([part[name] for _, part in parts])[order] for name in parts[0][1] if name != "data"
    }  # fmt: skip
    # none of them has a handler at the end of a message
    machine.inject(parts[0][0], data=_ordered([part["data"] for _, part in parts], order), **rest,
                   contexts=owner[order], last=0)  # fmt: skip


def _ordered(data: Sequence[Any], order: Any) -> Any:
    """Packets' bytes, given as arrays of a row each or as lists, in another order."""
    if all(isinstance(each, np.ndarray) and each.shape[1] == data[0].shape[1] for each in data):
        return np.concatenate(data)[order]
    flat = [bytes(packet) for each in data for packet in each]
    return [flat[place] for place in order]
