"""Who takes the turns of the transport loop: a thread of its own, or the threads that call.

One thread per process runs ``run_loop`` and never needs the GIL until it is stopped. When it has nothing to do it
sleeps, and lends the turns: a thread that submits something small takes one turn at once (``take_turn``), and a thread
that waits takes all of them until its operation has ended (``wait_by_turns``). A round trip through the switch then
wakes the switch and the caller; with the loop's thread in between it would take four wake-ups.

``driver`` is a lock with the owner's name. LOOP: the loop's thread takes turns. NOBODY: it sleeps and has announced
that to the bell. BORROWER: another thread takes them; the loop's thread sleeps, without an announcement, or waits to
have them back. Why no wake-up is lost when they are given back: the borrower (1) announces the loop's sleep for it,
(2) sets NOBODY, (3) fence, (4) looks into the rings and at the timers, and (5) wakes the loop if there is something.
Whoever publishes before (4) is seen by it; whoever publishes after it finds the announcement of (1), and the loop's
thread, when woken, the turns free since (2). What needs another turn that nothing announces (a timer, a core that waits
for memory, requests that had no room) may be late by up to TICK_NS: the loop's sleep is that short while something
happens, so that borrowers need not wake it. Nor may it be longer while the turns are lent: a slow ringer may erase the
announcement of (1), which has the token of an earlier sleep.

Turns are lent where the port is a cable: on sockets the loop's thread would have to leave ppoll first.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import compare_exchange64, exchange64, fence, load_acquire64, store_release64
from emulator.native.jit import njit
from emulator.native.syscalls import monotonic_ns
from emulator.ports.cable.bell import bell_cancel, bell_kick, bell_prepare, bell_sequence, bell_wait
from emulator.ports.host import host_look, host_pending, host_wait
from emulator.ports.state import WAKE_REQUESTED
from hostagent.protocol.worker import NEVER_NS
from hostagent.transport.loop.calls import EINTR, is_done, wait_done
from hostagent.transport.loop.loop import turn
from hostagent.transport.loop.records import (
    BORROWER,
    ENGINE_DRIVER,
    ENGINE_STOP,
    LEAST_STALL_NS,
    LOOP,
    MOST_STALL_NS,
    NOBODY,
    engine_at,
)

TICK_NS = 1_000_000
"""The loop's longest sleep while something happens."""
ACTIVE_NS = 100_000_000
"""How long after the last turn that did something."""


@njit
def run_loop(engine_address: int) -> Any:
    """Serve until ``stop`` is set. Returns how many turns that took."""
    engine = engine_at(engine_address)
    while load_acquire64(engine_address + ENGINE_STOP) == 0:
        now_ns = monotonic_ns()
        if turn(engine_address, now_ns) == 0:
            rest(engine_address, now_ns)
    return engine.turns


@njit
def rest(engine_address: int, now_ns: int) -> None:
    """Sleep until a frame, a submission or a command comes, or the next timer is due; meanwhile lend the turns."""
    engine = engine_at(engine_address)
    until_ns = rest_until_ns(engine, now_ns)
    engine.sleeps += 1
    if engine.second_sleeper == 0:
        timeout_ns = -1 if until_ns == NEVER_NS else max(0, until_ns - monotonic_ns())
        host_wait(engine.port, engine.sleeper, engine.spin_ns, timeout_ns)
        return
    if now_ns - engine.active_ns < ACTIVE_NS:
        until_ns = min(until_ns, now_ns + TICK_NS)
    if host_look(engine.port, engine.spin_ns) == 0:
        lend(engine_address, until_ns)
    exchange64(engine.port + WAKE_REQUESTED, 0)


@njit
def rest_until_ns(engine: Any, now_ns: int) -> Any:
    """When the next turn is due though nothing happens.

    Some job is ``starved``: its core may be waiting to rewrite a frame that the switch was still reading, and nothing
    wakes us then.
    """
    if engine.starved == 0:
        engine.stall_ns = LEAST_STALL_NS
        return engine.due_ns
    until_ns = min(engine.due_ns, now_ns + engine.stall_ns)
    engine.stall_ns = min(2 * engine.stall_ns, MOST_STALL_NS)
    return until_ns


@njit
def lend(engine_address: int, until_ns: int) -> None:
    """Sleep, and return with the turns in hand."""
    engine = engine_at(engine_address)
    sequence = bell_prepare(engine.sleeper)
    if host_pending(engine.port) != 0:
        bell_cancel(engine.sleeper)
        return
    engine.rest_until_ns = until_ns
    store_release64(engine_address + ENGINE_DRIVER, NOBODY)
    bell_wait(engine.sleeper, sequence, left_ns(until_ns))
    while compare_exchange64(engine_address + ENGINE_DRIVER, NOBODY, LOOP) != NOBODY:
        sequence = bell_sequence(engine.sleeper)
        if load_acquire64(engine_address + ENGINE_DRIVER) == BORROWER:
            engine.rest_until_ns = monotonic_ns() + TICK_NS
            bell_wait(engine.sleeper, sequence, TICK_NS)
    bell_cancel(engine.sleeper)


@njit
def left_ns(until_ns: int) -> Any:
    """A time-out; -1: for ever."""
    return -1 if until_ns == NEVER_NS else max(0, until_ns - monotonic_ns())


@njit
def borrow(engine_address: int) -> Any:
    """Whether the turns are the caller's now."""
    if compare_exchange64(engine_address + ENGINE_DRIVER, NOBODY, BORROWER) != NOBODY:
        return False
    engine = engine_at(engine_address)
    bell_cancel(engine.sleeper)
    engine.borrowed += 1
    return True


@njit
def give_back(engine_address: int) -> None:
    """Let the loop's thread take the turns again, and wake it if there is something to do; (1) to (5) above."""
    engine = engine_at(engine_address)
    bell_prepare(engine.sleeper)
    due_ns = min(engine.due_ns, engine.active_ns + TICK_NS)  # a loop that sleeps for long is to begin with ticks
    store_release64(engine_address + ENGINE_DRIVER, NOBODY)
    fence()
    reasons = host_pending(engine.port) + load_acquire64(engine_address + ENGINE_STOP)
    if reasons != 0 or due_ns < engine.rest_until_ns:
        bell_kick(engine.sleeper)


@njit
def take_turn(engine_address: int) -> Any:
    """Take one turn if nobody does; whether it was taken."""
    if not borrow(engine_address):
        return False
    turn(engine_address, monotonic_ns())
    give_back(engine_address)
    return True


@njit
def wait_by_turns(engine_address: int, address: int, number: int, timeout_ns: int) -> Any:
    """``wait_done``, taking the turns meanwhile if nobody does."""
    if is_done(address, number):
        return True
    if not borrow(engine_address):
        return wait_done(address, number, timeout_ns)
    engine = engine_at(engine_address)
    end_ns = monotonic_ns() + timeout_ns
    while True:
        now_ns = monotonic_ns()
        worked = turn(engine_address, now_ns)
        if is_done(address, number) or now_ns >= end_ns or load_acquire64(engine_address + ENGINE_STOP) != 0:
            break
        if worked == 0 and rest_borrowed(engine, now_ns, end_ns) == -EINTR:
            break
    give_back(engine_address)
    return is_done(address, number)


@njit
def rest_borrowed(engine: Any, now_ns: int, end_ns: int) -> int:
    """Sleep as the loop's thread does; -EINTR for a signal."""
    woken_by = 0
    until_ns = min(rest_until_ns(engine, now_ns), end_ns)
    if host_look(engine.port, engine.spin_ns) == 0:
        sequence = bell_prepare(engine.second_sleeper)
        if host_pending(engine.port) == 0:
            woken_by = bell_wait(engine.second_sleeper, sequence, left_ns(until_ns))
        bell_cancel(engine.second_sleeper)
        if woken_by == -EINTR:
            return woken_by  # no turn follows: the look of give_back must still see a request
    exchange64(engine.port + WAKE_REQUESTED, 0)
    return woken_by
