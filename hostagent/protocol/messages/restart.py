"""Freeze and resume, the end of the job, and ranks that leave.

The aggregator has no state of messages, so a restart loses only what was under way: a rank that resumes sends it again
under the new epoch.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from hostagent.protocol.messages.losses import lose_all
from hostagent.protocol.messages.records import (
    ACKNOWLEDGE_NOW,
    ANY_SOURCE,
    FAILED,
    FREE,
    FROZEN,
    NONE,
    RUNNING,
    core_at,
)
from hostagent.protocol.messages.transfers import fail, stream_of, transfer_of
from hostagent.protocol.worker.retransmission import NEVER_NS

LEAVING_NS = 2_000_000_000
"""How long what was under way when a rank left may still take; a rank that leaves answers for longer than that."""


@njit
def message_freeze(address: int) -> None:
    """Stop sending and listening. A failed core stays failed."""
    core = core_at(address)
    if core.state != FAILED:
        core.state = FROZEN


@njit
def message_resume(address: int, epoch: int, now_ns: int) -> None:
    """Go on in a new epoch; a failed core stays failed."""
    core = core_at(address)
    if core.state == FAILED:
        return
    core.epoch = epoch
    core.state = RUNNING
    core.resumptions += 1
    for peer in range(core.workers):
        stream = stream_of(core, peer)
        lose_all(core, peer)
        stream.progress_ns = now_ns
        stream.heard_ns = now_ns
        stream.regrant_ns = stream.rto_ns
        stream.acknowledge = ACKNOWLEDGE_NOW


@njit
def message_fail(address: int, code: int) -> None:
    """End the job for the caller's own cause (16 and above)."""
    fail(core_at(address), code)


@njit
def message_peer_left(address: int, peer: int, now_ns: int) -> None:
    """A rank has left the job in order: what needs it ends soon, or never."""
    core = core_at(address)
    stream = stream_of(core, peer)
    if stream.left_ns == 0:
        stream.left_ns = max(now_ns, 1)
        core.left_peers += 1


@njit
def message_needs_left(address: int, now_ns: int) -> Any:
    """(rank, when): the rank that left and that a transfer cannot finish without, -1 for none; when to look again."""
    core = core_at(address)
    if core.left_peers == 0 or core.unfinished == 0 or core.state == FAILED:
        return NONE, int(NEVER_NS)
    when_ns = int(NEVER_NS)
    for slot in range(core.transfer_mask + 1):
        transfer = transfer_of(core, slot)
        if transfer.state == FREE:
            continue
        peer, left_ns = needed(core, transfer)
        if left_ns > 0 and now_ns >= left_ns + LEAVING_NS:
            core.left_peer = peer
            return peer, int(NEVER_NS)
        if left_ns > 0:
            when_ns = min(when_ns, left_ns + LEAVING_NS)
    return NONE, when_ns


@njit(internal=True)
def needed(core: Any, transfer: Any) -> Any:
    """The rank that a transfer cannot finish without, and when it left; 0 when it, or any of several, is here."""
    if transfer.peer != ANY_SOURCE:
        return int(transfer.peer), int(stream_of(core, transfer.peer).left_ns)
    latest, latest_ns = int(NONE), 0
    for peer in range(core.workers):
        left_ns = int(stream_of(core, peer).left_ns)
        if peer != core.child and left_ns == 0:
            return int(NONE), 0
        if left_ns > latest_ns:
            latest, latest_ns = int(peer), left_ns
    return latest, latest_ns
