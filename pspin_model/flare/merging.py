"""Packets of several reductions into one machine, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pspin_model.machine.machine import Context, Machine


class Sender(Protocol):
    """A reduction with packets to send."""

    context: Context

    def packets(self) -> dict[str, Any]:
        """Arguments of `Machine.inject`."""


def inject_together(machine: Machine, senders: Sequence[Sender]) -> None:
    """Queue all packets as they come: the network interface takes them in order."""
    inject_in_turns(machine, [(sender.context, sender.packets()) for sender in senders])


def inject_in_turns(machine: Machine, parts: Sequence[tuple[Context, dict[str, Any]]]) -> None:
    """Queue the packets of several contexts, each given as arguments of `Machine.inject`, in order of time."""
    if len(parts) == 1:
        machine.inject(parts[0][0], **parts[0][1])
    if len(parts) < 2:
        return
    at = np.concatenate([part["at"] for _, part in parts])
    owner = np.concatenate([np.full(len(part["at"]), number) for number, (_, part) in enumerate(parts)])
    within = np.concatenate([np.arange(len(part["at"])) for _, part in parts])
    order = np.argsort(at, kind="stable")
    turns = np.flatnonzero(np.diff(owner[order])) + 1
    for run in np.split(order, turns):
        (context, part), chosen = parts[owner[run[0]]], within[run]
        data = part["data"]
        rows = data[chosen] if isinstance(data, np.ndarray) else [data[place] for place in chosen]
        rest = {name: value[chosen] for name, value in part.items() if name != "data"}
        machine.inject(context, data=rows, **rest)
