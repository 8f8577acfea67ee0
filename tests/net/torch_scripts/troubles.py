"""One trouble each; the argument says which. What it prints at the end is what the test looks at."""

import ctypes
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def first_sum():
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    assert (tensor == dist.get_world_size()).all()


def hold_gil():
    """Native code that keeps the GIL for 8 s, three more than a rank may be silent."""
    first_sum()
    if RANK == 1:
        ctypes.PyDLL(None).sleep(8)
    first_sum()


def die():
    first_sum()
    if RANK == 1:
        print("dying", flush=True)
        os.kill(os.getpid(), 9)
    started = time.monotonic()
    try:
        first_sum()
    except RuntimeError as error:
        print(f"after {time.monotonic() - started:.1f} s: {error}")


def die_in_messages():
    """While it takes part in an exchange that is far from over."""
    first_sum()
    try:
        if RANK == 1:
            dist.isend(torch.ones(10_000_000), 0)
            os.kill(os.getpid(), 9)
        dist.all_to_all_single(torch.empty(3_000_000), torch.ones(3_000_000))
    except RuntimeError as error:
        print(error)


def unsent():
    first_sum()
    try:
        if RANK == 0:
            dist.recv(torch.ones(10), 1, tag=3)
        else:
            time.sleep(4)  # so that its own time-out passes later
            dist.barrier()
    except RuntimeError as error:
        print(error)


def stall():
    """Alive but absent: an error at the operation's time-out, on every rank."""
    first_sum()
    if RANK == 1:
        time.sleep(6)
    work = None
    try:
        work = dist.all_reduce(torch.ones(10), async_op=True) if RANK == 1 else slow_start()
        work.wait()
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}")


def late_group():
    """A rank that does not come to a group that the others make."""
    first_sum()
    store = dist.distributed_c10d._get_default_store()
    if RANK == 1:
        store.wait(["given up"], timedelta(seconds=60))
        return
    try:
        group = dist.new_group([0, 1], timeout=timedelta(seconds=2))
        dist.all_reduce(torch.ones(10), group=group)
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}")
    store.set("given up", "")


def slow_start():
    options = dist.AllreduceOptions()
    options.timeout = timedelta(seconds=2)
    return dist.group.WORLD.allreduce([torch.ones(10)], options)


def wait_briefly():
    first_sum()
    store = dist.distributed_c10d._get_default_store()
    if RANK == 1:
        store.wait(["rank 0 has waited"])
    tensor = torch.ones(10)
    work = dist.all_reduce(tensor, async_op=True)
    if RANK == 0:
        try:
            work.wait(timedelta(milliseconds=200))
        except RuntimeError as error:
            print(f"{type(error).__name__}: {error}")
        print("completed" if work.is_completed() else "still running")
        store.set("rank 0 has waited", "")
    work.wait()
    assert (tensor == dist.get_world_size()).all()


def disagree():
    try:
        dist.all_reduce(torch.ones(10 + RANK))
    except RuntimeError as error:
        print(error)


def refuse():
    for tensor, operator in ((torch.ones(3), dist.ReduceOp.BAND), (torch.eye(3).to_sparse_csr(), dist.ReduceOp.SUM)):
        try:
            dist.all_reduce(tensor, op=operator)
        except RuntimeError as error:
            print(error)
    first_sum()


def futures():
    tensors = [torch.full((1000,), float(value)) for value in range(20)]
    chained = [
        dist.all_reduce(tensor, async_op=True).get_future().then(lambda future: future.value()[0].sum().item())
        for tensor in tensors
    ]
    values = torch.futures.wait_all(chained)
    assert values == [1000.0 * value * dist.get_world_size() for value in range(20)], values


timeout = timedelta(seconds={"never_joins": 4, "unsent": 10}.get(sys.argv[1], 60))
if sys.argv[1] == "never_joins" and RANK == 2:
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), 3, False)
    signal.pause()  # there, as far as torch's store goes, but in no group
dist.init_process_group("netsum", timeout=timeout)  # where never_joins ends
globals()[sys.argv[1]]()
print("end of script")
