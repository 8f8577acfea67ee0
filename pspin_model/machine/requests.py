"""The one way of commands' requests to the clusters' L1s, which reads and writes hinder each other on.

Requests to read (of sends, and of copies to the host) take turns at it; requests to write (of copies from the host)
have a channel next to theirs. But the unit that renames requests holds one of each at most, and while it holds one that
is not yet taken, lets none of the other kind in. A write is taken with its first beat, which comes long after it; a
read when its engine has none under way at another cluster. An engine has at most two requests taken and not wholly
done. [src]

L2 packet memory has such a unit too: while the network interface has more packets to write than it takes requests for,
one of those is held, and a request to read passes for each packet written.
"""

from __future__ import annotations

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_ENGINE, E_PATH, push
from pspin_model.machine.layout import (
    D_CLUSTER,
    D_READY,
    G_BURST_END,
    G_ENGINE_AT,
    G_ENGINE_BURSTS,
    G_ENGINE_FREE,
    G_GRANT_CLUSTER,
    G_GRANTED,
    G_INGEST_COUNT,
    G_INGEST_CYCLES,
    G_L2_SLOT,
    G_L2_WAITING,
    G_PATH_AT,
    G_PATH_LAST,
    G_PATH_NEXT,
    G_PATH_READ,
    G_PATH_WRITE,
    G_WRITTEN,
    HOST_READS_IN,
    HOST_WRITES_OUT,
    SENDS,
    State,
)

C_OUTSTANDING = index_of("requests_in_flight")
C_TURN = index_of("send_turn")
C_REQUESTS = index_of("l2_write_requests")
C_SLOT = index_of("l2_read_slot")
C_WRITE_TURN = index_of("write_turn")
C_FILL = index_of("host_write_fill")
C_READ_FILL = index_of("host_read_fill")


@njit
def wake_engine(s: State, e: int, at: int) -> None:
    """Have an engine look for a burst to begin."""
    g = s.g
    if s.engine_span[e, 1] > 0 and (g[G_ENGINE_AT + e] < 0 or at < g[G_ENGINE_AT + e]):
        g[G_ENGINE_AT + e] = at
        push(s, at, E_ENGINE, e)


@njit
def wake_requests(s: State, at: int) -> None:
    """Have the way of requests look for one to let through."""
    g = s.g
    if g[G_PATH_AT] < 0 or at < g[G_PATH_AT]:
        g[G_PATH_AT] = at
        push(s, at, E_PATH, 0)


@njit
def next_request(s: State, at: int) -> None:
    """Have it look again if any request still waits."""
    for e in (SENDS, HOST_WRITES_OUT, HOST_READS_IN):
        if s.engine_span[e, 1] > s.g[G_GRANTED + e]:
            wake_requests(s, at)
            return


@njit
def _waiting(s: State, e: int) -> int:
    """An engine's first command whose request was not let through, or -1."""
    granted = s.g[G_GRANTED + e]
    if s.engine_span[e, 1] <= granted:
        return -1
    return int(s.engine_fifo[e, (s.engine_span[e, 0] + granted) % s.engine_fifo.shape[1]])


@njit
def _asks_at(s: State, e: int, place: int) -> int:
    """Cycle from which a command's request waits for the path."""
    ready = s.commands[place, D_READY]
    return int(ready - s.conf[C_READ_FILL] + s.conf[C_FILL]) if e == HOST_READS_IN else int(ready)


@njit
def _under_way(s: State, e: int) -> int:
    return int(s.g[G_GRANTED + e] + s.g[G_ENGINE_BURSTS + e])


@njit
def _free_at(s: State, e: int, place: int, now: int) -> int:
    """Cycle from which an engine's request is taken at its cluster, or -1: when a burst ends."""
    g = s.g
    others = _under_way(s, e)
    if others >= s.conf[C_OUTSTANDING]:
        return -1
    if s.commands[place, D_CLUSTER] == g[G_GRANT_CLUSTER + e]:
        return now
    if others > 0:
        return -1
    return int(g[G_BURST_END + e] + s.conf[C_WRITE_TURN if e == HOST_READS_IN else C_TURN])


@njit
def _take(s: State, now: int, e: int, place: int) -> None:
    s.g[G_GRANTED + e] += 1
    s.g[G_GRANT_CLUSTER + e] = s.commands[place, D_CLUSTER]
    wake_engine(s, e, now)
    next_request(s, now + 1)


@njit
def _choose_read(s: State, now: int) -> int:
    """The engine whose request to read is next, or -1. The choice stays until it is taken."""
    g = s.g
    if g[G_PATH_NEXT] >= 0:
        return int(g[G_PATH_NEXT])
    found = -1
    for e in (SENDS, HOST_WRITES_OUT):
        place = _waiting(s, e)
        if place < 0 or s.commands[place, D_CLUSTER] < 0:
            continue
        at = _asks_at(s, e, place)
        if at > now:
            wake_requests(s, at)
        elif found < 0 or g[G_PATH_LAST] != e:
            found = e
    g[G_PATH_NEXT] = found
    return found


@njit
def _let_read(s: State, now: int) -> None:
    """Let the next request to read an L1 through, or hold it."""
    g = s.g
    e = _choose_read(s, now)
    if e < 0:
        return
    place = _waiting(s, e)
    at = _free_at(s, e, place, now)
    if 0 <= at <= now:
        g[G_PATH_READ] = g[G_PATH_NEXT] = -1
        g[G_PATH_LAST] = e
        _take(s, now, e, place)
        return
    g[G_PATH_READ] = e
    if at > now:
        wake_requests(s, at)


@njit
def _next_slot(s: State, now: int) -> int:
    """Cycle from now on at which a request to read L2 passes between two to write there, or -1: not known yet.

    One does for each packet written.
    """
    g = s.g
    slot = g[G_WRITTEN] + s.conf[C_SLOT]
    first = max(now, g[G_L2_SLOT] + 1)
    if slot < first:
        return -1
    every = max(1, g[G_INGEST_CYCLES])
    return int(slot - (slot - first) // every * every)


@njit
def _let_read_of_l2(s: State, now: int, e: int) -> None:
    """Let an engine's request to read L2 through, unless one of the network interface to write there is held."""
    g = s.g
    place = _waiting(s, e)
    if place < 0 or s.commands[place, D_CLUSTER] >= 0:
        return
    free = _free_at(s, e, place, now)
    if free < 0:
        return
    at = max(_asks_at(s, e, place), free)
    if at > now:
        wake_requests(s, at)
        return
    released = now < g[G_WRITTEN] + s.conf[C_SLOT]
    if g[G_INGEST_COUNT] + released > s.conf[C_REQUESTS]:
        slot = _next_slot(s, now)
        if slot != now:
            g[G_L2_WAITING] = 1
            if slot > now:
                wake_requests(s, slot)
            return
        g[G_L2_SLOT] = now
    _take(s, now, e, place)


@njit
def _let_write(s: State, now: int) -> None:
    """Let the next request to write through with its first beat, or hold it."""
    g, e = s.g, HOST_READS_IN
    place = _waiting(s, e)
    if place < 0:
        return
    at = _asks_at(s, e, place)
    if at > now:
        wake_requests(s, at)
        return
    at = _free_at(s, e, place, now)
    if at >= 0 and _under_way(s, e) == 0:
        at = max(at, s.commands[place, D_READY], g[G_ENGINE_FREE + e])
        if at <= now:
            g[G_PATH_WRITE] = 0
            _take(s, now, e, place)
            return
        wake_requests(s, at)
    g[G_PATH_WRITE] = s.commands[place, D_CLUSTER] >= 0


@njit
def let_requests(s: State, now: int) -> None:
    """Let a request of each kind through, if the way holds none or holds that one."""
    g = s.g
    if g[G_PATH_AT] != now:
        return
    g[G_PATH_AT] = -1
    g[G_L2_WAITING] = 0
    _let_read_of_l2(s, now, SENDS)
    _let_read_of_l2(s, now, HOST_WRITES_OUT)
    read, write = g[G_PATH_READ] >= 0, g[G_PATH_WRITE] > 0
    if read or not write:
        _let_read(s, now)
    if write or not read:
        _let_write(s, now)
