"""The way of commands to an interface: cores, their cluster's register at the command unit, the interface's turn.

A cluster takes a command of its cores each cycle while its register has room; commands leave it in order, so one that
waits for a busy interface holds up those behind it whatever they want. An interface has seven commands in flight at
most and takes clusters in turn. [src]
"""

from __future__ import annotations

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.engines import begin_command
from pspin_model.machine.events import E_GATHER, E_ISSUE, push
from pspin_model.machine.fifos import append, arbiter_rank, has_room, later_turn, take, take_at
from pspin_model.machine.layout import (
    D_CORE,
    D_KIND,
    D_READY,
    G_IN_FLIGHT,
    G_ISSUE_AT,
    G_ISSUE_CHOSEN,
    G_ISSUE_CHOSEN_AT,
    G_ISSUE_TURN,
    H_PLACE,
    HOST_DMA,
    HOST_WORD,
    L_CHOSEN,
    L_CHOSEN_AT,
    L_COMMAND_TAKEN,
    L_GATHER,
    L_TURN,
    NETWORK,
    OP_HOST_WORD,
    OP_SEND,
    State,
)
from pspin_model.machine.state import row_at

C_IN_FLIGHT = index_of("commands_in_flight")
C_CLUSTERS = index_of("clusters")
C_CORES = index_of("cores")

DONE = -1


@njit
def interface_of(kind: int) -> int:
    """Which interface carries a command."""
    if kind == OP_SEND:
        return NETWORK
    return HOST_WORD if kind == OP_HOST_WORD else HOST_DMA


@njit
def wake_gather(s: State, cluster: int, at: int) -> None:
    """Have a cluster look at its cores' commands."""
    c = row_at(s.clusters, cluster)
    if s.command_span[cluster, 1] > 0 and (c[L_GATHER] < 0 or at < c[L_GATHER]):
        c[L_GATHER] = at
        push(s, at, E_GATHER, cluster)


@njit
def gather(s: State, now: int, cluster: int) -> None:
    """Move a command of the core next in turn to the cluster's register at the unit, if that has room."""
    c = row_at(s.clusters, cluster)
    if c[L_GATHER] != now:
        return
    c[L_GATHER] = -1
    best, best_rank, soonest, turn = -1, -1, -1, -1
    size = s.command_fifo.shape[1]
    for at in range(s.command_span[cluster, 1]):
        d = row_at(s.commands, s.command_fifo[cluster, (s.command_span[cluster, 0] + at) % size])
        if d[D_READY] > now:
            soonest = d[D_READY]
            break
        if c[L_CHOSEN] >= 0 and d[D_READY] > c[L_CHOSEN_AT]:
            continue
        place = s.cores[d[D_CORE], H_PLACE]
        rank = arbiter_rank(place, c[L_TURN], s.conf[C_CORES])
        turn = later_turn(place, c[L_TURN], turn)
        if place == c[L_CHOSEN]:
            rank = -2
        if best < 0 or rank < best_rank:
            best, best_rank = at, rank
    if best < 0:
        wake_gather(s, cluster, soonest)
        return
    if not has_room(s.unit_fifo, s.unit_span, cluster, c[L_COMMAND_TAKEN] == now):
        head = s.command_fifo[cluster, (s.command_span[cluster, 0] + best) % size]
        if c[L_CHOSEN] < 0:
            c[L_CHOSEN_AT] = now
        c[L_CHOSEN] = s.cores[s.commands[head, D_CORE], H_PLACE]
        return
    taken = take_at(s.command_fifo, s.command_span, cluster, best)
    c[L_CHOSEN] = -1
    c[L_TURN] = turn
    append(s.unit_fifo, s.unit_span, cluster, taken)
    s.commands[taken, D_READY] = now + 1
    wake_interface(s, interface_of(s.commands[taken, D_KIND]), now + 1)
    wake_gather(s, cluster, now + 1)


@njit
def wake_interface(s: State, i: int, at: int) -> None:
    """Have an interface look for a command, unless it is full and knows which comes next."""
    g = s.g
    if g[G_IN_FLIGHT + i] >= s.conf[C_IN_FLIGHT] and g[G_ISSUE_CHOSEN + i] >= 0:
        return
    if g[G_ISSUE_AT + i] < 0 or at < g[G_ISSUE_AT + i]:
        g[G_ISSUE_AT + i] = at
        push(s, at, E_ISSUE, i)


@njit
def serve_interface(s: State, now: int, i: int) -> None:
    """Take the command of the cluster next in turn."""
    g = s.g
    if g[G_ISSUE_AT + i] != now:
        return
    g[G_ISSUE_AT + i] = -1
    best, best_rank, soonest, others, turn = -1, 0, -1, False, -1
    for cluster in range(s.conf[C_CLUSTERS]):
        if s.unit_span[cluster, 1] == 0:
            continue
        d = row_at(s.commands, s.unit_fifo[cluster, s.unit_span[cluster, 0]])
        if interface_of(d[D_KIND]) != i:
            continue
        if d[D_READY] > now:
            soonest = d[D_READY]
            continue
        if g[G_ISSUE_CHOSEN + i] >= 0 and d[D_READY] > g[G_ISSUE_CHOSEN_AT + i]:
            others = True
            continue
        rank = arbiter_rank(cluster, g[G_ISSUE_TURN + i], s.conf[C_CLUSTERS])
        turn = later_turn(cluster, g[G_ISSUE_TURN + i], turn)
        if cluster == g[G_ISSUE_CHOSEN + i]:
            rank = -1
        others = others or best >= 0
        if best < 0 or rank < best_rank:
            best, best_rank = cluster, rank
    if best < 0:
        if soonest >= 0:
            wake_interface(s, i, soonest)
        return
    if g[G_IN_FLIGHT + i] >= s.conf[C_IN_FLIGHT]:
        if g[G_ISSUE_CHOSEN + i] < 0:
            g[G_ISSUE_CHOSEN_AT + i] = now
        g[G_ISSUE_CHOSEN + i] = best
        return
    place = take(s.unit_fifo, s.unit_span, best)
    s.clusters[best, L_COMMAND_TAKEN] = now
    g[G_ISSUE_CHOSEN + i] = -1
    g[G_ISSUE_TURN + i] = turn
    g[G_IN_FLIGHT + i] += 1
    begin_command(s, now, place)
    wake_gather(s, best, now + 1)
    if s.unit_span[best, 1] > 0:
        d = row_at(s.commands, s.unit_fifo[best, s.unit_span[best, 0]])
        wake_interface(s, interface_of(d[D_KIND]), max(now + 1, d[D_READY]))
    if others or soonest >= 0:
        wake_interface(s, i, now + 1)


@njit
def release_place(s: State, now: int, i: int) -> None:
    """A command leaves the unit: another may come."""
    s.g[G_IN_FLIGHT + i] -= 1
    wake_interface(s, i, now)
