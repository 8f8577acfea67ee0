"""Packets coming in: the network interface writes them to L2 and asks for handlers at their message queues.

An arrival is the cycle at which the interface takes a packet up; its beats follow those of the packets before it. The
request goes to the queue of the packet's message. Each queue has its own descriptor; the others come from a
shared pool, and when that is empty requests wait in order.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes
from pspin_model.machine.config import index_of
from pspin_model.machine.events import E_ARRIVE, E_REQUEST, E_TASK, E_WRITTEN, push
from pspin_model.machine.layout import (
    COMPLETION,
    FREE,
    G_ACTIVE,
    G_ARRIVING,
    G_CELLS,
    G_FREE_PACKETS,
    G_INGEST_BEATS,
    G_INGEST_COUNT,
    G_INGEST_CYCLES,
    G_INGEST_DEBT,
    G_INGEST_HEAD,
    G_INGEST_SINCE,
    G_INGEST_TAIL,
    G_INJECTABLE,
    G_INJECTED,
    G_L2_BYTES,
    G_L2_PEAK,
    G_L2_WAITING,
    G_LAST_ARRIVAL,
    G_NUMBER,
    G_READY_COUNT,
    G_READY_HEAD,
    G_STALL_HEAD,
    G_STALL_TAIL,
    G_STALLS,
    G_TICK,
    G_TICKED,
    G_WRITTEN,
    HEADER,
    I_AT,
    I_BYTES,
    I_CONTEXT,
    I_CORES,
    I_FIRST_CORE,
    I_LAST,
    I_MESSAGE,
    I_OFFSET,
    I_SOURCE,
    I_TAG,
    P_ARRIVAL,
    P_BEAT,
    P_BYTES,
    P_CONTEXT,
    P_CORES,
    P_FIRST_CORE,
    P_LAST,
    P_MESSAGE,
    P_NEXT,
    P_NUMBER,
    P_REQUEST,
    P_SOURCE,
    P_TAG,
    PAYLOAD,
    Q_COMPLETION,
    Q_COUNT,
    Q_HEAD,
    Q_LENGTH,
    Q_LISTED,
    Q_STATE,
    Q_TAIL,
    X_CODE,
    State,
)
from pspin_model.machine.requests import wake_requests
from pspin_model.machine.state import row_at

C_ARRIVAL = index_of("arrival_to_request")
C_BEAT = index_of("beat_bytes")
C_BEATS = index_of("network_beats")
C_L2 = index_of("l2_packet_bytes")
C_CELLS = index_of("queue_cells")
C_QUEUES = index_of("message_queues")
C_TASK = index_of("request_to_task")


@njit
def address_of_row(table: Any, row: int) -> int:
    """Address of a row of a table of bytes."""
    return int(table.ctypes.data + row * table.shape[1])


@njit
def beats(s: State, size: int) -> int:
    """Beats of a number of bytes, at least one."""
    return int(max(1, (size + s.conf[C_BEAT] - 1) // s.conf[C_BEAT]))


@njit
def whole_beats(s: State, size: int) -> int:
    """Bytes that a packet takes in a buffer."""
    return int(beats(s, size) * s.conf[C_BEAT])


@njit
def expect_arrival(s: State, now: int) -> None:
    """See to it that the next injected packet arrives: not before its time, one a cycle, when there is room."""
    g = s.g
    if g[G_ARRIVING] or g[G_INJECTED] >= g[G_INJECTABLE]:
        return
    g[G_ARRIVING] = 1
    at = max(s.injected[g[G_INJECTED], I_AT], g[G_LAST_ARRIVAL] + 1, now)
    push(s, at, E_ARRIVE, 0)


@njit
def arrive(s: State, now: int) -> None:
    """The interface takes up the next packet, unless L2 is full: then when a packet leaves."""
    g = s.g
    g[G_ARRIVING] = 0
    i = row_at(s.injected, g[G_INJECTED])
    room = whole_beats(s, i[I_BYTES])
    if g[G_FREE_PACKETS] == 0 or g[G_L2_BYTES] + room > s.conf[C_L2]:
        return
    g[G_FREE_PACKETS] -= 1
    row = s.free_packets[g[G_FREE_PACKETS]]
    p = row_at(s.packets, row)
    p[P_CONTEXT] = i[I_CONTEXT]
    p[P_MESSAGE] = i[I_MESSAGE]
    p[P_BYTES] = i[I_BYTES]
    p[P_TAG] = i[I_TAG]
    p[P_SOURCE] = i[I_SOURCE]
    p[P_LAST] = i[I_LAST]
    p[P_FIRST_CORE] = i[I_FIRST_CORE]
    p[P_CORES] = i[I_CORES]
    p[P_BEAT] = g[G_INGEST_BEATS]
    g[G_INGEST_BEATS] += beats(s, i[I_BYTES])
    p[P_ARRIVAL] = now
    p[P_NEXT] = -1
    p[P_NUMBER] = g[G_NUMBER]
    g[G_NUMBER] += 1
    copy_bytes(address_of_row(s.l2, row), s.injected_data.ctypes.data + i[I_OFFSET], i[I_BYTES])
    g[G_L2_BYTES] += room
    g[G_L2_PEAK] = max(g[G_L2_PEAK], g[G_L2_BYTES])
    g[G_ACTIVE] += 1
    g[G_INJECTED] += 1
    g[G_LAST_ARRIVAL] = now
    if g[G_INGEST_HEAD] < 0:
        g[G_INGEST_HEAD] = row
        _write(s, now, row)
    else:
        s.packets[g[G_INGEST_TAIL], P_NEXT] = row
    g[G_INGEST_TAIL] = row
    g[G_INGEST_COUNT] += 1
    expect_arrival(s, now)


@njit
def _write(s: State, now: int, row: int) -> None:
    g = s.g
    cycles = (beats(s, s.packets[row, P_BYTES]) + s.conf[C_BEATS] - 1) // s.conf[C_BEATS]
    g[G_INGEST_SINCE] = now + g[G_INGEST_DEBT]
    push(s, now + g[G_INGEST_DEBT] + cycles, E_WRITTEN, row)
    g[G_INGEST_DEBT] = 0


@njit
def written(s: State, now: int, row: int) -> None:
    """A packet is in L2: its request goes to its queue, and the next packet is written."""
    g = s.g
    g[G_INGEST_HEAD] = s.packets[row, P_NEXT]
    g[G_INGEST_COUNT] -= 1
    g[G_INGEST_CYCLES] = now - g[G_INGEST_SINCE]
    g[G_WRITTEN] = now
    if g[G_L2_WAITING]:
        wake_requests(s, now + 1)
    s.packets[row, P_NEXT] = -1
    push(s, now + s.conf[C_ARRIVAL], E_REQUEST, row)
    if g[G_INGEST_HEAD] >= 0:
        _write(s, now, g[G_INGEST_HEAD])


@njit
def request(s: State, now: int, row: int) -> None:
    """A packet's request comes to its message queue, or behind those that wait for a cell."""
    g = s.g
    if g[G_STALL_HEAD] >= 0 or not _has_cell(s, row):
        s.packets[row, P_NEXT] = -1
        if g[G_STALL_HEAD] < 0:
            g[G_STALL_HEAD] = row
        else:
            s.packets[g[G_STALL_TAIL], P_NEXT] = row
        g[G_STALL_TAIL] = row
        s.packets[row, P_REQUEST] = now
        return
    _enqueue(s, now, row)


@njit
def _has_cell(s: State, row: int) -> bool:
    queue = s.packets[row, P_MESSAGE] % s.conf[C_QUEUES]
    return bool(s.queues[queue, Q_COUNT] == 0 or s.g[G_CELLS] < s.conf[C_CELLS])


@njit
def unstall(s: State, now: int) -> None:
    """A cell became free: requests that waited for one go on, in order."""
    g = s.g
    while g[G_STALL_HEAD] >= 0 and _has_cell(s, g[G_STALL_HEAD]):
        row = g[G_STALL_HEAD]
        g[G_STALL_HEAD] = s.packets[row, P_NEXT]
        g[G_STALLS] += now - s.packets[row, P_REQUEST]
        _enqueue(s, now, row)


@njit
def _enqueue(s: State, now: int, row: int) -> None:
    g, p = s.g, row_at(s.packets, row)
    queue = p[P_MESSAGE] % s.conf[C_QUEUES]
    q = row_at(s.queues, queue)
    p[P_NEXT] = -1
    p[P_REQUEST] = now
    if q[Q_COUNT] == 0:
        q[Q_HEAD] = row
    else:
        s.packets[q[Q_TAIL], P_NEXT] = row
        g[G_CELLS] += 1
    q[Q_TAIL] = row
    q[Q_COUNT] += 1
    q[Q_LENGTH] += 1
    if q[Q_STATE] == FREE:
        begin_message(s, queue)
    list_queue(s, now, queue)


@njit
def begin_message(s: State, queue: int) -> None:
    """A free queue takes up the message of the packet at its head."""
    q = row_at(s.queues, queue)
    context = s.contexts[s.packets[q[Q_HEAD], P_CONTEXT]]
    q[Q_STATE] = HEADER if context[X_CODE] != 0 else PAYLOAD
    q[Q_COMPLETION] = context[X_CODE + 2] != 0


@njit
def list_queue(s: State, now: int, queue: int) -> None:
    """Put a queue that has a task to give at the end of the ring of ready ones, and have the scheduler look."""
    g, q = s.g, row_at(s.queues, queue)
    state = q[Q_STATE]
    has_task = q[Q_LENGTH] > 0 if state == PAYLOAD else state in (HEADER, COMPLETION)
    if has_task and not q[Q_LISTED]:
        q[Q_LISTED] = 1
        s.ready[(g[G_READY_HEAD] + g[G_READY_COUNT]) % s.ready.shape[0]] = queue
        g[G_READY_COUNT] += 1
    wake_scheduler(s, now + s.conf[C_TASK])


@njit
def wake_scheduler(s: State, at: int) -> None:
    """Have the scheduler place a task at a cycle, or as soon after as it can."""
    g = s.g
    at = max(at, g[G_TICKED] + 1)
    if g[G_READY_COUNT] > 0 and (g[G_TICK] < 0 or at < g[G_TICK]):
        g[G_TICK] = at
        push(s, at, E_TASK, 0)
