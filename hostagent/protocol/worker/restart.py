"""Freeze and resume: what a rank does when its aggregator has restarted.

The controller freezes every rank, collects the lowest chunk without a result from each, installs a new epoch that
begins at the minimum, and resumes the ranks there. A rank that is ahead contributes again, from retained frames, to
chunks that it has results of; those results are not stored twice.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import zero_bytes
from hostagent.protocol.worker.lists import chunk_in, clear_lists
from hostagent.protocol.worker.receive import fail
from hostagent.protocol.worker.records import FAILED, FAILED_RETENTION, FROZEN, NO_LIST, RUNNING, core_at
from hostagent.protocol.worker.retransmission import reset_retransmission
from hostagent.protocol.worker.transmit import clear_blocked, set_ready


@njit
def core_freeze(address: int) -> Any:
    """Stop sending and listening; returns the lowest chunk without a result here. A failed core stays failed."""
    core = core_at(address)
    if core.state != FAILED:
        core.state = FROZEN
    return core.low


@njit
def core_resume(address: int, epoch: int, base: int, now_ns: int) -> bool:
    """Go on in a new epoch that begins at chunk ``base``. False when the job has failed, also by this."""
    core = core_at(address)
    if core.state == FAILED:
        return False
    if base > core.low or base < core.retained:
        fail(core, FAILED_RETENTION)  # beyond what we have, or a frame is gone: only a wrong controller asks for that
        return False
    core.epoch = epoch
    core.base = base
    core.floor = base
    core.state = RUNNING
    core.resumptions += 1
    core.waiting_chunk = -1
    clear_lists(core)
    for place in range(core.ring):
        chunk_in(core, place).list = NO_LIST
    zero_bytes(core.ready, core.ring // 8)
    clear_blocked(core)
    for number in range(base, base + core.window):
        set_ready(core, number)
    reset_retransmission(core, now_ns)
    return True


@njit
def core_lowest_unfinished(address: int) -> Any:
    """The lowest chunk without a result on this rank."""
    return core_at(address).low
