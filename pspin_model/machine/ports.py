"""The port from L2 into the clusters' L1s, and the bells that have it and the clusters look for work."""

from __future__ import annotations

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_DISPATCH, E_PORT, push
from pspin_model.machine.fifos import arbiter_rank, later_turn, take
from pspin_model.machine.ingest import beats
from pspin_model.machine.landing import expect_copy
from pspin_model.machine.layout import (
    D_BYTES,
    G_COPIES,
    G_PORT_AT,
    G_PORT_CHOSEN,
    G_PORT_EVENT,
    G_PORT_NEXT,
    G_PORT_TURN,
    L_COPY_AT,
    L_COPY_SLOT,
    L_DISPATCHING,
    L_STREAM,
    P_BYTES,
    State,
)
from pspin_model.machine.state import row_at

C_CLUSTERS = index_of("clusters")
C_COPY = index_of("copy_latency")
C_COPY_BEATS = index_of("copy_beats")
C_SLOT = index_of("copy_slot")


@njit
def wake_port(s: State, now: int) -> None:
    """Have the port from L2 to the clusters look for a copy to start."""
    g = s.g
    if g[G_COPIES] > 0 and (g[G_PORT_EVENT] < 0 or now < g[G_PORT_EVENT]):
        g[G_PORT_EVENT] = now
        push(s, now, E_PORT, 0)


@njit
def start_copy(s: State, now: int) -> None:
    """Ask L2 for the next copy into L1, one a cycle: of the clusters in turn that have not too many in flight."""
    g = s.g
    if g[G_PORT_EVENT] != now:
        return
    g[G_PORT_EVENT] = -1
    holds = s.conf[C_COPY_BEATS] == 1
    best, best_rank, turn, asking, soonest = -1, -1, -1, 0, -1
    for cluster in range(s.conf[C_CLUSTERS]):
        if s.copy_span[cluster, 1] == 0:
            continue
        free_at = _free_at(s, cluster)
        if free_at > now and not holds:
            soonest = free_at if soonest < 0 else min(soonest, free_at)
            continue
        asking += 1
        rank = arbiter_rank(cluster, g[G_PORT_TURN], s.conf[C_CLUSTERS])
        turn = later_turn(cluster, g[G_PORT_TURN], turn)
        if best < 0 or rank < best_rank:
            best, best_rank = cluster, rank
    if g[G_PORT_CHOSEN] >= 0:
        best, turn = g[G_PORT_CHOSEN], g[G_PORT_NEXT]
    if best >= 0 and _free_at(s, best) > now:
        g[G_PORT_CHOSEN] = best
        g[G_PORT_NEXT] = turn
        wake_port(s, _free_at(s, best))
        return
    if best >= 0:
        g[G_PORT_CHOSEN] = -1
        g[G_PORT_TURN] = turn
        g[G_COPIES] -= 1
        _read_beats(s, now, best)
        if s.copy_span[best, 1] > 0:
            free_at = _free_at(s, best)
            soonest = free_at if soonest < 0 else min(soonest, free_at)
    if soonest >= 0 or asking > 1:
        wake_port(s, now + 1 if asking > 1 or holds else max(soonest, now + 1))


@njit
def _free_at(s: State, cluster: int) -> int:
    """Cycle from which a cluster may have another copy in flight."""
    return int(s.copy_slots[cluster, s.clusters[cluster, L_COPY_SLOT]])


@njit
def _read_beats(s: State, now: int, cluster: int) -> None:
    """Move a cluster's first copy's beats as soon as L2's port and the cluster's have moved those before."""
    g, c = s.g, row_at(s.clusters, cluster)
    subject = take(s.copy_fifo, s.copy_span, cluster)
    row = subject
    size = s.packets[row, P_BYTES] if row < s.packets.shape[0] else copy_bytes(s, row - s.packets.shape[0])
    length = beats(s, size)
    start = max(now, g[G_PORT_AT], c[L_COPY_AT])
    g[G_PORT_AT] = max(now, g[G_PORT_AT]) + (length + s.conf[C_COPY_BEATS] - 1) // s.conf[C_COPY_BEATS]
    c[L_COPY_AT] = start + length
    s.copy_slots[cluster, c[L_COPY_SLOT]] = start + length + s.conf[C_SLOT]
    c[L_COPY_SLOT] = (c[L_COPY_SLOT] + 1) % s.copy_slots.shape[1]
    add_stream(s, cluster, start + s.conf[C_COPY], length)
    expect_copy(s, cluster, subject, start + s.conf[C_COPY], length)


@njit
def copy_bytes(s: State, command: int) -> int:
    """Length of a copy that a handler asked for."""
    return int(s.commands[command, D_BYTES])


@njit
def add_stream(s: State, cluster: int, start: int, length: int) -> None:
    """Record that a number of beats go through a cluster's L1 from a cycle on."""
    c = row_at(s.clusters, cluster)
    s.streams[cluster, c[L_STREAM], 0] = start
    s.streams[cluster, c[L_STREAM], 1] = start + length
    c[L_STREAM] = (c[L_STREAM] + 1) % s.streams.shape[1]


@njit
def wake_cluster(s: State, cluster: int, at: int) -> None:
    """Have a cluster look for a task to dispatch."""
    c = row_at(s.clusters, cluster)
    if s.ready_span[cluster, 1] > 0 and (c[L_DISPATCHING] < 0 or at < c[L_DISPATCHING]):
        c[L_DISPATCHING] = at
        push(s, at, E_DISPATCH, cluster)
