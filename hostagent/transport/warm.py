"""Compiling the ranks' loops once per machine and version, not once per rank, and running them without the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.native.jit_cache import source_stamp
from emulator.native.loops_file import adopt_loops
from emulator.native.object_code import ObjectCodeError, release_linker

_adopted = False


def ensure_warm(*, say: bool = True) -> bool:
    """Returns when this process has the ranks' loops; True if this call compiled them. ``say``: on stderr."""
    global _adopted
    if _adopted:
        return False
    try:
        compiled = adopt_loops("host-loops", source_stamp(__file__), all_entries(), say=say)
    except (OSError, ObjectCodeError):
        return False  # no place to cache in, or another compiler than ours: each rank compiles for itself
    _adopted = True
    release_linker()
    return compiled


def all_entries() -> list[tuple[Any, int]]:
    """What is called by its name, and the large loops that are called by their address (see ``entry_address``)."""
    from hostagent.protocol.worker.dequantize_result import store_lanes
    from hostagent.protocol.worker.quantize_contribution import fill_lanes
    from hostagent.protocol.worker.served_lanes import fill_served, store_served

    return [*entries(), *((loop, 5) for loop in (fill_lanes, store_lanes, fill_served, store_served))]


def entries() -> list[tuple[Any, int]]:
    """(function, number of int64 arguments), the largest first. A test compares this with what a rank really calls."""
    from emulator.ports import host
    from emulator.ports.cable import shm, wake_peer
    from hostagent.protocol import operation
    from hostagent.protocol.worker import restart
    from hostagent.transport.loop import calls as loop_calls
    from hostagent.transport.loop import loop, turns

    found: list[tuple[Callable[..., Any], int]] = [
        (turns.run_loop, 1),
        (turns.wait_by_turns, 4),
        (turns.take_turn, 1),
        (restart.core_resume, 4),
        (host.host_posted, 1),
        (host.host_consumed, 1),
        (wake_peer.ring_peer, 1),
        (wake_peer.leave_peer, 1),
        (operation.operation_hash, 8),
        (loop.wake_waiters, 1),
        (shm._load, 1),
        (shm._store, 2),
    ]
    for name, arguments in CALLS.items():
        found.append((getattr(loop_calls, name), arguments))
    return list(found)


CALLS = {
    "is_done": 2,
    "status_of": 2,
    "wait_done": 3,
    "publish_word": 2,
    "wait_any": 2,
    "wake": 3,
    "command": 5,
    "wait_command": 3,
}
