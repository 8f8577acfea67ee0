"""Copies that come to an L1 from L2: they share its superbanks with what commands read and write there.

A cluster's copies land one after another, a beat a cycle. While reads and writes of commands take turns at the
cluster's L1, its superbanks' arbiters (fair, and starting behind who came last) let a copy through in every second
cycle only, for it falls in step with the two; next to only one of them it keeps its own rate. What comes from L2
waits in registers on the way; when those are full, L2's port waits. [src]
"""

from __future__ import annotations

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_COPIED, push
from pspin_model.machine.layout import (
    D_CLUSTER,
    G_PORT_AT,
    L_COPY_AT,
    L_LANDING,
    L_LANDING_COUNT,
    L_LANDING_FROM,
    L_TURNS,
    L_TURNS_SINCE,
    N_LENGTH,
    N_START,
    N_SUBJECT,
    P_CLUSTER,
    State,
)
from pspin_model.machine.state import row_at

C_EVERY = index_of("copy_turns")
C_BUFFER = index_of("copy_buffer")


@njit
def expect_copy(s: State, cluster: int, subject: int, start: int, length: int) -> None:
    """Have a number of beats land in a cluster's L1, behind its other copies and from a cycle on."""
    c = row_at(s.clusters, cluster)
    size = s.landings.shape[1]
    n = s.landings[cluster, (c[L_LANDING] + c[L_LANDING_COUNT]) % size]
    n[N_SUBJECT] = subject
    n[N_START] = start
    n[N_LENGTH] = length
    c[L_LANDING_COUNT] += 1
    if c[L_LANDING_COUNT] == 1:
        c[L_LANDING_FROM] = start
        push(s, start + length, E_COPIED, subject)


@njit
def note_turns(s: State, now: int, cluster: int, taken: bool) -> None:
    """Remember since when, or until when, reads and writes of commands take turns at a cluster's L1."""
    c = row_at(s.clusters, cluster)
    if taken == (c[L_TURNS_SINCE] >= 0):
        return
    if taken:
        c[L_TURNS_SINCE] = now
        return
    s.turns[cluster, c[L_TURNS], 0] = c[L_TURNS_SINCE]
    s.turns[cluster, c[L_TURNS], 1] = now
    c[L_TURNS] = (c[L_TURNS] + 1) % s.turns.shape[1]
    c[L_TURNS_SINCE] = -1


@njit
def _turns_within(s: State, cluster: int, since: int, now: int) -> int:
    """Cycles of a span ending now in which they did."""
    c = row_at(s.clusters, cluster)
    count = max(0, now - max(since, c[L_TURNS_SINCE])) if c[L_TURNS_SINCE] >= 0 else 0
    size = s.turns.shape[1]
    for back in range(size):
        until = s.turns[cluster, (c[L_TURNS] - 1 - back) % size, 1]
        if until <= since:
            break
        count += until - max(since, s.turns[cluster, (c[L_TURNS] - 1 - back) % size, 0])
    return int(count)


@njit
def landed(s: State, now: int, subject: int) -> bool:
    """Whether a cluster's first copy has landed that could have by now; if not, say when it could have."""
    rows = s.packets.shape[0]
    cluster = s.packets[subject, P_CLUSTER] if subject < rows else s.commands[subject - rows, D_CLUSTER]
    c = row_at(s.clusters, cluster)
    n = s.landings[cluster, c[L_LANDING]]
    turns = _turns_within(s, cluster, c[L_LANDING_FROM], now)
    missing = n[N_LENGTH] - (now - c[L_LANDING_FROM]) + turns - turns // s.conf[C_EVERY]
    if missing > 0:
        _fall_behind(s, cluster, now + missing - n[N_START] - n[N_LENGTH])
        push(s, now + missing, E_COPIED, subject)
        return False
    c[L_LANDING] = (c[L_LANDING] + 1) % s.landings.shape[1]
    c[L_LANDING_COUNT] -= 1
    if c[L_LANDING_COUNT] > 0:
        n = s.landings[cluster, c[L_LANDING]]
        c[L_LANDING_FROM] = max(now, n[N_START])
        push(s, c[L_LANDING_FROM] + n[N_LENGTH], E_COPIED, n[N_SUBJECT])
    return True


@njit
def _fall_behind(s: State, cluster: int, lag: int) -> None:
    """Have L2's port wait by what a cluster's copies lag behind more than the registers on the way hold."""
    more = lag - s.conf[C_BUFFER]
    if more <= 0:
        return
    c = row_at(s.clusters, cluster)
    size = s.landings.shape[1]
    for at in range(c[L_LANDING_COUNT]):
        s.landings[cluster, (c[L_LANDING] + at) % size, N_START] += more
    for slot in range(s.copy_slots.shape[1]):
        s.copy_slots[cluster, slot] += more
    c[L_COPY_AT] += more
    s.g[G_PORT_AT] += more
