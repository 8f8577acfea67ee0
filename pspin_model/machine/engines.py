"""What moves the beats of commands: engines to the network, to the host and from it, and the L1 ports they share.

An engine moves a beat a cycle, its commands in order. Reads and writes of one L1 take turns at its port for commands,
beat by beat, so bursts of two engines that meet there each go at half speed; so do two that read different L1s, for
what they read comes back by one way. A burst from another cluster than the last one begins when that is wholly over.
[src]
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_BURST, E_COMMAND_DONE, push
from pspin_model.machine.fifos import append, take
from pspin_model.machine.ingest import beats
from pspin_model.machine.landing import note_turns
from pspin_model.machine.layout import (
    D_BEAT,
    D_BYTES,
    D_CLUSTER,
    D_END,
    D_KIND,
    D_LEFT,
    D_READY,
    D_SINCE,
    D_SPEED,
    G_BURST_END,
    G_ENGINE_AT,
    G_ENGINE_BURSTS,
    G_ENGINE_CLUSTER,
    G_ENGINE_FREE,
    G_GRANTED,
    G_HOST_WORD_FREE,
    G_INGEST_DEBT,
    G_INGEST_HEAD,
    G_INGEST_SINCE,
    HOST_READS_IN,
    HOST_WRITES_OUT,
    L_BURST,
    OP_HOST_WORD,
    OP_SEND,
    OP_TO_HOST,
    P_BEAT,
    SENDS,
    State,
)
from pspin_model.machine.ports import add_stream
from pspin_model.machine.requests import next_request, wake_engine, wake_requests
from pspin_model.machine.state import row_at

C_SEND = index_of("send_latency")
C_SEND_BEATS = index_of("send_beats")
C_TURN = index_of("send_turn")
C_WRITE = index_of("host_write_latency")
C_WRITE_FILL = index_of("host_write_fill")
C_READ = index_of("host_read_latency")
C_READ_FILL = index_of("host_read_fill")
C_L2 = index_of("l2_read_extra")
C_GAP = index_of("l2_bank_gap")
C_EXTRA = index_of("host_extra_beats")
C_WORD = index_of("host_word_latency")

L2_BANKS = 32
SHARES = 4
"""Parts of a beat: two reads next to a write each get a quarter of an L1's port."""


@njit
def engine_of(kind: int) -> int:
    """Which engine moves a command's beats."""
    if kind == OP_SEND:
        return SENDS
    return HOST_WRITES_OUT if kind == OP_TO_HOST else HOST_READS_IN


@njit
def begin_command(s: State, now: int, place: int) -> None:
    """An interface takes a command: it goes behind its engine's others, or is a word on its way."""
    g, d = s.g, row_at(s.commands, place)
    if d[D_KIND] == OP_HOST_WORD:
        start = max(now, g[G_HOST_WORD_FREE])
        g[G_HOST_WORD_FREE] = start + 1
        push(s, start + s.conf[C_WORD], E_COMMAND_DONE, place)
        return
    e = engine_of(d[D_KIND])
    fill = 0
    if e == HOST_WRITES_OUT:
        fill = s.conf[C_WRITE_FILL]
    elif e == HOST_READS_IN:
        fill = s.conf[C_READ_FILL]
    d[D_READY] = now + fill
    append(s.engine_fifo, s.engine_span, e, place)
    if s.conf[C_SEND_BEATS] == 1:
        wake_requests(s, now + min(fill, s.conf[C_WRITE_FILL]))
    else:
        wake_engine(s, e, d[D_READY])


@njit
def begin_burst(s: State, now: int, e: int) -> None:
    """Let an engine's first command's beats go, if neither the engine nor the L1's port has another in progress."""
    g = s.g
    if g[G_ENGINE_AT + e] != now:
        return
    g[G_ENGINE_AT + e] = -1
    lanes = s.conf[C_SEND_BEATS] if e == SENDS else 1
    granted = s.conf[C_SEND_BEATS] == 1
    if granted and g[G_GRANTED + e] == 0:
        return
    d = row_at(s.commands, s.engine_fifo[e, s.engine_span[e, 0]])
    cluster = d[D_CLUSTER]
    if g[G_ENGINE_BURSTS + e] >= lanes or (cluster >= 0 and s.clusters[cluster, L_BURST + e] >= 0):
        return
    at = max(d[D_READY], g[G_ENGINE_FREE + e])
    if (
        not granted
        and e == SENDS
        and cluster >= 0
        and g[G_ENGINE_CLUSTER + e] >= 0
        and cluster != g[G_ENGINE_CLUSTER + e]
    ):
        at = max(d[D_READY], g[G_ENGINE_FREE + e] + s.conf[C_TURN])
    if at > now:
        wake_engine(s, e, at)
        return
    place = take(s.engine_fifo, s.engine_span, e)
    if granted:
        g[G_GRANTED + e] -= 1
    length = beats(s, d[D_BYTES])
    g[G_ENGINE_CLUSTER + e] = cluster
    g[G_ENGINE_FREE + e] = now + (length + lanes - 1) // lanes
    g[G_ENGINE_BURSTS + e] += 1
    d[D_LEFT] = length * SHARES
    d[D_SINCE] = now
    d[D_SPEED] = 0
    if cluster < 0:
        if e == HOST_WRITES_OUT and _meets_writes(s, now, d[D_BEAT]):
            # writes fall in behind reads at L2's banks, and wait with them for the host's beat more
            g[G_INGEST_DEBT] += s.conf[C_EXTRA]
        d[D_END] = now + length
        push(s, d[D_END], E_BURST, place)
    else:
        add_stream(s, cluster, now, length)
        _change_port(s, now, cluster, e, place)
    wake_engine(s, e, g[G_ENGINE_FREE + e])


@njit
def _meets_writes(s: State, now: int, beat: int) -> bool:
    """Whether the network interface writes the bank of L2 that a burst from ``beat`` on is about to read."""
    g = s.g
    if g[G_INGEST_HEAD] < 0:
        return False
    written = s.packets[g[G_INGEST_HEAD], P_BEAT] + max(0, now - g[G_INGEST_SINCE])
    gap = (beat - written - s.conf[C_GAP]) % L2_BANKS
    return bool(gap == 0)


@njit
def _shares(s: State, c: Any, e: int) -> int:
    """Parts of a beat that an engine's burst moves in a cycle through a cluster's port as it is used now."""
    reads = int(c[L_BURST + SENDS] >= 0) + int(c[L_BURST + HOST_WRITES_OUT] >= 0)
    if e == HOST_READS_IN:
        return SHARES // 2 if reads > 0 else SHARES
    writes = int(c[L_BURST + HOST_READS_IN] >= 0)
    return int(SHARES // max(reads * (1 + writes), _reading(s)))


@njit
def _reading(s: State) -> int:
    """Engines that read any L1: they share the way back."""
    if s.conf[C_SEND_BEATS] != 1:
        return 1
    g = s.g
    count = 0
    for e in (SENDS, HOST_WRITES_OUT):
        count += int(g[G_ENGINE_BURSTS + e] > 0 and g[G_ENGINE_CLUSTER + e] >= 0)
    return count


@njit
def _count_beats(s: State, now: int, cluster: int) -> None:
    """Take what has passed since the last change from what the bursts through a cluster's port have left."""
    c = row_at(s.clusters, cluster)
    for other in range(3):
        if c[L_BURST + other] >= 0:
            d = row_at(s.commands, c[L_BURST + other])
            d[D_LEFT] = max(0, d[D_LEFT] - d[D_SPEED] * (now - d[D_SINCE]))
            d[D_SINCE] = now


@njit
def _foresee(s: State, now: int, cluster: int) -> None:
    """Say when the bursts through a cluster's port end as things are."""
    c = row_at(s.clusters, cluster)
    for other in range(3):
        if c[L_BURST + other] >= 0:
            d = row_at(s.commands, c[L_BURST + other])
            d[D_SPEED] = _shares(s, c, other)
            end = now + (d[D_LEFT] + d[D_SPEED] - 1) // d[D_SPEED]
            if end != d[D_END]:
                d[D_END] = end
                push(s, end, E_BURST, c[L_BURST + other])


@njit
def _change_port(s: State, now: int, cluster: int, e: int, place: int) -> None:
    """Give an engine's place at a cluster's port to a command or (-1) to none; the others go on at their new speed."""
    g = s.g
    _count_beats(s, now, cluster)
    c = row_at(s.clusters, cluster)
    c[L_BURST + e] = place
    reads = c[L_BURST + SENDS] >= 0 or c[L_BURST + HOST_WRITES_OUT] >= 0
    note_turns(s, now, cluster, reads and c[L_BURST + HOST_READS_IN] >= 0)
    _foresee(s, now, cluster)
    if e != HOST_READS_IN and s.conf[C_SEND_BEATS] == 1:
        other = HOST_WRITES_OUT - e
        if g[G_ENGINE_BURSTS + other] > 0 and 0 <= g[G_ENGINE_CLUSTER + other] != cluster:
            _count_beats(s, now, g[G_ENGINE_CLUSTER + other])
            _foresee(s, now, g[G_ENGINE_CLUSTER + other])


@njit
def burst_done(s: State, now: int, place: int) -> None:
    """A command's last beat has passed, unless it has been slowed since that was foreseen."""
    g, d = s.g, row_at(s.commands, place)
    if d[D_END] != now:
        return
    d[D_END] = -1
    e = engine_of(d[D_KIND])
    g[G_ENGINE_BURSTS + e] -= 1
    if d[D_CLUSTER] >= 0:
        _change_port(s, now, d[D_CLUSTER], e, -1)
    after = s.conf[C_SEND]
    if e == HOST_WRITES_OUT:
        after = s.conf[C_WRITE] - s.conf[C_WRITE_FILL]
    elif e == HOST_READS_IN:
        after = s.conf[C_READ] - s.conf[C_READ_FILL]
    g[G_BURST_END + e] = now
    if d[D_CLUSTER] < 0:
        after += s.conf[C_L2]
    if e != SENDS:
        g[G_ENGINE_FREE + e] = now + s.conf[C_EXTRA]
    elif s.conf[C_SEND_BEATS] == 1:
        g[G_ENGINE_FREE + e] = now
    push(s, now + after, E_COMMAND_DONE, place)
    wake_engine(s, e, max(now, g[G_ENGINE_FREE + e]))
    if s.conf[C_SEND_BEATS] == 1:
        next_request(s, now)
