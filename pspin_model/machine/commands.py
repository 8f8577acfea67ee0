"""Commands of handlers: issued by cores, waited for, done; and the copies between L2 and L1 that handlers ask for.

A core has four commands in flight. While its last feedback has not left it issues nothing: the next handler waits at
its first command.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import ask_again, end_handler, give_feedback, go_on, report
from pspin_model.machine.events import E_RELEASE, push
from pspin_model.machine.fifos import append
from pspin_model.machine.interfaces import DONE, interface_of, release_place, wake_gather
from pspin_model.machine.layout import (
    D_BEAT,
    D_BYTES,
    D_CLUSTER,
    D_CONTEXT,
    D_CORE,
    D_END,
    D_KIND,
    D_PORT,
    D_READY,
    D_SENT,
    D_SOURCE,
    D_TAG,
    D_TARGET,
    FAULT_BAD_COMMAND,
    G_COPIES,
    G_HOST_WRITES,
    G_SENT,
    G_SENT_BYTES,
    H_ARGS,
    H_CLUSTER,
    H_CONTEXT,
    H_FAULT,
    H_FEEDBACK,
    H_HOST_BYTES,
    H_MESSAGE,
    H_OP,
    H_OPEN,
    H_PACKET,
    H_PACKET_ADDRESS,
    H_PACKET_BYTES,
    H_SCRATCH,
    H_SCRATCH_BYTES,
    H_STALE,
    H_WAIT,
    H_WAIT_ON,
    OP_COPY,
    OP_COPY_TEST,
    OP_COPY_WAIT,
    OP_FROM_HOST,
    OP_HOST_WORD,
    OP_SEND,
    OP_TO_HOST,
    P_BEAT,
    S_BYTES,
    S_CONTEXT,
    S_CORE,
    S_CYCLE,
    S_MESSAGE,
    S_OFFSET,
    S_PORT,
    S_TAG,
    WAIT_COMMAND,
    WAIT_FEEDBACK,
    WAIT_SLOT,
    X_HOST,
    State,
)
from pspin_model.machine.ports import wake_port
from pspin_model.machine.state import row_at
from pspin_model.machine.switching import carray, words_at

PORTS = 1 << 32
"""Ports have 32 bits."""
C_PER_CORE = index_of("commands_per_core")
C_ISSUE = index_of("issue_latency")
C_STALE = index_of("stale_handles")
C_HOLD = index_of("host_read_hold")
C_RESUME = index_of("wait_to_resume")
C_CLUSTERS = index_of("clusters")
C_MAX = index_of("max_packet_bytes")


@njit
def free_place(s: State, core: int, offset: int) -> int:
    """A free row among the core's commands (``offset`` 0) or copies, or -1."""
    first = (offset + core) * s.conf[C_PER_CORE]
    for place in range(first, first + s.conf[C_PER_CORE]):
        if s.commands[place, D_KIND] == DONE:
            return int(place)
    return -1


@njit
def issue_command(s: State, now: int, core: int) -> None:
    """Serve `send_packet`, `copy_to_host`, `copy_from_host`, `write_to_host`."""
    h = row_at(s.cores, core)
    if h[H_FEEDBACK] >= 0:
        h[H_WAIT] = WAIT_FEEDBACK
        if s.conf[C_STALE]:
            h[H_STALE] = max(free_place(s, core, 0), core * s.conf[C_PER_CORE])
        return
    kind = h[H_OP]
    if not _possible(s, core):
        h[H_STALE] = -1
        h[H_FAULT] = FAULT_BAD_COMMAND
        report(s, now, core, FAULT_BAD_COMMAND, kind)
        end_handler(s, now, core)
        return
    place = free_place(s, core, 0)
    if place < 0:
        h[H_WAIT] = WAIT_SLOT
        return
    d = row_at(s.commands, place)
    d[D_KIND] = kind
    d[D_CORE] = core
    d[D_CONTEXT] = h[H_CONTEXT]
    d[D_READY] = now + s.conf[C_ISSUE] - 1
    d[D_END] = -1
    d[D_SOURCE] = h[H_ARGS]
    d[D_BYTES] = h[H_ARGS + 1]
    d[D_TARGET] = h[H_ARGS + 2]
    d[D_CLUSTER] = -1
    d[D_TAG] = h[H_ARGS + 2]
    d[D_PORT] = h[H_ARGS + 3]
    d[D_SENT] = -1
    if kind == OP_HOST_WORD:
        d[D_TARGET] = h[H_ARGS]
        d[D_SOURCE] = h[H_ARGS + 1]
        d[D_BYTES] = 8
    else:
        d[D_CLUSTER] = cluster_of(s, core, d[D_SOURCE])
        d[D_BEAT] = s.packets[h[H_PACKET], P_BEAT]
    if kind == OP_SEND:
        _keep_sent(s, d, h[H_MESSAGE])
    h[H_OPEN] += 1
    append(s.command_fifo, s.command_span, h[H_CLUSTER], place)
    wake_gather(s, h[H_CLUSTER], d[D_READY])
    handle = place if h[H_STALE] < 0 else h[H_STALE]
    h[H_STALE] = -1
    go_on(s, now, core, handle)


@njit
def _possible(s: State, core: int) -> bool:
    h = row_at(s.cores, core)
    if h[H_OP] == OP_SEND:
        return bool(0 < h[H_ARGS + 1] <= s.conf[C_MAX] and 0 <= h[H_ARGS + 3] < PORTS)
    offset, size = h[H_ARGS + 2], h[H_ARGS + 1]
    if h[H_OP] == OP_HOST_WORD:
        offset, size = h[H_ARGS], 8
    return bool(offset >= 0 and size > 0 and offset <= h[H_HOST_BYTES] - size)


@njit
def cluster_of(s: State, core: int, address: int) -> int:
    """The cluster with the L1 of an address of a running handler, -1: L2."""
    h = row_at(s.cores, core)
    scratch = address - h[H_SCRATCH]
    if 0 <= scratch < h[H_SCRATCH_BYTES] * s.conf[C_CLUSTERS]:
        return int(scratch // h[H_SCRATCH_BYTES])
    packet = address - h[H_PACKET_ADDRESS]
    return int(h[H_CLUSTER]) if 0 <= packet < h[H_PACKET_BYTES] else -1


@njit
def _keep_sent(s: State, d: Any, message: int) -> None:
    """The bytes that will leave: those of the cycle of the issue."""
    g = s.g
    row = g[G_SENT]
    r = row_at(s.sent, row)
    r[S_CYCLE] = -1
    r[S_PORT] = d[D_PORT]
    r[S_TAG] = d[D_TAG]
    r[S_MESSAGE] = message
    r[S_CORE] = d[D_CORE]
    r[S_OFFSET] = g[G_SENT_BYTES]
    r[S_BYTES] = d[D_BYTES]
    r[S_CONTEXT] = d[D_CONTEXT]
    copy_bytes(s.sent_data.ctypes.data + g[G_SENT_BYTES], d[D_SOURCE], d[D_BYTES])
    g[G_SENT_BYTES] += d[D_BYTES]
    g[G_SENT] += 1
    d[D_SENT] = row


@njit
def command_done(s: State, now: int, place: int) -> None:
    """A command is complete: bytes are where they go, and whoever waits goes on."""
    d = row_at(s.commands, place)
    core, i = d[D_CORE], interface_of(d[D_KIND])
    context = row_at(s.contexts, d[D_CONTEXT])
    if d[D_KIND] == OP_SEND:
        s.sent[d[D_SENT], S_CYCLE] = now
    elif d[D_KIND] == OP_FROM_HOST:
        copy_bytes(d[D_SOURCE], context[X_HOST] + d[D_TARGET], d[D_BYTES])
    elif d[D_KIND] == OP_TO_HOST:
        copy_bytes(context[X_HOST] + d[D_TARGET], d[D_SOURCE], d[D_BYTES])
    else:
        carray(words_at(context[X_HOST] + d[D_TARGET]), 1)[0] = d[D_SOURCE]
        if s.g[G_HOST_WRITES] < s.host_writes.shape[0]:
            w = row_at(s.host_writes, s.g[G_HOST_WRITES])
            w[0] = now
            w[1] = d[D_CONTEXT]
            w[2] = d[D_TARGET]
            w[3] = d[D_SOURCE]
        s.g[G_HOST_WRITES] += 1
    if d[D_KIND] == OP_FROM_HOST:
        push(s, now + s.conf[C_HOLD], E_RELEASE, i)
    else:
        release_place(s, now, i)
    _free(s, now, core, place)


@njit
def _free(s: State, now: int, core: int, place: int) -> None:
    s.commands[place, D_KIND] = DONE
    h = row_at(s.cores, core)
    h[H_OPEN] -= 1
    if h[H_WAIT] == WAIT_SLOT:
        ask_again(s, now, core)
    elif h[H_WAIT] == WAIT_COMMAND and h[H_WAIT_ON] == place:
        go_on(s, now + s.conf[C_RESUME], core, 1)
    if h[H_FEEDBACK] >= 0 and h[H_OPEN] == 0:
        give_feedback(s, now, core)


@njit
def wait_command(s: State, now: int, core: int, block: bool) -> None:
    """Serve `wait`, `test` and their twins for copies."""
    h = row_at(s.cores, core)
    place, per_core = h[H_ARGS], s.conf[C_PER_CORE]
    total = s.cores.shape[0]
    copies, first = h[H_OP] in (OP_COPY_WAIT, OP_COPY_TEST), total * per_core
    given = 0 <= place < 2 * first and (place >= first) == copies and (place // per_core) % total == core
    given = given and (s.commands[place, D_CORE] == core or s.conf[C_STALE] != 0)
    if not given:
        h[H_FAULT] = FAULT_BAD_COMMAND
        report(s, now, core, FAULT_BAD_COMMAND, h[H_OP])
        end_handler(s, now, core)
        return
    done = s.commands[place, D_KIND] == DONE
    if done or not block:
        go_on(s, now, core, 1 if done else 0)
    else:
        h[H_WAIT] = WAIT_COMMAND
        h[H_WAIT_ON] = place


@njit
def copy_for_handler(s: State, now: int, core: int) -> None:
    """Serve `dma`: a copy through the port between L2 and L1."""
    h = row_at(s.cores, core)
    place = free_place(s, core, s.cores.shape[0])
    if place < 0:
        h[H_WAIT] = WAIT_SLOT
        return
    d = row_at(s.commands, place)
    d[D_KIND] = OP_COPY
    d[D_CORE] = core
    d[D_CONTEXT] = h[H_CONTEXT]
    d[D_CLUSTER] = h[H_CLUSTER]
    d[D_TARGET] = h[H_ARGS]
    d[D_SOURCE] = h[H_ARGS + 1]
    d[D_BYTES] = h[H_ARGS + 2]
    h[H_OPEN] += 1
    append(s.copy_fifo, s.copy_span, h[H_CLUSTER], s.packets.shape[0] + place)
    s.g[G_COPIES] += 1
    wake_port(s, now + 1)
    go_on(s, now, core, place)


@njit
def copy_done_for_handler(s: State, now: int, place: int) -> None:
    """A handler's copy is complete."""
    d = row_at(s.commands, place)
    copy_bytes(d[D_TARGET], d[D_SOURCE], d[D_BYTES])
    _free(s, now, d[D_CORE], place)
