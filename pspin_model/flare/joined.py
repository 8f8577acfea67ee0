"""The records of one machine's runs, one after the other, as those of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pspin_model.machine.machine import Run


def join_runs(runs: Sequence[Run]) -> Run:
    """Records in the order of the runs; what counts from the start is the last's. Raises ValueError for none."""
    if not runs:
        raise ValueError("no runs to join")
    if len(runs) == 1:
        return runs[0]
    begins = np.cumsum([0, *(len(run.sent_data) for run in runs[:-1])])
    sent = _joined([run.sent for run in runs])
    sent["offset"] = np.concatenate([run.sent["offset"] + begin for run, begin in zip(runs, begins, strict=True)])
    return replace(
        runs[-1],
        packets=_joined([run.packets for run in runs]),
        sent=sent,
        sent_data=np.concatenate([run.sent_data for run in runs]),
        host_writes=_joined([run.host_writes for run in runs]),
        faults=[fault for run in runs for fault in run.faults],
    )


def _joined(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
