"""One trouble after the other, each on processes of its own: what every rank is told, and when its process is gone.

    python trouble_table.py TROUBLE.CALL ...     (NETSUM_CONTROLLER says where the controller is)

For every trouble, three ranks are forked that make a group, call ``CALL`` and then a barrier. The ranks print the error
that ends this as lines of JSON, and the parent the exit code of each and the seconds until then.
"""

import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch.distributed as dist
from lines import say

from hostagent.transport.warm import ensure_warm
from tests.labs.forked_ranks import fork_ranks
from tests.labs.program_ranks import START, Rank
from tests.labs.torch_jobs import free_port
from tests.net.trouble_cases import AT_ONCE, BOUND_S, CASES, SIZE, TIMEOUT_S, TROUBLED, Case


def main() -> None:
    """One rank of one case; which one is in the environment."""
    case, rank = CASES[os.environ["CASE"]], int(os.environ["RANK"])
    dist.init_process_group("netsum", timeout=timedelta(seconds=60))
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    store.set(f"rank {rank} began", "")
    store.wait([f"rank {each} began" for each in range(SIZE)])  # nobody is in the barrier when the trouble comes
    if case.times_out:
        dist.group.WORLD.set_timeout(timedelta(seconds=TIMEOUT_S))
    error = ""
    try:
        perform(case, rank)
    except RuntimeError as caught:
        error = f"{type(caught).__name__}: {caught}"
    say(json.dumps({"case": case.name, "rank": rank, "error": error}))


def perform(case: Case, rank: int) -> None:
    step = case.wrong if rank == TROUBLED else case.step
    member = Rank(dist.group.WORLD, rank, SIZE, False, 64)
    if rank == TROUBLED and case.trouble == "absent":
        time.sleep(2 * TIMEOUT_S)
    if rank == TROUBLED and case.trouble == "left":
        dist.destroy_process_group()
        return
    started = START[step.call](member, step)
    if rank == TROUBLED and case.trouble == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    for work in started.works:
        work.wait()
    # for ranks that the trouble does not reach in the call
    dist.group.WORLD.barrier(timeout=timedelta(seconds=BOUND_S)).wait()


def run_all(names: list[str]) -> None:
    """So many at a time; a process that outlives the bound is killed, and said to have."""
    waiting, running = list(names), {}
    while waiting or running:
        while waiting and len(running) < SIZE * AT_ONCE:
            name = waiting.pop(0)
            os.environ["CASE"] = name
            for rank, pid in enumerate(fork_ranks(SIZE, free_port(), {"main": main})):
                running[pid] = name, rank, time.monotonic()
        for pid, (name, rank, began_s) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            seconds = time.monotonic() - began_s
            if not ended and seconds > BOUND_S:
                os.kill(pid, signal.SIGKILL)
                ended, _ = os.waitpid(pid, 0)
                status = -1
            if ended:
                del running[pid]
                say(json.dumps({"case": name, "rank": rank, "status": status, "seconds": seconds}))
        time.sleep(0.005)


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    ensure_warm()  # compiled by ranks, the loops would take some of the time that each case has
    run_all(sys.argv[1:] or list(CASES))
