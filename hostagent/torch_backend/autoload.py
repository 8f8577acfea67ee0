"""Makes ``init_process_group("netsum")`` known to torch; light, because ``import torch`` runs it.

torch calls ``register`` through the entry point ``torch.backends`` (unless TORCH_DEVICE_BACKEND_AUTOLOAD=0), and turns
any exception of ours into a failure of ``import torch`` itself. So hardly anything is imported here but torch's own
distributed module, which ``import torch`` has loaded already; everything else waits for the first group.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from typing import Any

BACKEND = "netsum"

REPLACED = "NETSUM_REPLACE_BACKEND"
"""Environment variable: the backend that netsum replaces, as ``gloo``, in every process group."""


def register() -> None:
    """Register the backend. Idempotent; without effect where torch was built without distributed."""
    import torch.distributed as dist

    from hostagent.torch_backend import failure_report

    failure_report.install()
    if os.environ.get(failure_report.ENABLED_BY):
        _write_whole_lines()
    if dist.is_available() and BACKEND not in dist.Backend.backend_list:
        dist.Backend.register_backend(BACKEND, _create, extended_api=True, devices=["cpu", "cuda"])
        _offer_monitored_barrier(dist)
        if replaced := os.environ.get(REPLACED, "").strip().lower():
            _replace(dist.Backend, replaced)


def _write_whole_lines() -> None:
    """Ranks of ``netsum run`` share its output. Their Python is unbuffered, which writes a line and its end apart, so
    that lines of several ranks would be mixed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def _offer_monitored_barrier(dist: Any) -> None:
    """Let ``torch.distributed.monitored_barrier``, which refuses all backends but gloo, call the group's own method."""
    usual = dist.monitored_barrier

    @functools.wraps(usual)
    def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        is_member = dist.is_initialized() and dist.get_rank(group) >= 0
        if not is_member or dist.get_backend(group) != BACKEND:
            usual(group, timeout, wait_all_ranks)
        else:
            (group or dist.group.WORLD).monitored_barrier(timeout, wait_all_ranks)

    dist.monitored_barrier = dist.distributed_c10d.monitored_barrier = monitored_barrier


def _replace(names: Any, replaced: str) -> None:
    """Make ``torch.distributed.Backend(replaced)`` return ours: all of torch looks backend names up there, also the
    default for CPU tensors where a script names no backend."""
    usual = names.__new__

    def make(cls: Any, name: Any) -> Any:
        made = usual(cls, name)
        return BACKEND if made == replaced else made

    names.__new__ = staticmethod(make)


def _create(options: Any, backend_options: Any) -> Any:
    """torch's creator: called on every rank of a new group."""
    from hostagent.torch_backend.creation import create_group

    return create_group(options, backend_options)
