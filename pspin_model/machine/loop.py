"""The engine: takes events in order until there is nothing to do before a cycle, or a record is full."""

from __future__ import annotations

import numba

from emulator.native.jit import njit
from pspin_model.machine.cache import fetch, serve_lines
from pspin_model.machine.commands import command_done, copy_for_handler, issue_command, wait_command
from pspin_model.machine.config import index_of
from pspin_model.machine.cores import end_handler, go_on, report, ring_doorbell, waits_for_banks
from pspin_model.machine.engines import begin_burst, burst_done
from pspin_model.machine.events import (
    CYCLE_SHIFT,
    E_ACCEPT,
    E_ARRIVE,
    E_BURST,
    E_COLLECT,
    E_COMMAND_DONE,
    E_COPIED,
    E_DISPATCH,
    E_DOORBELL,
    E_ENGINE,
    E_FEEDBACK,
    E_FETCH,
    E_GATHER,
    E_ISSUE,
    E_LINES,
    E_PATH,
    E_PORT,
    E_RELEASE,
    E_REQUEST,
    E_RESUME,
    E_TASK,
    E_WATCH,
    E_WRITTEN,
    KIND_SHIFT,
    LAST_CYCLE,
    SUBJECTS,
    pop,
    push,
)
from pspin_model.machine.feedback import collect, take_feedback
from pspin_model.machine.ingest import arrive, expect_arrival, request, written
from pspin_model.machine.interfaces import gather, release_place, serve_interface
from pspin_model.machine.landing import landed
from pspin_model.machine.layout import (
    FAULT_EXCEPTION,
    G_EVENTS,
    G_NOW,
    G_RECORDS,
    G_SENT,
    G_SENT_BYTES,
    G_WAITERS,
    G_WATCH,
    H_CODE,
    H_COLUMNS,
    H_ENGINE_SP,
    H_EXCEPTION,
    H_FAULT,
    H_FAULT_VALUE,
    H_OP,
    H_SP,
    OP_ATOMIC,
    OP_COPY,
    OP_COPY_TEST,
    OP_COPY_WAIT,
    OP_END,
    OP_FAULT,
    OP_LOCK,
    OP_READ_LOCK,
    OP_READ_UNLOCK,
    OP_TEST,
    OP_TRY_LOCK,
    OP_UNLOCK,
    OP_WAIT,
    OP_YIELD,
    State,
)
from pspin_model.machine.locks import give_lock, take_lock, watch
from pspin_model.machine.ports import start_copy
from pspin_model.machine.requests import let_requests
from pspin_model.machine.scheduling import accept, copied, dispatch, schedule
from pspin_model.machine.state import row_at, state_at
from pspin_model.machine.switching import call_handler, carray, switch_stacks, words_at

C_TRAP = index_of("trap_cycles")

DONE_ALL, DONE_UNTIL, DONE_FULL, DONE_LATE = 0, 1, 2, 3
HEADROOM = 8
"""Records left when the engine stops so that Python can fetch them; an event writes fewer."""


@njit
def serve(s: State, now: int, core: int) -> None:
    """Do what a handler asked for at its point of order."""
    if waits_for_banks(s, now, core):
        return
    h = row_at(s.cores, core)
    op = h[H_OP]
    if op == OP_END:
        end_handler(s, now, core)
    elif op == OP_FAULT:
        report(s, now, core, h[H_FAULT], h[H_FAULT_VALUE])
        h[H_OP] = OP_END
        push(s, now + s.conf[C_TRAP], E_RESUME, core)
    elif op in (OP_YIELD, OP_ATOMIC):
        go_on(s, now, core, 0)
    elif op in (OP_LOCK, OP_TRY_LOCK, OP_READ_LOCK):
        take_lock(s, now, core, op == OP_READ_LOCK, op != OP_TRY_LOCK)
    elif op in (OP_UNLOCK, OP_READ_UNLOCK):
        give_lock(s, now, core, op == OP_READ_UNLOCK)
    elif op == OP_COPY:
        copy_for_handler(s, now, core)
    elif op in (OP_WAIT, OP_TEST, OP_COPY_WAIT, OP_COPY_TEST):
        wait_command(s, now, core, op in (OP_WAIT, OP_COPY_WAIT))
    else:
        issue_command(s, now, core)


@njit
def advance(address: int, until: int) -> int:
    """Let everything happen in a machine before the cycle ``until`` (< 0: everything).

    ``address`` is that of its tables' descriptors. Returns why it stopped: DONE_*.
    """
    s = state_at(address)
    g = s.g
    expect_arrival(s, g[G_NOW])
    while g[G_EVENTS] > 0:
        key = s.heap[0]
        now = key >> CYCLE_SHIFT
        if 0 <= until <= now:
            g[G_NOW] = until
            return DONE_UNTIL
        if now > LAST_CYCLE:
            return DONE_LATE
        if g[G_RECORDS] + HEADROOM > s.records.shape[0] or g[G_SENT] + HEADROOM > s.sent.shape[0]:
            return DONE_FULL
        if g[G_SENT_BYTES] + HEADROOM * s.l2.shape[1] > s.sent_data.shape[0]:
            return DONE_FULL
        pop(s)
        kind, subject = (key >> KIND_SHIFT) & 63, key & SUBJECTS
        if kind == E_WATCH and g[G_WAITERS] == 0:
            g[G_WATCH] = 0
            continue
        g[G_NOW] = now
        if kind == E_RESUME:
            serve(s, now, subject)
        elif kind == E_FETCH:
            fetch(s, now, subject)
        elif kind == E_LINES:
            serve_lines(s, now, subject)
        elif kind == E_ARRIVE:
            arrive(s, now)
        elif kind == E_WRITTEN:
            written(s, now, subject)
        elif kind == E_REQUEST:
            request(s, now, subject)
        elif kind == E_TASK:
            schedule(s, now)
        elif kind == E_ACCEPT:
            accept(s, now, subject)
        elif kind == E_PORT:
            start_copy(s, now)
        elif kind == E_COPIED:
            if landed(s, now, subject):
                copied(s, now, subject)
        elif kind == E_DISPATCH:
            dispatch(s, now, subject)
        elif kind == E_COLLECT:
            collect(s, now, subject)
        elif kind == E_DOORBELL:
            ring_doorbell(s, now, subject)
        elif kind == E_GATHER:
            gather(s, now, subject)
        elif kind == E_ISSUE:
            serve_interface(s, now, subject)
        elif kind == E_PATH:
            let_requests(s, now)
        elif kind == E_ENGINE:
            begin_burst(s, now, subject)
        elif kind == E_BURST:
            burst_done(s, now, subject)
        elif kind == E_COMMAND_DONE:
            command_done(s, now, subject)
        elif kind == E_RELEASE:
            release_place(s, now, subject)
        elif kind == E_FEEDBACK:
            take_feedback(s, now)
        else:
            watch(s, now)
    return DONE_ALL


@numba.cfunc(numba.types.void(numba.types.int64), cache=True)
def entry(h):  # type: ignore[no-untyped-def]
    """First function on every handler's stack: run the handler, say how it ended, never return."""
    r = carray(words_at(h), H_COLUMNS)
    status = call_handler(r[H_CODE], h, h + 8 * H_EXCEPTION)
    r[H_OP] = OP_END
    if status != 0:
        r[H_OP] = OP_FAULT
        r[H_FAULT] = FAULT_EXCEPTION
        r[H_FAULT_VALUE] = status
    while True:
        switch_stacks(h + 8 * H_SP, r[H_ENGINE_SP])
