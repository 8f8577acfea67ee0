"""Ranks of a script that are forked from one process, once that has imported what the script imports.

    python -m tests.labs.forked_ranks SIZE SCRIPT ARGUMENT ...

Importing FSDP, DTensor and torch.compile takes seconds of CPU time; so four ranks need a third of the time. The script
defines ``main()``, and makes no process group when it is imported. The controller's address is in NETSUM_CONTROLLER.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.labs.torch_jobs import free_port


def run_rank(script: dict[str, Any]) -> int:
    """The script's ``main``; the exit code."""
    try:
        script["main"]()
    except BaseException:  # also SystemExit: the process ends here in any case
        traceback.print_exc()
        return 1
    return 0


def fork_ranks(size: int, port: int, script: dict[str, Any]) -> list[int]:
    """A process for each rank, in which the script's ``main`` runs; their ids."""
    os.environ |= {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = []
    for rank in range(size):
        pid = os.fork()
        if pid == 0:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            code = run_rank(script)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        ranks.append(pid)
    return ranks


def main() -> int:
    """0 if every rank ended well."""
    size, path, *arguments = sys.argv[1:]
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    os.environ["OMP_NUM_THREADS"] = "1"
    script = runpy.run_path(path, run_name="forked")
    ranks = fork_ranks(int(size), free_port(), script)
    return int(any(os.waitpid(pid, 0)[1] for pid in ranks))


if __name__ == "__main__":
    sys.exit(main())
