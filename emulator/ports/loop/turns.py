"""Compiled: the turns of the live loop. See ``runner``, which makes the record that they work on.

A turn takes at most ``PER_PORT`` frames from each port, calls ``process``, gives the frames back and sends what came
out. After a turn that moved nothing the loop spins for ``spin_ns`` and then sleeps on the process's bell until a host
rings, a socket has input or a timer is due; an idle loop takes no CPU time.

In the time of capture files there is no waiting: after a turn that moved nothing the clock advances to the time of the
next frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.atomics import load_acquire64, pause
from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u32, offset_of, record_at
from emulator.native.syscalls import monotonic_ns
from emulator.ports.batch import batch_at
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
from emulator.ports.state import port_at

PER_PORT = 32
"""Frames taken from a port in one turn: enough to hide a turn's fixed cost, few enough that hosts can work on the first
results while the rest of a window is added up."""

TURN_BYTES = 1 << 16
"""Of long frames a turn takes fewer from a cable, 16 of 1,024 lanes: with twice as many, four ranks' allreduces of
64 MiB take 5 % longer."""

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
            "timer_ns",  # when the program wants to be called at the latest, as it said last; -1: never
            "spin_ns",
            "virtual",  # 1: time is the files'
            "now_ns",  # their present time
            "origin_ns",  # where the program's time is 0, on the loop's clock
            "finished",  # 1: no frame is to come
            "turns",
            "frames",
            "sleeps",
            "no_program",  # frames dropped because no program was loaded
        )
    ],
    align=True,
)
run_at = record_at(RUN)
ATTENTION = offset_of(RUN, "attention")


@njit
def gather(run: int, now_ns: int) -> Any:
    """Fill the batch from all ports; how many entries the ports took."""
    loop = run_at(run)
    batch, ports, count = loop.batch, loop.ports, loop.port_count
    batch_at(batch).count = 0
    first, allowances = loop.first_port, loop.allowances
    taken = 0
    for step in range(count):
        port = load_i64(ports + 8 * ((first + step) % count))
        most = PER_PORT if allowances == 0 else min(PER_PORT, load_u32(allowances + 4 * port_at(port).number))
        port_refresh(port)
        taken += port_receive(port, batch, most, now_ns)
    loop.first_port = first + 1
    return taken


@njit
def _process(run: int, now_ns: int) -> None:
    """Give the batch to the program, an empty one only where its timer is due."""
    loop = run_at(run)
    batch = loop.batch
    count = batch_at(batch).count
    program = loop.program
    if count == 0 and not timer_due(run, now_ns):
        return
    if program == 0:
        loop.no_program += count
        loop.timer_ns = -1
        return
    returned = call_program(program, loop.context, batch, now_ns - loop.origin_ns)
    loop.timer_ns = returned + loop.origin_ns if returned >= 0 else -1
    loop.frames += count


@njit
def timer_due(run: int, now_ns: int) -> Any:
    """Whether the program wants to be called though nothing has come in."""
    timer_ns = run_at(run).timer_ns
    return 0 <= timer_ns <= now_ns


@njit
def hand_on(run: int, now_ns: int) -> Any:
    """After the program: give the frames back and send what came out; how many frames that are."""
    loop = run_at(run)
    ports = loop.ports
    for index in range(loop.port_count):
        port_release(load_i64(ports + 8 * index))
    sent = 0
    for index in range(loop.port_count):
        sent += port_flush(load_i64(ports + 8 * index), now_ns)
    loop.turns += 1
    return sent


@njit
def _turn(run: int) -> Any:
    """One turn; how much was moved."""
    loop = run_at(run)
    now_ns = monotonic_ns() if loop.virtual == 0 else loop.now_ns
    moved = gather(run, now_ns)
    _process(run, now_ns)
    return moved + hand_on(run, now_ns)


@njit
def _wanted(run: int) -> bool:
    """Whether there is work that is visible without a system call."""
    loop = run_at(run)
    reasons = load_acquire64(run + ATTENTION)
    ports = loop.ports
    for index in range(loop.port_count):
        reasons += port_has_input(load_i64(ports + 8 * index))
    return reasons != 0


@njit
def _due_ns(run: int, now_ns: int) -> Any:
    """When the program or a port next wants a turn even if nothing comes in; -1: never."""
    loop = run_at(run)
    soonest = loop.timer_ns
    ports = loop.ports
    for index in range(loop.port_count):
        due = port_next_ns(load_i64(ports + 8 * index), now_ns)
        if due >= 0 and (soonest < 0 or due < soonest):
            soonest = due
    return soonest


@njit
def advance(run: int) -> Any:
    """Advance the files' time to the next frame; whether there is none."""
    loop = run_at(run)
    now_ns = loop.now_ns
    due_ns = _due_ns(run, now_ns)
    loop.now_ns = max(now_ns, due_ns)
    loop.finished = due_ns < 0
    return due_ns < 0


@njit
def _settle(run: int) -> Any:
    """Let all ports settle; whether one wants attention."""
    loop = run_at(run)
    wanted = 0
    ports = loop.ports
    for index in range(loop.port_count):
        wanted += port_settle(load_i64(ports + 8 * index))
    return wanted != 0


@njit
def idle(run: int) -> Any:
    """Spin for a while, then sleep; whether a port wants attention. See ``bell`` for why no wake-up is lost."""
    loop = run_at(run)
    start_ns = now_ns = monotonic_ns()
    due_ns = _due_ns(run, now_ns)
    wait_ns = -1 if due_ns < 0 else max(0, due_ns - now_ns)
    look_ns = loop.spin_ns if wait_ns < 0 else min(loop.spin_ns, wait_ns)
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
    sequence = bell_prepare(loop.sleeper)
    if _wanted(run):
        bell_cancel(loop.sleeper)
        return False
    loop.sleeps += 1
    bell_sleep(loop.sleeper, sequence, wait_ns)
    return False


@njit
def run_slice(run: int) -> None:
    """Serve the ports until attention is requested, by Python or by a port, or until the last frame of all files."""
    while load_acquire64(run + ATTENTION) == 0:
        if _turn(run) == 0:
            enough = idle(run) if run_at(run).virtual == 0 else advance(run)
            if enough:
                return
