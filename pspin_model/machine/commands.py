"""Commands of handlers: from the core's four places through its cluster to an interface, and back.

Clusters take turns at an interface, which has seven commands in flight at most. The network's and the host's ports move
a beat a cycle. A core whose last feedback has not left issues nothing: the next handler waits at its first command.
"""

from __future__ import annotations

from typing import Any

from emulator.ports.intrinsics import copy_memory
from emulator.ports.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import ask_again, end_handler, give_feedback, go_on, report
from pspin_model.machine.events import E_COMMAND_DONE, E_ISSUE, E_RELEASE, push
from pspin_model.machine.fifos import append, take_at
from pspin_model.machine.ingest import beats
from pspin_model.machine.layout import (
    D_BYTES,
    D_CLUSTER,
    D_CONTEXT,
    D_CORE,
    D_KIND,
    D_PORT,
    D_READY,
    D_SENT,
    D_SOURCE,
    D_TAG,
    D_TARGET,
    FAULT_BAD_COMMAND,
    G_COPIES,
    G_HOST_READ_FREE,
    G_HOST_WORD_FREE,
    G_HOST_WRITE_FREE,
    G_HOST_WRITES,
    G_IN_FLIGHT,
    G_INGEST_DEBT,
    G_INGEST_HEAD,
    G_ISSUE_AT,
    G_ISSUE_TURN,
    G_NETWORK_CLUSTER,
    G_NETWORK_FREE,
    G_SENT,
    G_SENT_BYTES,
    G_WAITING_COMMANDS,
    H_ARGS,
    H_CLUSTER,
    H_CONTEXT,
    H_FAULT,
    H_FEEDBACK,
    H_HOST_BYTES,
    H_MESSAGE,
    H_OP,
    H_OPEN,
    H_PACKET_ADDRESS,
    H_PACKET_BYTES,
    H_PLACE,
    H_SCRATCH,
    H_SCRATCH_BYTES,
    H_WAIT,
    H_WAIT_ON,
    HOST_DMA,
    HOST_WORD,
    L_NETWORK_PORT,
    L_TURN,
    NETWORK,
    OP_COPY,
    OP_FROM_HOST,
    OP_HOST_WORD,
    OP_SEND,
    OP_TO_HOST,
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
from pspin_model.machine.ports import add_stream, wake_port
from pspin_model.machine.state import row_at
from pspin_model.machine.switching import carray, words_at

C_PER_CORE = index_of("commands_per_core")
C_IN_FLIGHT = index_of("commands_in_flight")
C_ISSUE = index_of("issue_latency")
C_SEND = index_of("send_latency")
C_SEND_BEATS = index_of("send_beats")
C_TURN = index_of("send_turn")
C_WRITE = index_of("host_write_latency")
C_READ = index_of("host_read_latency")
C_EXTRA = index_of("host_extra_beats")
C_WORD = index_of("host_word_latency")
C_HOLD = index_of("host_read_hold")
C_RESUME = index_of("wait_to_resume")
C_CLUSTERS = index_of("clusters")
C_CORES = index_of("cores")
C_MAX = index_of("max_packet_bytes")

DONE = -1


@njit
def interface_of(kind: int) -> int:
    """Which interface carries a command."""
    if kind == OP_SEND:
        return NETWORK
    return HOST_WORD if kind == OP_HOST_WORD else HOST_DMA


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
        return
    kind = h[H_OP]
    if not _possible(s, core):
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
    d[D_READY] = now + s.conf[C_ISSUE]
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
    if kind == OP_SEND:
        _keep_sent(s, d, h[H_MESSAGE])
    h[H_OPEN] += 1
    i = interface_of(kind)
    append(s.command_fifo, s.command_span, i * s.conf[C_CLUSTERS] + h[H_CLUSTER], place)
    s.g[G_WAITING_COMMANDS + i] += 1
    wake_interface(s, i, d[D_READY])
    go_on(s, now, core, place)


@njit
def _possible(s: State, core: int) -> bool:
    h = row_at(s.cores, core)
    if h[H_OP] == OP_SEND:
        return bool(0 < h[H_ARGS + 1] <= s.conf[C_MAX])
    offset, size = h[H_ARGS + 2], h[H_ARGS + 1]
    if h[H_OP] == OP_HOST_WORD:
        offset, size = h[H_ARGS], 8
    return bool(offset >= 0 and size > 0 and offset + size <= h[H_HOST_BYTES])


@njit
def cluster_of(s: State, core: int, address: int) -> int:
    """The cluster in whose L1 an address of a running handler lies, -1: L2."""
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
    copy_memory(s.sent_data.ctypes.data + g[G_SENT_BYTES], d[D_SOURCE], d[D_BYTES])
    g[G_SENT_BYTES] += d[D_BYTES]
    g[G_SENT] += 1
    d[D_SENT] = row


@njit
def wake_interface(s: State, i: int, at: int) -> None:
    """Have an interface look for a command."""
    g = s.g
    if g[G_WAITING_COMMANDS + i] == 0 or g[G_IN_FLIGHT + i] >= s.conf[C_IN_FLIGHT]:
        return
    if g[G_ISSUE_AT + i] < 0 or at < g[G_ISSUE_AT + i]:
        g[G_ISSUE_AT + i] = at
        push(s, at, E_ISSUE, i)


@njit
def arbiter_rank(requester: int, turn: int, count: int) -> int:
    """Order of a requester in an arbiter tree: the least rank wins.

    At each node of the tree a bit of the turn says which half is preferred if both ask. The turn counts grants, whoever
    got them: when few ask, some wait longer than others. [src]
    """
    width = 1
    while width < count:
        width *= 2
    return int(requester ^ (turn % width))


@njit
def _take_of_cluster(s: State, now: int, i: int, cluster: int) -> int:
    """A cluster's next command for an interface: that of the core its arbiter prefers, the core's first."""
    row = i * s.conf[C_CLUSTERS] + cluster
    turn = s.clusters[cluster, L_TURN + i]
    s.clusters[cluster, L_TURN + i] += 1
    best, best_rank = 0, -1
    for at in range(s.command_span[row, 1]):
        place = s.command_fifo[row, (s.command_span[row, 0] + at) % s.command_fifo.shape[1]]
        if s.commands[place, D_READY] > now:
            break
        rank = arbiter_rank(s.cores[s.commands[place, D_CORE], H_PLACE], turn, s.conf[C_CORES])
        if best_rank < 0 or rank < best_rank:
            best, best_rank = at, rank
    return int(take_at(s.command_fifo, s.command_span, row, best))


@njit
def serve_interface(s: State, now: int, i: int) -> None:
    """Start the next command of the clusters that have one, in turn."""
    g = s.g
    if g[G_ISSUE_AT + i] != now:
        return
    g[G_ISSUE_AT + i] = -1
    if g[G_IN_FLIGHT + i] >= s.conf[C_IN_FLIGHT]:
        return
    clusters = s.conf[C_CLUSTERS]
    soonest, best, best_rank = -1, -1, 0
    for cluster in range(clusters):
        row = i * clusters + cluster
        if s.command_span[row, 1] == 0:
            continue
        ready = s.commands[s.command_fifo[row, s.command_span[row, 0]], D_READY]
        if ready > now:
            soonest = ready if soonest < 0 else min(soonest, ready)
            continue
        rank = arbiter_rank(cluster, g[G_ISSUE_TURN + i], clusters)
        if best < 0 or rank < best_rank:
            best, best_rank = cluster, rank
    if best >= 0:
        place = _take_of_cluster(s, now, i, best)
        g[G_ISSUE_TURN + i] += 1
        g[G_WAITING_COMMANDS + i] -= 1
        g[G_IN_FLIGHT + i] += 1
        push(s, _start(s, now, row_at(s.commands, place)), E_COMMAND_DONE, place)
        soonest = now + 1
    if soonest >= 0:
        wake_interface(s, i, max(soonest, now + 1))


@njit
def _start(s: State, now: int, d: Any) -> int:
    """The cycle at which a command that its interface takes now will be done."""
    g = s.g
    length = beats(s, d[D_BYTES])
    if d[D_KIND] == OP_HOST_WORD:
        start = max(now, g[G_HOST_WORD_FREE])
        g[G_HOST_WORD_FREE] = start + 1
        return int(start + s.conf[C_WORD])
    cluster = d[D_CLUSTER]
    if d[D_KIND] == OP_SEND:
        free = g[G_NETWORK_FREE]
        if cluster >= 0 and g[G_NETWORK_CLUSTER] >= 0 and cluster != g[G_NETWORK_CLUSTER]:
            free += s.conf[C_TURN]
        g[G_NETWORK_CLUSTER] = cluster
        start = through_l1(s, max(now, free), cluster, length)
        g[G_NETWORK_FREE] = start + (length + s.conf[C_SEND_BEATS] - 1) // s.conf[C_SEND_BEATS]
        return int(start + length + s.conf[C_SEND])
    if d[D_KIND] == OP_TO_HOST:
        start = through_l1(s, max(now, g[G_HOST_WRITE_FREE]), cluster, length)
        g[G_HOST_WRITE_FREE] = start + length + s.conf[C_EXTRA]
        if cluster < 0 and g[G_INGEST_HEAD] >= 0:
            # the beat more of a read of L2 is one that the network interface cannot write
            g[G_INGEST_DEBT] += s.conf[C_EXTRA]
        return int(start + length + s.conf[C_WRITE])
    start = through_l1(s, max(now, g[G_HOST_READ_FREE]), cluster, length)
    g[G_HOST_READ_FREE] = start + length + s.conf[C_EXTRA]
    return int(start + length + s.conf[C_READ])


@njit
def through_l1(s: State, start: int, cluster: int, length: int) -> int:
    """When a command's beats can go through the cluster's port for commands; they then take it."""
    if cluster < 0:
        return start
    c = row_at(s.clusters, cluster)
    start = max(start, c[L_NETWORK_PORT])
    c[L_NETWORK_PORT] = start + length
    add_stream(s, cluster, start, length)
    return start


@njit
def command_done(s: State, now: int, place: int) -> None:
    """A command is complete: bytes are where they go, and whoever waits goes on."""
    d = row_at(s.commands, place)
    core, i = d[D_CORE], interface_of(d[D_KIND])
    context = row_at(s.contexts, d[D_CONTEXT])
    if d[D_KIND] == OP_SEND:
        s.sent[d[D_SENT], S_CYCLE] = now
    elif d[D_KIND] == OP_FROM_HOST:
        copy_memory(d[D_SOURCE], context[X_HOST] + d[D_TARGET], d[D_BYTES])
    elif d[D_KIND] == OP_TO_HOST:
        copy_memory(context[X_HOST] + d[D_TARGET], d[D_SOURCE], d[D_BYTES])
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
def release_place(s: State, now: int, i: int) -> None:
    """A command leaves the unit: another may come."""
    s.g[G_IN_FLIGHT + i] -= 1
    wake_interface(s, i, now)


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
    if place < 0 or place >= 2 * total * per_core or (place // per_core) % total != core:
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
    copy_memory(d[D_TARGET], d[D_SOURCE], d[D_BYTES])
    _free(s, now, d[D_CORE], place)
