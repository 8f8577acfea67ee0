"""Cores: a handler begins, runs from one point of order to the next, and ends.

A handler's code between two points runs when it is resumed; what it charged passes afterwards, with what cold lines and
busy banks add, and then the engine does what it asked for. The answer resumes it.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from pspin_model.machine.cache import bank_waits, begin_fetch
from pspin_model.machine.config import index_of
from pspin_model.machine.costs import BANK_CONFLICTS, COLD_CACHE
from pspin_model.machine.events import E_COLLECT, E_RESUME, push
from pspin_model.machine.ingest import address_of_row
from pspin_model.machine.layout import (
    CORE_IDLE,
    CORE_RUNNING,
    CORE_STALLED,
    FAULT_LOCK_HELD,
    FAULT_NONE,
    G_FAR_FREE,
    G_FAULTS,
    H_ACCESSES,
    H_ASKED,
    H_BUSY,
    H_CHARGED,
    H_CLUSTER,
    H_CODE,
    H_CONTEXT,
    H_ENGINE_SP,
    H_ENTRY,
    H_EXCEPTION,
    H_FAR_ACCESSES,
    H_FAULT,
    H_FAULT_VALUE,
    H_FEEDBACK,
    H_FETCHED,
    H_FREE_AT,
    H_HANDLER_MEMORY,
    H_HANDLER_MEMORY_BYTES,
    H_HELD,
    H_HOME,
    H_HOST,
    H_HOST_BYTES,
    H_INSTRUCTIONS,
    H_KIND,
    H_LEAVING,
    H_LIMIT,
    H_LINES,
    H_LOCK_BASE,
    H_LOCKS,
    H_MESSAGE,
    H_OPEN,
    H_PACKET,
    H_PACKET_ADDRESS,
    H_PACKET_BYTES,
    H_PACKET_L2,
    H_PENDING,
    H_RECORD,
    H_RESULT,
    H_SCRATCH,
    H_SCRATCH_BYTES,
    H_SEGMENT,
    H_SEGMENT_END,
    H_SOURCE,
    H_SP,
    H_STACK,
    H_STALLED,
    H_START,
    H_STATE,
    H_TAG,
    H_TICKS,
    H_TOTAL_INSTRUCTIONS,
    H_USED,
    H_WAIT,
    L_BUSY,
    L_COLLECT,
    P_BYTES,
    P_CONTEXT,
    P_CORES,
    P_FIRST_CORE,
    P_KIND,
    P_L1_SLOT,
    P_MESSAGE,
    P_NUMBER,
    P_RECORD,
    P_SOURCE,
    P_TAG,
    T_CORE,
    T_DISPATCH,
    T_DOORBELL,
    T_END,
    T_FAULT,
    T_INSTRUCTIONS,
    T_START,
    WAIT_NONE,
    X_CODE,
    X_HANDLER_MEMORY,
    X_HANDLER_MEMORY_BYTES,
    X_HOST,
    X_HOST_BYTES,
    X_LOCK_BASE,
    X_LOCKS,
    X_SCRATCH,
    X_SCRATCH_BYTES,
    State,
)
from pspin_model.machine.ports import wake_cluster
from pspin_model.machine.state import row_at
from pspin_model.machine.switching import (
    FRAME_ARGUMENT,
    FRAME_FUNCTION,
    FRAME_RETURN,
    FRAME_WORDS,
    carray,
    first_instruction,
    switch_stacks,
    words_at,
)

C_START = index_of("dispatch_to_start")
C_FIRST = index_of("first_task_extra")
C_BUSY = index_of("busy_extra")
C_FREE = index_of("doorbell_to_free")
C_LIMIT = index_of("handler_limit")
C_LOOPS = index_of("loop_limit")
C_FAR = index_of("l2_access")
C_CORES = index_of("cores")
C_CLUSTERS = index_of("clusters")


@njit
def l1_address(s: State, cluster: int, slot: int) -> int:
    """Address of a packet's place in a cluster's L1."""
    l1 = s.l1
    return int(l1.ctypes.data + (cluster * l1.shape[1] + slot) * l1.shape[2])


@njit
def begin_handler(s: State, now: int, core: int, row: int) -> None:
    """Give a packet's task to an idle core."""
    h, p = row_at(s.cores, core), row_at(s.packets, row)
    context = row_at(s.contexts, p[P_CONTEXT])
    cluster = h[H_CLUSTER]
    start = now + s.conf[C_START]
    if not h[H_USED]:
        h[H_USED] = 1
        start += s.conf[C_FIRST]
    elif s.clusters[cluster, L_BUSY] >= s.conf[C_CORES] - 1:
        start += s.conf[C_BUSY]
    s.clusters[cluster, L_BUSY] += 1
    t = row_at(s.records, p[P_RECORD])
    t[T_DISPATCH] = now
    t[T_CORE] = core
    t[T_START] = start
    h[H_STATE] = CORE_RUNNING
    h[H_CONTEXT] = p[P_CONTEXT]
    h[H_KIND] = p[P_KIND]
    h[H_PACKET] = row
    h[H_RECORD] = p[P_RECORD]
    h[H_START] = start
    h[H_SEGMENT] = start
    h[H_PACKET_ADDRESS] = l1_address(s, cluster, p[P_L1_SLOT])
    h[H_PACKET_L2] = address_of_row(s.l2, row)
    h[H_PACKET_BYTES] = p[P_BYTES]
    h[H_MESSAGE] = p[P_MESSAGE]
    h[H_HOME] = p[P_FIRST_CORE] // s.conf[C_CORES] if p[P_CORES] > 0 else p[P_MESSAGE] % s.conf[C_CLUSTERS]
    h[H_TAG] = p[P_TAG]
    h[H_SOURCE] = p[P_SOURCE]
    h[H_SCRATCH] = context[X_SCRATCH]
    h[H_SCRATCH_BYTES] = context[X_SCRATCH_BYTES]
    h[H_HANDLER_MEMORY] = context[X_HANDLER_MEMORY]
    h[H_HANDLER_MEMORY_BYTES] = context[X_HANDLER_MEMORY_BYTES]
    h[H_HOST] = context[X_HOST]
    h[H_HOST_BYTES] = context[X_HOST_BYTES]
    h[H_LOCK_BASE] = context[X_LOCK_BASE]
    h[H_LOCKS] = context[X_LOCKS]
    h[H_PENDING] = 0
    h[H_ACCESSES] = 0
    h[H_FAR_ACCESSES] = 0
    h[H_INSTRUCTIONS] = 0
    h[H_TOTAL_INSTRUCTIONS] = 0
    h[H_LIMIT] = s.conf[C_LIMIT]
    h[H_TICKS] = s.conf[C_LOOPS]
    h[H_FAULT] = 0
    h[H_FAULT_VALUE] = 0
    h[H_LINES] = 0
    h[H_HELD] = 0
    h[H_WAIT] = WAIT_NONE
    h[H_CODE] = context[X_CODE + p[P_KIND]]
    _new_stack(h)
    _run(s, core)


@njit
def _new_stack(h: Any) -> None:
    """Lay out a stack on which the next switch starts the handler."""
    base = h[H_STACK] - 8 * 2 * FRAME_WORDS
    frame = carray(words_at(base), FRAME_WORDS)
    for i in range(FRAME_WORDS):
        frame[i] = 0
    frame[FRAME_ARGUMENT] = h.ctypes.data
    frame[FRAME_FUNCTION] = h[H_ENTRY]
    frame[FRAME_RETURN] = first_instruction()
    h[H_SP] = base


@njit
def _run(s: State, core: int) -> None:
    """Let the handler run to its next point of order, and have that come when the charged cycles have passed."""
    h = row_at(s.cores, core)
    h[H_STALLED] = 0
    h[H_FETCHED] = 0
    h[H_ASKED] = -1
    address = h.ctypes.data
    switch_stacks(address + 8 * H_ENGINE_SP, h[H_SP])
    cycles = h[H_PENDING]
    h[H_TOTAL_INSTRUCTIONS] += h[H_INSTRUCTIONS]
    h[H_PENDING] = 0
    h[H_INSTRUCTIONS] = 0
    h[H_SEGMENT_END] = h[H_SEGMENT] + cycles
    if s.costs[COLD_CACHE]:
        h[H_CHARGED] = cycles
        begin_fetch(s, core)
    else:
        push(s, h[H_SEGMENT_END], E_RESUME, core)


@njit
def _far_waits(s: State, core: int, now: int) -> int:
    """Cycles that the accesses to L2 of the segment ending now waited for those of other cores."""
    g, count = s.g, s.cores[core, H_FAR_ACCESSES]
    if count == 0:
        return 0
    start = max(now, g[G_FAR_FREE])
    g[G_FAR_FREE] = start + count * s.conf[C_FAR]
    return int(start - now)


@njit
def waits_for_banks(s: State, now: int, core: int) -> bool:
    """Whether the segment that seems to end now ends later, its accesses to L1 having waited."""
    h = row_at(s.cores, core)
    if h[H_STALLED] or h[H_ACCESSES] + h[H_FAR_ACCESSES] == 0 or not s.costs[BANK_CONFLICTS]:
        return False
    h[H_STALLED] = 1
    waits = bank_waits(s, core, now) + _far_waits(s, core, now)
    h[H_ACCESSES] = 0
    h[H_FAR_ACCESSES] = 0
    if waits == 0:
        return False
    h[H_SEGMENT_END] = now + waits
    push(s, now + waits, E_RESUME, core)
    return True


@njit
def go_on(s: State, at: int, core: int, result: int) -> None:
    """Answer the handler: it goes on at a cycle."""
    h = row_at(s.cores, core)
    h[H_RESULT] = result
    h[H_SEGMENT] = at
    h[H_WAIT] = WAIT_NONE
    h[H_ACCESSES] = 0
    h[H_FAR_ACCESSES] = 0
    _run(s, core)


@njit
def ask_again(s: State, at: int, core: int) -> None:
    """Have the engine look at what the handler asked for once more."""
    s.cores[core, H_WAIT] = WAIT_NONE
    push(s, at, E_RESUME, core)


@njit
def report(s: State, now: int, core: int, kind: int, value: int) -> None:
    """Write a fault down, naming what ran."""
    h, g = row_at(s.cores, core), s.g
    s.records[h[H_RECORD], T_FAULT] = kind
    if g[G_FAULTS] < s.faults.shape[0]:
        f = row_at(s.faults, g[G_FAULTS])
        f[0] = kind
        f[1] = value
        f[2] = h[H_CONTEXT]
        f[3] = h[H_KIND]
        f[4] = h[H_MESSAGE]
        f[5] = s.packets[h[H_PACKET], P_NUMBER]
        f[6] = core
        f[7] = now
        f[8] = h[H_EXCEPTION]
        f[9] = h[H_EXCEPTION + 1]
    g[G_FAULTS] += 1


@njit
def end_handler(s: State, now: int, core: int) -> None:
    """The handler returned or was ended: ring the doorbell, once the feedback before has left its place."""
    h = row_at(s.cores, core)
    if h[H_FAULT] == FAULT_NONE and h[H_HELD] > 0:
        report(s, now, core, FAULT_LOCK_HELD, h[H_HELD])
    t = row_at(s.records, h[H_RECORD])
    t[T_END] = now
    t[T_INSTRUCTIONS] = h[H_TOTAL_INSTRUCTIONS]
    h[H_BUSY] += now - h[H_START]
    if h[H_FEEDBACK] >= 0:
        h[H_STATE] = CORE_STALLED
        return
    ring_doorbell(s, now, core)


@njit
def ring_doorbell(s: State, now: int, core: int) -> None:
    """Hand the task's feedback over; it leaves when the task's commands are done."""
    h = row_at(s.cores, core)
    s.records[h[H_RECORD], T_DOORBELL] = now
    h[H_STATE] = CORE_IDLE
    h[H_FREE_AT] = now + s.conf[C_FREE]
    h[H_FEEDBACK] = h[H_PACKET]
    s.clusters[h[H_CLUSTER], L_BUSY] -= 1
    wake_cluster(s, h[H_CLUSTER], h[H_FREE_AT])
    if h[H_OPEN] == 0:
        give_feedback(s, now, core)


@njit
def give_feedback(s: State, now: int, core: int) -> None:
    """A core's feedback may leave: it asks the cluster's arbiter."""
    h = row_at(s.cores, core)
    h[H_LEAVING] = now
    wake_collect(s, h[H_CLUSTER], now)


@njit
def wake_collect(s: State, cluster: int, at: int) -> None:
    """Have a cluster look at its cores' feedback."""
    c = row_at(s.clusters, cluster)
    if c[L_COLLECT] < 0 or at < c[L_COLLECT]:
        c[L_COLLECT] = at
        push(s, at, E_COLLECT, cluster)
