"""Sends, receives and the collectives over messages, against what must come; every rank says so at the end."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
BIG = 2_000_003


def pattern(source, target, count, dtype=torch.int32):
    return (torch.arange(count) * 7 + 1000 * source + target).to(dtype)


def check_pairs():
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.bool, torch.uint8, torch.complex64):
        for count in (0, 1, 1000, 100_001):
            target, source = (RANK + 1) % SIZE, (RANK - 1) % SIZE
            got = torch.zeros(count, dtype=dtype)
            works = [dist.irecv(got, source, tag=3), dist.isend(pattern(RANK, target, count, dtype), target, tag=3)]
            for work in works:
                work.wait()
            assert torch.equal(got, pattern(source, RANK, count, dtype)), (dtype, count)


def check_big_and_many_tags():
    if RANK == 0:
        works = [dist.isend(pattern(0, tag, BIG), 1, tag=tag) for tag in range(4)]
    elif RANK == 1:
        got = [torch.zeros(BIG, dtype=torch.int32) for _ in range(4)]
        works = [dist.irecv(got[tag], 0, tag=tag) for tag in reversed(range(4))]
    else:
        works = []
    for work in works:
        work.wait()
    if RANK == 1:
        assert all(torch.equal(each, pattern(0, tag, BIG)) for tag, each in enumerate(got))


def check_any_source_and_self():
    if RANK == 0:
        seen = set()
        for _ in range(SIZE - 1):
            got = torch.zeros(10, dtype=torch.int32)
            source = dist.recv(got)
            assert torch.equal(got, pattern(source, 0, 10))
            seen.add(source)
        assert seen == set(range(1, SIZE))
    else:
        dist.send(pattern(RANK, 0, 10), 0)
    own = torch.zeros(5000, dtype=torch.int32)
    operations = [
        dist.P2POp(dist.isend, pattern(RANK, RANK, 5000), RANK),
        dist.P2POp(dist.irecv, own, RANK),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert torch.equal(own, pattern(RANK, RANK, 5000))


def check_exchanges():
    for count in (1, 300, 100_000):
        outputs = [torch.zeros(count + source + RANK, dtype=torch.int32) for source in range(SIZE)]
        dist.all_to_all(outputs, [pattern(RANK, target, count + RANK + target) for target in range(SIZE)])
        assert all(torch.equal(out, pattern(source, RANK, out.numel())) for source, out in enumerate(outputs))
        root = count % SIZE
        gathered = [torch.zeros(count, dtype=torch.int32) for _ in range(SIZE)] if root == RANK else None
        dist.gather(pattern(RANK, root, count), gathered, dst=root)
        if gathered:
            assert all(torch.equal(got, pattern(source, root, count)) for source, got in enumerate(gathered))
        part = torch.zeros(count, dtype=torch.int32)
        parts = [pattern(root, target, count) for target in range(SIZE)] if root == RANK else None
        dist.scatter(part, parts, src=root)
        assert torch.equal(part, pattern(root, RANK, count))
        total = torch.ones(count)
        dist.all_reduce(total)
        assert (total == SIZE).all()


dist.init_process_group("netsum", timeout=timedelta(seconds=60))
check_pairs()
check_big_and_many_tags()
check_any_source_and_self()
check_exchanges()
print("all equal", flush=True)
dist.destroy_process_group()
