"""CPU seconds of a benchmark's processes: what a step costs, whoever else is busy on the machine."""

from __future__ import annotations

import os
from pathlib import Path

ROOT_VARIABLE = "NETSUM_BENCH_ROOT"
"""Process whose descendants are the benchmark's."""
TICKS = os.sysconf("SC_CLK_TCK")


def by_process(root: int) -> dict[int, tuple[str, float]]:
    """Command line and CPU seconds so far of every living descendant of a process."""
    parents, found = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        found[pid] = (command, (int(fields[11]) + int(fields[12])) / TICKS)
    return {pid: found for pid, found in found.items() if _descends(pid, root, parents)}


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    pid = parents.get(pid, 0)
    while pid > 1 and pid != root:
        pid = parents.get(pid, 0)
    return pid == root


def spent(before: dict[int, tuple[str, float]], after: dict[int, tuple[str, float]]) -> dict[str, float]:
    """CPU seconds between two looks, by what a process is: ``ranks``, ``server`` and ``others``."""
    sums = {"ranks": 0.0, "server": 0.0, "others": 0.0}
    for pid, (command, seconds) in after.items():
        kind = "ranks" if "server_ranks.py" in command and " run " not in f" {command} " else "others"
        if " server " in f" {command} " and "server_ranks.py" not in command:
            kind = "server"
        sums[kind] += seconds - before.get(pid, ("", 0.0))[1]
    return sums
