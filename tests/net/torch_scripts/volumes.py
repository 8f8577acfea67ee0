"""Bytes at the switch's ports of one call of each operation, beside the formulas; every rank prints a line for each.

Arguments: where the P4 switch answers, and its lanes. A call in which a rank has repeated a frame (this machine may
stand still for longer than a time-out) is made again: the formulas are for calls without loss.
"""

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say

sys.path.insert(0, str(Path(__file__).parents[3]))

from emulator.rpc.statistics import read_statistics
from hostagent.protocol.messages.frames import ACKNOWLEDGEMENT_FRAME_BYTES
from tests.oracles.volumes import Volumes

CONTROL, LANES = sys.argv[1], int(sys.argv[2])
ATTEMPTS, PATIENCE_S = 20, 10.0
CASES = ((900, torch.int32), (5000, torch.float32))

dist.init_process_group("netsum")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
BESIDE = dist.new_group(backend="gloo")
CHANNEL = dist.group.WORLD._channel


def counters():
    """(bytes up, bytes down, frames of acknowledgement sent, received, frames repeated) so far."""
    port = read_statistics(CONTROL)["ports"][str(PORT)]
    own = CHANNEL.statistics()
    acknowledgements = [own[f"message/acknowledgements_{way}"] for way in ("sent", "received")]
    repeated = own["retransmissions_sent"] + own["message/retransmissions_sent"]
    return torch.tensor([int(port["bytes_in"]), int(port["bytes_out"]), *acknowledgements, repeated])


def everywhere(flag, operator):
    """A flag of all ranks, by gloo, and so beside the switch."""
    flags = torch.tensor([int(flag)])
    dist.all_reduce(flags, operator, group=BESIDE)
    return bool(flags[0])


def measured(call, volume):
    """Bytes (up, down) without acknowledgements; waits until frames on the way have been counted."""
    for _ in range(ATTEMPTS):
        dist.barrier(group=BESIDE)
        before = counters()
        dist.barrier(group=BESIDE)
        call()
        end_s = time.monotonic() + PATIENCE_S
        while True:
            up, down, sent, received, repeated = (counters() - before).tolist()
            found = up - ACKNOWLEDGEMENT_FRAME_BYTES * sent, down - ACKNOWLEDGEMENT_FRAME_BYTES * received
            if not everywhere(found != volume and time.monotonic() < end_s and not repeated, dist.ReduceOp.MAX):
                break
        frames = (max(0, volume[1]) + 66) // 66
        if not everywhere(repeated, dist.ReduceOp.MAX):
            assert sent <= frames, "an acknowledgement for each frame of a message at most"
            return found
    raise AssertionError("frames were repeated in every attempt")


def check(name, call, volume):
    say(f"{RANK} {name} {measured(call, volume)} {volume}")


def operations(count, dtype):
    """(name, call, its formula's bytes)."""
    volumes = Volumes(SIZE, LANES, count, dtype)
    tensor, parts = torch.ones(count, dtype=dtype), torch.ones(SIZE * count, dtype=dtype)
    rows, others = list(parts.view(SIZE, count)), torch.ones_like(parts)

    def send():
        if RANK == 0:
            dist.send(tensor, SIZE - 1)
        elif RANK == SIZE - 1:
            dist.recv(tensor, 0)

    yield "all_reduce", lambda: dist.all_reduce(tensor), volumes.all_reduce(RANK)
    yield "reduce", lambda: dist.reduce(tensor, 1), volumes.reduce(RANK, 1)
    yield "reduce_scatter", lambda: dist.reduce_scatter_tensor(tensor, parts), volumes.reduce_scatter(RANK)
    yield "broadcast", lambda: dist.broadcast(tensor, 1), volumes.broadcast(RANK, 1)
    yield "all_gather", lambda: dist.all_gather_into_tensor(parts, tensor), volumes.all_gather(RANK)
    yield "barrier", dist.barrier, volumes.barrier(RANK)
    yield "send", send, volumes.send(RANK, 0, SIZE - 1)
    yield "gather", lambda: dist.gather(tensor, rows if RANK == 1 else None, 1), volumes.gather(RANK, 1)
    yield "scatter", lambda: dist.scatter(tensor, rows if RANK == 1 else None, 1), volumes.scatter(RANK, 1)
    yield "all_to_all", lambda: dist.all_to_all_single(others, parts), volumes.all_to_all(RANK)


dist.barrier()
PORT = CHANNEL._transport.session._jobs[CHANNEL.membership.job].lease.port_number
for count, dtype in CASES:
    for name, call, volume in operations(count, dtype):
        check(f"{name} {count} {dtype}".replace("torch.", ""), call, volume)
dist.destroy_process_group()
