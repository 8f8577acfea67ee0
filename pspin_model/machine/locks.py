"""Locks of contexts: reader-writer locks with waiters served in order of arrival."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import end_handler, go_on, report
from pspin_model.machine.events import E_WATCH, push
from pspin_model.machine.layout import (
    FAULT_BAD_LOCK,
    FAULT_LOCK_WAIT,
    FAULT_NONE,
    FAULT_NOT_HOLDER,
    G_WAITERS,
    G_WATCH,
    H_ARGS,
    H_FAULT,
    H_HELD,
    H_LOCK_BASE,
    H_LOCKS,
    H_NEXT,
    H_RESULT,
    H_SINCE,
    H_WAIT,
    H_WAIT_ON,
    K_HEAD,
    K_HOLDER,
    K_STATE,
    K_TAIL,
    WAIT_LOCK,
    WAIT_NONE,
    State,
)
from pspin_model.machine.state import row_at

C_HANDOFF = index_of("lock_handoff")
C_LIMIT = index_of("handler_limit")

WRITTEN = -1


@njit
def take_lock(s: State, now: int, core: int, read: bool, wait: bool) -> None:
    """Serve `lock`, `try_lock`, `read_lock`."""
    h = row_at(s.cores, core)
    index = h[H_ARGS]
    if index < 0 or index >= h[H_LOCKS]:
        h[H_FAULT] = FAULT_BAD_LOCK
        report(s, now, core, FAULT_BAD_LOCK, index)
        end_handler(s, now, core)
        return
    k = row_at(s.locks, h[H_LOCK_BASE] + index)
    free = k[K_STATE] == 0 or (read and k[K_STATE] > 0 and k[K_HEAD] < 0)
    if free:
        _grant(s, k, core, read)
        go_on(s, now, core, 1)
    elif not wait:
        go_on(s, now, core, 0)
    else:
        h[H_WAIT] = WAIT_LOCK
        h[H_WAIT_ON] = h[H_LOCK_BASE] + index
        h[H_SINCE] = now
        h[H_NEXT] = -1
        h[H_RESULT] = read
        if k[K_HEAD] < 0:
            k[K_HEAD] = core
        else:
            s.cores[k[K_TAIL], H_NEXT] = core
        k[K_TAIL] = core
        g = s.g
        g[G_WAITERS] += 1
        if not g[G_WATCH]:
            g[G_WATCH] = 1
            push(s, now + s.conf[C_LIMIT], E_WATCH, 0)


@njit
def _grant(s: State, k: Any, core: int, read: bool) -> None:
    k[K_STATE] = k[K_STATE] + 1 if read else WRITTEN
    k[K_HOLDER] = core
    s.cores[core, H_HELD] += 1


@njit
def give_lock(s: State, now: int, core: int, read: bool) -> None:
    """Serve `unlock`, `read_unlock`: the first waiter goes on, and readers behind it with it."""
    h = row_at(s.cores, core)
    index = h[H_ARGS]
    fault = FAULT_NONE
    if index < 0 or index >= h[H_LOCKS]:
        fault = FAULT_BAD_LOCK
    else:
        k = row_at(s.locks, h[H_LOCK_BASE] + index)
        held = k[K_STATE] > 0 if read else (k[K_STATE] == WRITTEN and k[K_HOLDER] == core)
        if not held:
            fault = FAULT_NOT_HOLDER
    if fault != FAULT_NONE:
        h[H_FAULT] = fault
        report(s, now, core, fault, index)
        end_handler(s, now, core)
        return
    k[K_STATE] = k[K_STATE] - 1 if read else 0
    h[H_HELD] -= 1
    go_on(s, now, core, 0)
    while k[K_HEAD] >= 0:
        first = k[K_HEAD]
        wants_read = s.cores[first, H_RESULT] != 0
        if k[K_STATE] != 0 and not (wants_read and k[K_STATE] > 0):
            break
        k[K_HEAD] = s.cores[first, H_NEXT]
        s.g[G_WAITERS] -= 1
        _grant(s, k, first, wants_read)
        go_on(s, now + s.conf[C_HANDOFF], first, 1)


@njit
def watch(s: State, now: int) -> None:
    """Handlers that have waited for a lock for the limit are ended; the others wait on."""
    s.g[G_WATCH] = 0
    next_look = -1
    for core in range(s.cores.shape[0]):
        h = row_at(s.cores, core)
        if h[H_WAIT] != WAIT_LOCK:
            continue
        if now - h[H_SINCE] >= s.conf[C_LIMIT]:
            _give_up(s, now, core)
        elif next_look < 0 or h[H_SINCE] < next_look:
            next_look = h[H_SINCE]
    if next_look >= 0:
        s.g[G_WATCH] = 1
        push(s, next_look + s.conf[C_LIMIT], E_WATCH, 0)


@njit
def _give_up(s: State, now: int, core: int) -> None:
    h = row_at(s.cores, core)
    k = row_at(s.locks, h[H_WAIT_ON])
    before, at = -1, k[K_HEAD]
    while at != core:
        before, at = at, s.cores[at, H_NEXT]
    if before < 0:
        k[K_HEAD] = h[H_NEXT]
    else:
        s.cores[before, H_NEXT] = h[H_NEXT]
        if k[K_TAIL] == core:
            k[K_TAIL] = before
    s.g[G_WAITERS] -= 1
    h[H_WAIT] = WAIT_NONE
    h[H_FAULT] = FAULT_LOCK_WAIT
    report(s, now, core, FAULT_LOCK_WAIT, k[K_HOLDER])
    end_handler(s, now, core)
