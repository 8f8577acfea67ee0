"""What Python threads call to talk to the transport loop: submit, command, and wait without the GIL.

A waiter counts itself in, reads ``completions``, looks once more, and sleeps while that word stays as it was. The loop
adds to it after every change and wakes sleepers only where some are counted in.
"""

from __future__ import annotations

from typing import Any

from emulator.native.atomics import atomic_add64, fence, load_acquire32, load_acquire64, store_release64
from emulator.native.jit import njit
from emulator.native.syscalls import futex_wait, monotonic_ns
from emulator.ports.cable.bell import bell_ring
from emulator.ports.host import request_wake
from hostagent.transport.loop.records import (
    DONE_SHIFT,
    JOB_COMMAND_DONE,
    JOB_COMPLETIONS,
    JOB_TICKET,
    JOB_WAITERS,
    MESSAGE_NUMBERS,
    job_at,
)

EINTR = 4


@njit
def done_word(address: int, number: int) -> Any:
    """What the loop has noted at the place of an operation, or of a send or receive."""
    job = job_at(address)
    if number >= MESSAGE_NUMBERS:
        return load_acquire64(job.message_done + 8 * (number & job.message_mask))
    return load_acquire64(job.done + 8 * (number & job.done_mask))


@njit
def is_done(address: int, number: int) -> Any:
    """Whether an operation, send or receive has ended. Its place may have been reused by a later one since."""
    return done_word(address, number) >> DONE_SHIFT > number


@njit
def status_of(address: int, number: int) -> Any:
    """The status of an operation that has ended: 0, or the failure's code.

    If the slot was reused by a later operation this one succeeded: after a failure slots are not reused.
    """
    word = done_word(address, number)
    return word & ((1 << DONE_SHIFT) - 1) if word >> DONE_SHIFT == number + 1 else 0


@njit
def wait_done(address: int, number: int, timeout_ns: int) -> Any:
    """Sleep until an operation has ended; False when the time ran out first or a signal came."""
    return _wait(address, number, 0, timeout_ns)


@njit
def wait_command(address: int, ticket: int, timeout_ns: int) -> Any:
    """Sleep until a command has been carried out; False as above."""
    return _wait(address, -1, ticket, timeout_ns)


@njit
def wait_any(address: int, timeout_ns: int) -> None:
    """Sleep until something of the job has ended, or at most so long."""
    atomic_add64(address + JOB_WAITERS, 1)
    seen = load_acquire32(address + JOB_COMPLETIONS)
    futex_wait(address + JOB_COMPLETIONS, seen, timeout_ns)
    atomic_add64(address + JOB_WAITERS, -1)


@njit
def _holds(address: int, number: int, ticket: int) -> Any:
    if number >= 0:
        return is_done(address, number)
    return load_acquire64(address + JOB_COMMAND_DONE) == ticket


@njit
def _wait(address: int, number: int, ticket: int, timeout_ns: int) -> Any:
    if _holds(address, number, ticket):
        return True
    atomic_add64(address + JOB_WAITERS, 1)
    end_ns = monotonic_ns() + timeout_ns
    found = False
    while True:
        seen = load_acquire32(address + JOB_COMPLETIONS)
        fence()
        found = _holds(address, number, ticket)
        left_ns = end_ns - monotonic_ns()
        if found or left_ns <= 0:
            break
        if futex_wait(address + JOB_COMPLETIONS, seen, left_ns) == -EINTR:
            break
    atomic_add64(address + JOB_WAITERS, -1)
    return found


@njit
def command(address: int, ticket: int, port: int, bell: int, fifo: int) -> None:
    """Make the command in the record visible to the loop."""
    store_release64(address + JOB_TICKET, ticket)
    wake(port, bell, fifo)


@njit
def wake(port: int, bell: int, fifo: int) -> None:
    """Make the loop look at everything once more."""
    request_wake(port)
    bell_ring(bell, fifo)


@njit
def publish_word(address: int, value: int) -> None:
    """Store a word that the loop reads."""
    store_release64(address, value)
