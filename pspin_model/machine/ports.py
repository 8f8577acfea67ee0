"""The port from L2 into the clusters' L1s, and the bells that have it and the clusters look for work."""

from __future__ import annotations

from emulator.ports.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_COPIED, E_DISPATCH, E_PORT, push
from pspin_model.machine.fifos import take
from pspin_model.machine.ingest import beats
from pspin_model.machine.layout import (
    D_BYTES,
    G_COPIES,
    G_PORT_AT,
    G_PORT_EVENT,
    G_PORT_TURN,
    L_COPY_AT,
    L_DISPATCHING,
    L_STREAM,
    P_BYTES,
    State,
)
from pspin_model.machine.state import row_at

C_CLUSTERS = index_of("clusters")
C_COPY = index_of("copy_latency")
C_COPY_BEATS = index_of("copy_beats")
C_GAP = index_of("copy_gap")


@njit
def wake_port(s: State, now: int) -> None:
    """Have the port from L2 to the clusters look for a copy to start."""
    g = s.g
    at = max(now, g[G_PORT_AT])
    if g[G_COPIES] > 0 and (g[G_PORT_EVENT] < 0 or at < g[G_PORT_EVENT]):
        g[G_PORT_EVENT] = at
        push(s, at, E_PORT, 0)


@njit
def start_copy(s: State, now: int) -> None:
    """Start the next copy into L1: clusters in turn, each with its gap between copies."""
    g = s.g
    if g[G_PORT_EVENT] != now:
        return
    g[G_PORT_EVENT] = -1
    clusters = s.conf[C_CLUSTERS]
    soonest = -1
    for step in range(1, clusters + 1):
        cluster = (g[G_PORT_TURN] + step) % clusters
        if s.copy_span[cluster, 1] == 0:
            continue
        c = row_at(s.clusters, cluster)
        if c[L_COPY_AT] > now:
            soonest = c[L_COPY_AT] if soonest < 0 else min(soonest, c[L_COPY_AT])
            continue
        g[G_PORT_TURN] = cluster
        g[G_COPIES] -= 1
        subject = take(s.copy_fifo, s.copy_span, cluster)
        row = subject
        size = s.packets[row, P_BYTES] if row < s.packets.shape[0] else copy_bytes(s, row - s.packets.shape[0])
        length = beats(s, size)
        g[G_PORT_AT] = now + (length + s.conf[C_COPY_BEATS] - 1) // s.conf[C_COPY_BEATS]
        c[L_COPY_AT] = now + length + (1 if length <= s.conf[C_GAP] else 0)
        add_stream(s, cluster, now + s.conf[C_COPY], length)
        push(s, now + s.conf[C_COPY] + length, E_COPIED, subject)
        break
    if g[G_COPIES] > 0:
        at = g[G_PORT_AT] if soonest < 0 else min(soonest, g[G_PORT_AT])
        wake_port(s, max(at, now + 1))


@njit
def copy_bytes(s: State, command: int) -> int:
    """Length of a copy that a handler asked for."""
    return int(s.commands[command, D_BYTES])


@njit
def add_stream(s: State, cluster: int, start: int, length: int) -> None:
    """Remember that so many beats go through a cluster's L1 from a cycle on."""
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
