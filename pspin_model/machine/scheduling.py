"""Scheduling, from message queues to cores: the scheduler's rules, the copies into L1, and the dispatch in a cluster.

The scheduler takes ready queues in turn, one task a cycle. A task goes to its message's home cluster while that has
room, else to the least occupied cluster that has (the lowest number among equals); a packet given to a range of cores
goes to the least occupied cluster of those. The packet is copied into the cluster's L1 through the one port all
clusters share, and the cluster dispatches what is copied, in order, to its lowest free core, one a cycle.
"""

from __future__ import annotations

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes
from pspin_model.machine.commands import copy_done_for_handler
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import begin_handler, l1_address
from pspin_model.machine.events import E_ACCEPT, push
from pspin_model.machine.fifos import append, arbiter_rank, later_turn, take_at
from pspin_model.machine.ingest import address_of_row, unstall, wake_scheduler, whole_beats
from pspin_model.machine.layout import (
    COMPLETION,
    COMPLETION_RUNNING,
    CORE_IDLE,
    DRAINING,
    G_CELLS,
    G_COPIES,
    G_READY_CHOSEN,
    G_READY_COUNT,
    G_READY_HEAD,
    G_READY_TURN,
    G_RECORDS,
    G_TICK,
    G_TICKED,
    H_FREE_AT,
    H_STATE,
    HEADER,
    HEADER_RUNNING,
    KIND_COMPLETION,
    KIND_HEADER,
    KIND_PAYLOAD,
    L_DISPATCHING,
    L_FREE_BYTES,
    L_OCCUPANCY,
    L_TASKS,
    P_ARRIVAL,
    P_BYTES,
    P_CLUSTER,
    P_CONTEXT,
    P_CORES,
    P_FIRST_CORE,
    P_KIND,
    P_L1_SLOT,
    P_LAST,
    P_MESSAGE,
    P_NEXT,
    P_NUMBER,
    P_RECORD,
    P_RELEASE,
    P_REQUEST,
    P_SOURCE,
    P_TAG,
    PAYLOAD,
    Q_COMPLETION,
    Q_COUNT,
    Q_HEAD,
    Q_IN_FLIGHT,
    Q_LENGTH,
    Q_LISTED,
    Q_STATE,
    T_ACCEPT,
    T_ARRIVAL,
    T_BYTES,
    T_CLUSTER,
    T_CONTEXT,
    T_COPIED,
    T_CORE,
    T_DISPATCH,
    T_DOORBELL,
    T_END,
    T_FAULT,
    T_FEEDBACK,
    T_INSTRUCTIONS,
    T_KIND,
    T_MESSAGE,
    T_PACKET,
    T_RELEASED,
    T_REQUEST,
    T_SOURCE,
    T_START,
    T_TAG,
    T_TASK,
    State,
)
from pspin_model.machine.ports import wake_cluster, wake_port
from pspin_model.machine.state import row_at

C_CLUSTERS = index_of("clusters")
C_CORES = index_of("cores")
C_TASKS = index_of("tasks_per_cluster")
C_QUEUES = index_of("message_queues")
ARBITED = 32
"""Ready queues among which the arbiter chooses; more wait in the order they became ready. [ours]"""

C_ACCEPT = index_of("task_to_accept")
C_DISPATCH = index_of("copied_to_dispatch")


@njit
def has_room(s: State, cluster: int, size: int) -> bool:
    """Whether a cluster has room for another task's bytes in its L1 packet buffer."""
    return bool(s.clusters[cluster, L_OCCUPANCY] < s.conf[C_TASKS] and s.clusters[cluster, L_FREE_BYTES] >= size)


@njit
def choose_cluster(s: State, row: int) -> int:
    """The cluster of a packet's next task, or -1."""
    p = row_at(s.packets, row)
    size = whole_beats(s, p[P_BYTES])
    first, last = 0, s.conf[C_CLUSTERS] - 1
    if p[P_CORES] > 0:
        first = p[P_FIRST_CORE] // s.conf[C_CORES]
        last = (p[P_FIRST_CORE] + p[P_CORES] - 1) // s.conf[C_CORES]
    else:
        home = p[P_MESSAGE] % s.conf[C_CLUSTERS]
        if has_room(s, home, size):
            return int(home)
    best = -1
    for cluster in range(first, last + 1):
        if has_room(s, cluster, size) and (
            best < 0 or s.clusters[cluster, L_OCCUPANCY] < s.clusters[best, L_OCCUPANCY]
        ):
            best = cluster
    return best


@njit
def _prefer_queue(s: State) -> None:
    """Put the ready queue that the arbiter prefers at the head of the ring, looking at the first of many only.

    What it has chosen stays so until a cluster takes it. [src]
    Packets bound to cores are none of the RTL's: where one is at the head, queues take turns, so that reductions that
    share a cluster get as many packets served there as each other.
    """
    g = s.g
    if g[G_READY_CHOSEN]:
        return
    size, head = s.ready.shape[0], g[G_READY_HEAD]
    if g[G_READY_COUNT] > 0 and s.packets[s.queues[s.ready[head], Q_HEAD], P_CORES] > 0:
        return
    best, best_rank, turn = 0, -1, -1
    for at in range(min(g[G_READY_COUNT], ARBITED)):
        rank = arbiter_rank(s.ready[(head + at) % size], g[G_READY_TURN], s.conf[C_QUEUES])
        turn = later_turn(s.ready[(head + at) % size], g[G_READY_TURN], turn)
        if best_rank < 0 or rank < best_rank:
            best, best_rank = at, rank
    if turn >= 0:
        g[G_READY_TURN] = turn
    _to_front(s, best)


@njit
def _to_front(s: State, at: int) -> None:
    """Put a ready queue at the head of the ring; the others keep their order."""
    size, head = s.ready.shape[0], s.g[G_READY_HEAD]
    queue = s.ready[(head + at) % size]
    for place in range(at, 0, -1):
        s.ready[(head + place) % size] = s.ready[(head + place - 1) % size]
    s.ready[head] = queue


@njit
def schedule(s: State, now: int) -> None:
    """Place one task: that of the first ready queue whose packet a cluster takes."""
    g = s.g
    if g[G_TICK] != now:
        return
    g[G_TICK] = -1
    size = s.ready.shape[0]
    _prefer_queue(s)
    for at in range(g[G_READY_COUNT]):
        queue = s.ready[(g[G_READY_HEAD] + at) % size]
        row = s.queues[queue, Q_HEAD]
        cluster = choose_cluster(s, row)
        if cluster >= 0:
            _to_front(s, at)
            g[G_READY_HEAD] = (g[G_READY_HEAD] + 1) % size
            g[G_READY_COUNT] -= 1
            s.queues[queue, Q_LISTED] = 0
            g[G_TICKED] = now
            g[G_READY_CHOSEN] = 0
            _give_task(s, now, queue, row, cluster)
            wake_scheduler(s, now + 1)
            return
        if s.packets[row, P_CORES] == 0:
            # hardware stops at a task that no cluster takes; only tasks bound to some cores let others pass
            g[G_READY_CHOSEN] = 1
            return


@njit
def _give_task(s: State, now: int, queue: int, row: int, cluster: int) -> None:
    g, q, p = s.g, row_at(s.queues, queue), row_at(s.packets, row)
    release = 0
    if q[Q_STATE] == HEADER:
        p[P_KIND] = KIND_HEADER
        q[Q_STATE] = HEADER_RUNNING
    elif q[Q_STATE] == COMPLETION:
        p[P_KIND] = KIND_COMPLETION
        q[Q_STATE] = COMPLETION_RUNNING
        release = 1
    else:
        p[P_KIND] = KIND_PAYLOAD
        q[Q_LENGTH] -= 1
        if p[P_LAST]:
            q[Q_STATE] = DRAINING
        release = not (p[P_LAST] and q[Q_COMPLETION])
    q[Q_IN_FLIGHT] += 1
    if release:
        q[Q_HEAD] = p[P_NEXT]
        q[Q_COUNT] -= 1
        if q[Q_COUNT] > 0:
            g[G_CELLS] -= 1
        unstall(s, now)
    if q[Q_STATE] == PAYLOAD and q[Q_LENGTH] > 0 and not q[Q_LISTED]:
        q[Q_LISTED] = 1
        s.ready[(g[G_READY_HEAD] + g[G_READY_COUNT]) % s.ready.shape[0]] = queue
        g[G_READY_COUNT] += 1
    p[P_RELEASE] = release
    p[P_CLUSTER] = cluster
    c = row_at(s.clusters, cluster)
    c[L_OCCUPANCY] += 1
    c[L_TASKS] += 1
    c[L_FREE_BYTES] -= whole_beats(s, p[P_BYTES])
    s.slot_count[cluster] -= 1
    p[P_L1_SLOT] = s.slots[cluster, s.slot_count[cluster]]
    _begin_record(s, now, row)
    push(s, now + s.conf[C_ACCEPT], E_ACCEPT, row)


@njit
def _begin_record(s: State, now: int, row: int) -> None:
    g, p = s.g, row_at(s.packets, row)
    p[P_RECORD] = g[G_RECORDS]
    t = row_at(s.records, g[G_RECORDS])
    g[G_RECORDS] += 1
    t[T_MESSAGE] = p[P_MESSAGE]
    t[T_TAG] = p[P_TAG]
    t[T_SOURCE] = p[P_SOURCE]
    t[T_CONTEXT] = p[P_CONTEXT]
    t[T_CLUSTER] = p[P_CLUSTER]
    t[T_CORE] = -1
    t[T_KIND] = p[P_KIND]
    t[T_ARRIVAL] = p[P_ARRIVAL]
    t[T_REQUEST] = p[P_REQUEST]
    t[T_TASK] = now
    t[T_ACCEPT] = -1
    t[T_COPIED] = -1
    t[T_DISPATCH] = -1
    t[T_START] = -1
    t[T_END] = -1
    t[T_DOORBELL] = -1
    t[T_FEEDBACK] = -1
    t[T_INSTRUCTIONS] = 0
    t[T_BYTES] = p[P_BYTES]
    t[T_FAULT] = 0
    t[T_PACKET] = p[P_NUMBER]
    t[T_RELEASED] = p[P_RELEASE]


@njit
def accept(s: State, now: int, row: int) -> None:
    """The cluster takes the task and asks for the copy of its packet."""
    s.records[s.packets[row, P_RECORD], T_ACCEPT] = now
    append(s.copy_fifo, s.copy_span, s.packets[row, P_CLUSTER], row)
    s.g[G_COPIES] += 1
    wake_port(s, now)


@njit
def copied(s: State, now: int, subject: int) -> None:
    """A copy into L1 is complete: a packet may be dispatched, or a handler's copy is done."""
    if subject >= s.packets.shape[0]:
        copy_done_for_handler(s, now, subject - s.packets.shape[0])
        return
    p = row_at(s.packets, subject)
    cluster = p[P_CLUSTER]
    s.records[p[P_RECORD], T_COPIED] = now
    copy_bytes(l1_address(s, cluster, p[P_L1_SLOT]), address_of_row(s.l2, subject), p[P_BYTES])
    append(s.ready_fifo, s.ready_span, cluster, subject)
    wake_cluster(s, cluster, now + s.conf[C_DISPATCH])


@njit
def dispatch(s: State, now: int, cluster: int) -> None:
    """Give the first copied packet to the lowest free core; packets bound to busy cores let others pass."""
    c = row_at(s.clusters, cluster)
    if c[L_DISPATCHING] != now:
        return
    c[L_DISPATCHING] = -1
    cores = s.conf[C_CORES]
    base = cluster * cores
    for place in range(s.ready_span[cluster, 1]):
        row = s.ready_fifo[cluster, (s.ready_span[cluster, 0] + place) % s.ready_fifo.shape[1]]
        first, last = base, base + cores
        bound = s.packets[row, P_CORES] > 0
        if bound:
            first = max(first, s.packets[row, P_FIRST_CORE])
            last = min(last, s.packets[row, P_FIRST_CORE] + s.packets[row, P_CORES])
        soonest = -1
        for core in range(first, last):
            h = row_at(s.cores, core)
            if h[H_STATE] == CORE_IDLE:
                if h[H_FREE_AT] <= now:
                    take_at(s.ready_fifo, s.ready_span, cluster, place)
                    begin_handler(s, now, core, row)
                    wake_cluster(s, cluster, now + 1)
                    return
                soonest = h[H_FREE_AT] if soonest < 0 else min(soonest, h[H_FREE_AT])
        if soonest >= 0:
            wake_cluster(s, cluster, soonest)
        if not bound:
            return
