"""Rendezvous of ranks through torch's store, which names the ranks that did not arrive in time.

A call uses the store alone, no operation of the group, so a time-out leaves the group usable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from torch._C._distributed_c10d import Store

LEAST_WAIT_S = 0.001
VERDICT_MARGIN_S = 5.0
"""Additional time for which the other ranks wait for rank 0's verdict, which names the missing ranks."""


def answer(store: Store, call: str, rank: int, text: str = "") -> None:
    """Report that this rank has arrived, with a ``text`` for the others."""
    store.set(_key(call, rank), text)


def missing(store: Store, call: str, ranks: Sequence[int], timeout_s: float) -> list[int]:
    """Those of ``ranks`` that have not arrived within ``timeout_s``."""
    keys = [_key(call, rank) for rank in ranks]
    try:
        store.wait(keys, timedelta(seconds=max(LEAST_WAIT_S, timeout_s)))
    except RuntimeError:
        return [rank for rank, key in zip(ranks, keys, strict=True) if not store.check([key])]
    return []


def said(store: Store, call: str, rank: int) -> str:
    """The text of a rank that has arrived."""
    return str(store.get(_key(call, rank)).decode())


def next_call(store: Store, name: str, rank: int) -> str:
    """A unique name for this call: the n-th call of ``name`` on one rank meets the n-th on the others."""
    return f"{name} {store.add(f'{name} of rank {rank}', 1)}"


def monitored_barrier(
    store: Store, rank: int, size: int, timeout_s: float, wait_all_ranks: bool, margin_s: float = VERDICT_MARGIN_S
) -> str:
    """As gloo's: rank 0 waits for the others, the others for its verdict. The error text; empty on success."""
    call = next_call(store, "netsum/monitored barrier", rank)
    milliseconds = f"{timeout_s * 1e3:g} ms"
    if rank:
        answer(store, call, rank)
        if missing(store, call, [0], timeout_s + margin_s):
            return f"Rank {rank} timed out in monitoredBarrier after {milliseconds}: rank 0 did not come to it"
        verdict = said(store, call, 0)
        problem = "but received errors while waiting for send/recv from rank 0"
        return f"Rank {rank} successfully reached monitoredBarrier, {problem}: {verdict}" if verdict else ""
    verdict = ""
    if timeout_s <= 0:
        verdict = f"Rank 0 timed out in monitoredBarrier after {milliseconds}"
        answer(store, call, 0, verdict)
        return verdict
    absent = _absent(store, call, size, timeout_s, wait_all_ranks)
    if absent:
        who = f"Ranks {', '.join(map(str, absent))}" if wait_all_ranks else f"Rank {absent[0]}"
        verdict = f"{who} failed to pass monitoredBarrier in {milliseconds}"
    answer(store, call, 0, verdict)
    return verdict


def _absent(store: Store, call: str, size: int, timeout_s: float, wait_all_ranks: bool) -> list[int]:
    if wait_all_ranks:
        return missing(store, call, range(1, size), timeout_s)
    end_s = time.monotonic() + timeout_s
    for rank in range(1, size):
        if missing(store, call, [rank], end_s - time.monotonic()):
            return [rank]
    return []


def _key(call: str, rank: int) -> str:
    return f"{call}/{rank}"
