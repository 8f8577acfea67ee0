"""Process groups with ranks as threads of the test process, over the loopback transport."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend.group import NetsumProcessGroup
from hostagent.transport.loopback import LoopbackHub

TIMEOUT = timedelta(seconds=20)


def make_groups(size: int, timeout: timedelta = TIMEOUT) -> list[NetsumProcessGroup]:
    """One group object per rank."""
    hub = LoopbackHub(size)
    return [NetsumProcessGroup(HashStore(), rank, size, timeout, hub.channel(rank)) for rank in range(size)]


def run_ranks(body: Callable[[NetsumProcessGroup, int], Any], size: int = 3, timeout: timedelta = TIMEOUT) -> list[Any]:
    """``body(group, rank)`` on every rank at once; what each returned, or the first exception."""
    groups = make_groups(size, timeout)
    together = threading.Barrier(size)

    def one(rank: int) -> Any:
        together.wait()
        return body(groups[rank], rank)

    with ThreadPoolExecutor(size) as pool:
        return [future.result() for future in [pool.submit(one, rank) for rank in range(size)]]
