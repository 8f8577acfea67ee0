"""Compiled: the turns of the live loop. See ``runner``, which makes the record that they work on.

A turn takes at most ``PER_PORT`` frames from each port, calls ``process``, gives the frames back and sends what came
out. When a turn has moved nothing the loop looks around for ``spin_ns`` and then sleeps on the process's bell until a
host rings, a socket has input or a timer is due; with nothing to do it costs nothing.

Where time is the capture files' nothing is waited for: the clock goes on to the next frame's time whenever a turn has
moved nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.atomics import load_acquire64, pause
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, store_i64
from emulator.native.syscalls import monotonic_ns
from emulator.ports.batch import BATCH_COUNT, offset_of
from emulator.ports.cable.bell import bell_cancel, bell_prepare, bell_sleep
from emulator.ports.host import SPINS_PER_CLOCK
from emulator.ports.loop.program import call_program
from emulator.ports.port import (
    port_flush,
    port_has_input,
    port_next_ns,
    port_receive,
    port_refresh,
    port_release,
    port_settle,
)
from emulator.ports.state import NUMBER

PER_PORT = 64
"""Frames taken from a port in one turn: enough to hide a turn's fixed cost, few enough that every port is served soon
(64 frames of 256 lanes take the program about 15 us)."""

RUN = np.dtype(
    [
        (name, "<i8")
        for name in (
            "attention",  # not 0: return to Python
            "ports",  # address of port_count addresses of PORT records
            "port_count",
            "first_port",  # where the next turn begins, so that no port is always last
            "allowances",  # address of an int32 for each port number, frames of a turn; or 0
            "batch",
            "sleeper",
            "program",  # address of process(), or 0
            "context",
            "timers",  # 1: what the program returns is when it wants to be called at the latest, -1: never
            "timer_ns",  # that time
            "spin_ns",
            "virtual",  # 1: time is the files'
            "now_ns",  # and stands here
            "finished",  # 1: no frame is to come
            "turns",
            "frames",
            "sleeps",
            "no_program",  # frames dropped because no program was loaded
        )
    ]
)
ATTENTION = offset_of(RUN, "attention")
PORTS = offset_of(RUN, "ports")
PORT_COUNT = offset_of(RUN, "port_count")
FIRST_PORT = offset_of(RUN, "first_port")
ALLOWANCES = offset_of(RUN, "allowances")
BATCH = offset_of(RUN, "batch")
SLEEPER = offset_of(RUN, "sleeper")
PROGRAM = offset_of(RUN, "program")
CONTEXT = offset_of(RUN, "context")
TIMERS = offset_of(RUN, "timers")
TIMER = offset_of(RUN, "timer_ns")
SPIN = offset_of(RUN, "spin_ns")
VIRTUAL = offset_of(RUN, "virtual")
NOW = offset_of(RUN, "now_ns")
FINISHED = offset_of(RUN, "finished")
TURNS = offset_of(RUN, "turns")
FRAMES = offset_of(RUN, "frames")
SLEEPS = offset_of(RUN, "sleeps")
NO_PROGRAM = offset_of(RUN, "no_program")


@njit
def _add(address: int, value: int) -> None:
    store_i64(address, load_i64(address) + value)


@njit
def gather(run: int, now_ns: int) -> Any:
    """Fill the batch from all ports; how many entries the ports took."""
    batch, ports, count = load_i64(run + BATCH), load_i64(run + PORTS), load_i64(run + PORT_COUNT)
    store_i64(batch + BATCH_COUNT, 0)
    first, allowances = load_i64(run + FIRST_PORT), load_i64(run + ALLOWANCES)
    taken = 0
    for step in range(count):
        port = load_i64(ports + 8 * ((first + step) % count))
        most = PER_PORT if allowances == 0 else min(PER_PORT, load_u32(allowances + 4 * load_i64(port + NUMBER)))
        port_refresh(port)
        taken += port_receive(port, batch, most, now_ns)
    store_i64(run + FIRST_PORT, first + 1)
    return taken


@njit
def _process(run: int, now_ns: int) -> None:
    """Give the batch to the program, an empty one only where its timer is due."""
    batch = load_i64(run + BATCH)
    count = load_i64(batch + BATCH_COUNT)
    program = load_i64(run + PROGRAM)
    if count == 0 and not timer_due(run, now_ns):
        return
    if program == 0:
        _add(run + NO_PROGRAM, count)
        return
    returned = call_program(program, load_i64(run + CONTEXT), batch, now_ns)
    if load_i64(run + TIMERS) != 0:
        store_i64(run + TIMER, returned)
    _add(run + FRAMES, count)


@njit
def timer_due(run: int, now_ns: int) -> bool:
    """Whether the program wants to be called though nothing has come in."""
    timer_ns = load_i64(run + TIMER)
    return 0 <= timer_ns <= now_ns


@njit
def hand_on(run: int, now_ns: int) -> Any:
    """After the program: give the frames back and send what came out; how many frames that are."""
    ports = load_i64(run + PORTS)
    for index in range(load_i64(run + PORT_COUNT)):
        port_release(load_i64(ports + 8 * index))
    sent = 0
    for index in range(load_i64(run + PORT_COUNT)):
        sent += port_flush(load_i64(ports + 8 * index), now_ns)
    _add(run + TURNS, 1)
    return sent


@njit
def _turn(run: int) -> Any:
    """One turn; how much was moved."""
    now_ns = monotonic_ns() if load_i64(run + VIRTUAL) == 0 else load_i64(run + NOW)
    moved = gather(run, now_ns)
    _process(run, now_ns)
    return moved + hand_on(run, now_ns)


@njit
def _wanted(run: int) -> bool:
    """Whether there is something to do that memory tells of."""
    reasons = load_acquire64(run + ATTENTION)
    ports = load_i64(run + PORTS)
    for index in range(load_i64(run + PORT_COUNT)):
        reasons += port_has_input(load_i64(ports + 8 * index))
    return reasons != 0


@njit
def _due_ns(run: int, now_ns: int) -> int:
    """When the program or a port next wants a turn even if nothing comes in; -1: never."""
    soonest = load_i64(run + TIMER)
    ports = load_i64(run + PORTS)
    for index in range(load_i64(run + PORT_COUNT)):
        due = port_next_ns(load_i64(ports + 8 * index), now_ns)
        if due >= 0 and (soonest < 0 or due < soonest):
            soonest = due
    return soonest


@njit
def advance(run: int) -> Any:
    """Move the files' time on to the next frame; whether there is none."""
    now_ns = load_i64(run + NOW)
    due_ns = _due_ns(run, now_ns)
    store_i64(run + NOW, max(now_ns, due_ns))
    store_i64(run + FINISHED, due_ns < 0)
    return due_ns < 0


@njit
def _settle(run: int) -> Any:
    """Let all ports settle; whether one wants attention."""
    wanted = 0
    ports = load_i64(run + PORTS)
    for index in range(load_i64(run + PORT_COUNT)):
        wanted += port_settle(load_i64(ports + 8 * index))
    return wanted != 0


@njit
def idle(run: int) -> Any:
    """Look around for a while, then sleep; whether a port wants attention. See ``bell`` for why no wake-up is lost."""
    start_ns = now_ns = monotonic_ns()
    due_ns = _due_ns(run, now_ns)
    wait_ns = -1 if due_ns < 0 else max(0, due_ns - now_ns)
    look_ns = load_i64(run + SPIN) if wait_ns < 0 else min(load_i64(run + SPIN), wait_ns)
    while now_ns - start_ns < look_ns:
        for _ in range(SPINS_PER_CLOCK):
            pause()
            if _wanted(run):
                return False
        now_ns = monotonic_ns()
    if wait_ns >= 0:
        wait_ns = max(0, wait_ns - (now_ns - start_ns))
    if wait_ns == 0:
        return False
    if _settle(run):
        return True
    sequence = bell_prepare(load_i64(run + SLEEPER))
    if _wanted(run):
        bell_cancel(load_i64(run + SLEEPER))
        return False
    _add(run + SLEEPS, 1)
    bell_sleep(load_i64(run + SLEEPER), sequence, wait_ns)
    return False


@njit
def run_slice(run: int) -> None:
    """Serve the ports until attention is asked for, a port asks for some, or no frame is to come."""
    while load_acquire64(run + ATTENTION) == 0:
        if _turn(run) == 0:
            enough = idle(run) if load_i64(run + VIRTUAL) == 0 else advance(run)
            if enough:
                return
