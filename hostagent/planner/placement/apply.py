"""An order of ranks for what starts them: a host file, a rank file, an environment for torchrun."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hostagent.planner.placement.costs import PlacementError, read_object, write_text

FIELDS = ("hosts", "algorithm", "size_bytes", "is_exact", "cost_ns", "given_cost_ns", "elapsed_ns", "given_elapsed_ns")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")


def write_order(hosts: Sequence[str], found: Mapping[str, object], path: Path) -> None:
    """``found``: the other fields, which say how it came about. Raises PlacementError."""
    write_text(path, json.dumps({"hosts": list(hosts), **found}, indent=1) + "\n")


def read_order(path: Path) -> Sequence[str]:
    """Host names, that of rank 0 first. Raises PlacementError with file and field."""
    hosts = read_object(path, FIELDS, "hosts")["hosts"]
    if not isinstance(hosts, list) or not hosts:
        raise PlacementError(f"{path}: hosts: this has to be a list of hosts' names, that of rank 0 first")
    for index, name in enumerate(hosts):
        if not isinstance(name, str) or not HOST_NAME.fullmatch(name):
            raise PlacementError(f"{path}: hosts[{index}]: {name!r} is no host's name")
        if name in hosts[:index]:
            raise PlacementError(f"{path}: hosts[{index}]: {name!r} is there twice: one rank is on each host")
    return hosts


def host_file(hosts: Sequence[str]) -> str:
    """Of MPI launchers: ranks are given to hosts from the first line on."""
    return "".join(f"{name} slots=1\n" for name in hosts)


def rank_file(hosts: Sequence[str]) -> str:
    """Of Open MPI (mpirun --rankfile, section "Rankfiles" of its manual page)."""
    return "".join(f"rank {rank}={name} slot=0\n" for rank, name in enumerate(hosts))


def torchrun_environment(hosts: Sequence[str]) -> str:
    """A script to be sourced on every host before torchrun, which reads its options from PET_ variables; with one rank
    on each host, the rank of the node is the rank. The host is what `hostname` prints."""
    names = (shlex.quote(name) for name in hosts)
    cases = [f"  {name}) export PET_NODE_RANK={rank} ;;" for rank, name in enumerate(names)]
    return "\n".join(
        (
            'case "$(hostname)" in',
            *cases,
            '  *) echo "$(hostname): no host of this job" >&2; return 1 ;;',
            "esac",
            f"export PET_NNODES={len(hosts)} PET_NPROC_PER_NODE=1 PET_MASTER_ADDR={shlex.quote(hosts[0])}",
            "",
        )
    )


FORMS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "hostfile": host_file,
    "rankfile": rank_file,
    "torchrun": torchrun_environment,
}
"""By the word on the command line."""
