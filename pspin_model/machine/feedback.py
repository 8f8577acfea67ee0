"""The way of feedback: cores, their cluster's register at the scheduler, the message queues.

A core keeps its feedback until its cluster's arbiter takes it; the cluster's register has two places, and the scheduler
takes one feedback a cycle, of the clusters in turn. While the register is full, the arbiter keeps whom it chose, and
does not see who asks later. [src]
"""

from __future__ import annotations

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import ask_again, wake_collect
from pspin_model.machine.events import E_DOORBELL, E_FEEDBACK, push
from pspin_model.machine.fifos import append, arbiter_rank, has_room, later_turn, take
from pspin_model.machine.ingest import begin_message, expect_arrival, list_queue, wake_scheduler, whole_beats
from pspin_model.machine.layout import (
    COMPLETION,
    COMPLETION_RUNNING,
    CORE_STALLED,
    DRAINING,
    FREE,
    G_ACTIVE,
    G_FEEDBACK_AT,
    G_FEEDBACK_TURN,
    G_FREE_PACKETS,
    G_L2_BYTES,
    H_FEEDBACK,
    H_LEAVING,
    H_STATE,
    H_WAIT,
    HEADER_RUNNING,
    L_COLLECT,
    L_COLLECT_CHOSEN,
    L_COLLECT_CHOSEN_AT,
    L_COLLECT_TURN,
    L_FEEDBACK_TAKEN,
    L_FREE_BYTES,
    L_OCCUPANCY,
    P_BYTES,
    P_CLUSTER,
    P_L1_SLOT,
    P_LEAVES,
    P_MESSAGE,
    P_RECORD,
    P_RELEASE,
    PAYLOAD,
    Q_COMPLETION,
    Q_COUNT,
    Q_IN_FLIGHT,
    Q_LISTED,
    Q_STATE,
    T_FEEDBACK,
    WAIT_FEEDBACK,
    State,
)
from pspin_model.machine.state import row_at

C_CLUSTERS = index_of("clusters")
C_CORES = index_of("cores")
C_QUEUES = index_of("message_queues")
C_ENABLE = index_of("feedback_to_command")
C_STALLED = index_of("feedback_to_doorbell")
C_FEEDBACK = index_of("feedback_latency")


@njit
def collect(s: State, now: int, cluster: int) -> None:
    """Take the feedback of the core next in turn into the cluster's register, if that has room."""
    c = row_at(s.clusters, cluster)
    if c[L_COLLECT] != now:
        return
    c[L_COLLECT] = -1
    cores = s.conf[C_CORES]
    best, best_rank, others, turn = -1, 0, False, -1
    for place in range(cores):
        since = s.cores[cluster * cores + place, H_LEAVING]
        if since < 0 or (c[L_COLLECT_CHOSEN] >= 0 and since > c[L_COLLECT_CHOSEN_AT]):
            others = others or since >= 0
            continue
        rank = arbiter_rank(place, c[L_COLLECT_TURN], cores)
        turn = later_turn(place, c[L_COLLECT_TURN], turn)
        if place == c[L_COLLECT_CHOSEN]:
            rank = -1
        others = others or best >= 0
        if best < 0 or rank < best_rank:
            best, best_rank = place, rank
    if best < 0:
        return
    if not has_room(s.feedback_fifo, s.feedback_span, cluster, c[L_FEEDBACK_TAKEN] == now):
        if c[L_COLLECT_CHOSEN] < 0:
            c[L_COLLECT_CHOSEN_AT] = now
        c[L_COLLECT_CHOSEN] = best
        return
    c[L_COLLECT_CHOSEN] = -1
    c[L_COLLECT_TURN] = turn
    core = cluster * cores + best
    h = row_at(s.cores, core)
    row = h[H_FEEDBACK]
    h[H_FEEDBACK] = -1
    h[H_LEAVING] = -1
    append(s.feedback_fifo, s.feedback_span, cluster, row)
    s.packets[row, P_LEAVES] = now + s.conf[C_FEEDBACK]
    wake_feedback(s, now + s.conf[C_FEEDBACK])
    if h[H_STATE] == CORE_STALLED:
        push(s, now + s.conf[C_STALLED], E_DOORBELL, core)
    elif h[H_WAIT] == WAIT_FEEDBACK:
        ask_again(s, now + s.conf[C_ENABLE], core)
    if others:
        wake_collect(s, cluster, now + 1)


@njit
def wake_feedback(s: State, at: int) -> None:
    """Have the scheduler look for a feedback."""
    g = s.g
    if g[G_FEEDBACK_AT] < 0 or at < g[G_FEEDBACK_AT]:
        g[G_FEEDBACK_AT] = at
        push(s, at, E_FEEDBACK, 0)


@njit
def take_feedback(s: State, now: int) -> None:
    """The scheduler takes the feedback of the cluster next in turn."""
    g = s.g
    if g[G_FEEDBACK_AT] != now:
        return
    g[G_FEEDBACK_AT] = -1
    best, best_rank, soonest = -1, 0, -1
    for cluster in range(s.conf[C_CLUSTERS]):
        if s.feedback_span[cluster, 1] == 0:
            continue
        leaves = s.packets[s.feedback_fifo[cluster, s.feedback_span[cluster, 0]], P_LEAVES]
        if leaves > now or best >= 0:
            soonest = max(leaves, now + 1) if soonest < 0 else min(soonest, max(leaves, now + 1))
        if leaves > now:
            continue
        rank = arbiter_rank(cluster, g[G_FEEDBACK_TURN], s.conf[C_CLUSTERS])
        if best < 0 or rank < best_rank:
            best, best_rank = cluster, rank
    if best >= 0:
        g[G_FEEDBACK_TURN] += 1  # this one gives turns whether they are used or not: `empty` of 64 B [rtl]
        c = row_at(s.clusters, best)
        c[L_FEEDBACK_TAKEN] = now
        row = take(s.feedback_fifo, s.feedback_span, best)
        if c[L_COLLECT_CHOSEN] >= 0:
            wake_collect(s, best, now + 1)
        if s.feedback_span[best, 1] > 0:
            soonest = now + 1
        _deliver(s, now, row)
    if soonest >= 0:
        wake_feedback(s, soonest)


@njit
def _deliver(s: State, now: int, row: int) -> None:
    """A feedback comes to its message queue and, if that was the packet's last task, to the network interface."""
    g, p = s.g, row_at(s.packets, row)
    s.records[p[P_RECORD], T_FEEDBACK] = now
    c = row_at(s.clusters, p[P_CLUSTER])
    c[L_OCCUPANCY] -= 1
    c[L_FREE_BYTES] += whole_beats(s, p[P_BYTES])
    s.slots[p[P_CLUSTER], s.slot_count[p[P_CLUSTER]]] = p[P_L1_SLOT]
    s.slot_count[p[P_CLUSTER]] += 1
    _advance_queue(s, now, p[P_MESSAGE] % s.conf[C_QUEUES])
    if p[P_RELEASE]:
        g[G_L2_BYTES] -= whole_beats(s, p[P_BYTES])
        s.free_packets[g[G_FREE_PACKETS]] = row
        g[G_FREE_PACKETS] += 1
        g[G_ACTIVE] -= 1
        expect_arrival(s, now + 1)
    wake_scheduler(s, now + 1)


@njit
def _advance_queue(s: State, now: int, queue: int) -> None:
    q = row_at(s.queues, queue)
    q[Q_IN_FLIGHT] -= 1
    if q[Q_STATE] == HEADER_RUNNING:
        q[Q_STATE] = PAYLOAD
    elif q[Q_STATE] == DRAINING and q[Q_IN_FLIGHT] == 0:
        q[Q_STATE] = COMPLETION if q[Q_COMPLETION] else FREE
    elif q[Q_STATE] == COMPLETION_RUNNING:
        q[Q_STATE] = FREE
    if q[Q_STATE] == FREE and q[Q_COUNT] > 0:
        begin_message(s, queue)
    if not q[Q_LISTED]:
        list_queue(s, now, queue)
