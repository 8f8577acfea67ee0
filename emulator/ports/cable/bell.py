"""The doorbell: one word per process on which it sleeps, rung by peers that have put entries into its rings.

How no wake-up is lost. The sleeper: (1) reads ``sequence``, (2) stores a token into ``asleep``, (3) fence, (4) looks
into all its rings once more, (5) waits in the kernel while ``sequence`` is what (1) read. The ringer: (a) publishes
into a ring, (b) fence, (c) reads ``asleep``; when it is set: (d) adds one to ``sequence``, (e) wakes, (f) clears
``asleep`` if it still holds the token of (c). With the two fences, either (4) sees (a), or (c) sees (2). In the second
case (d) comes before the kernel compares in (5), which then refuses to sleep, or after, and (e) wakes the sleeper.

A ringer that is killed between (c) and (f) leaves ``asleep`` set, so the next one rings again: clearing the flag first
would save a few system calls and could put a process to sleep for ever. The token holds the sequence number, so the
late clear of (f) can't hide a later sleep: (d) has moved the sequence on, and every sleep begun after it has another
token. While nobody sleeps a ring costs a fence and a load. While somebody does, ringing is idempotent: at most a few
system calls, until (f).

A process that must also wait for sockets sleeps in ppoll; then (e) writes a byte into the bell's FIFO.

Two threads of a process may take turns at its rings (``hostagent/transport/loop/turns.py``). Each has a word of its
own to sleep on, and the token says which: only the thread that has announced itself last is woken. A sleep that one
announces for the other may have an older token, so that sleep must be short.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.atomics import atomic_add32, compare_exchange32, fence, load_once32, store_release32
from emulator.native.jit import njit
from emulator.native.memory import load_u16, offset_of, record_at
from emulator.native.pages import address_of, aligned_bytes
from emulator.native.syscalls import futex_wait, futex_wake, ppoll, read_descriptor, write_descriptor
from emulator.ports.cable import shm_files
from emulator.ports.cable.shared_folder import shared_folder

BELL_BYTES = 4096
SEQUENCE, SECOND_SEQUENCE = 0, 8
SECOND_SHIFT = 30
"""The bit of a token that says that the second thread sleeps."""
ASLEEP = 64
"""0, or the token of the present sleep. On a separate cache line: ringers only read it while the owner is awake."""
HAS_FIFO = 128
DRAIN = 256
"""256 bytes of scratch for reading the FIFO empty."""
DRAIN_BYTES = 256

BELL_PREFIX = f"{shm_files.PREFIX}bell-"
LOCK_OWNER = 0

POLL = np.dtype([("fd", "<i4"), ("events", "<i2"), ("revents", "<i2")])
"""struct pollfd."""
POLL_REVENTS = offset_of(POLL, "revents")
POLLIN = 1
MAX_POLLED = 513
"""The FIFO and one socket per port."""

SLEEPER = np.dtype([("bell", "<i8"), ("fifo", "<i8"), ("polled", "<i8"), ("polled_count", "<i8"), ("second", "<i8")])
"""What a thread sleeps with: the bell, its FIFO or -1, struct pollfds (the FIFO first), and whether it is the second
thread, which never waits for sockets."""
sleeper_at = record_at(SLEEPER)


@njit
def _word(bell: int, second: int) -> int:
    """What the thread sleeps on."""
    return bell + (SECOND_SEQUENCE if second != 0 else SEQUENCE)


@njit
def _token(sequence: int, second: int) -> int:
    """Never 0."""
    return ((sequence & 0x1FFFFFFF) + 1) | (second << SECOND_SHIFT)


@njit
def bell_prepare(sleeper: int) -> int:
    """Announce a sleep. Look into all rings after it, then call bell_sleep with the result, or bell_cancel."""
    bell, second = sleeper_at(sleeper).bell, sleeper_at(sleeper).second
    sequence = load_once32(_word(bell, second))
    store_release32(bell + ASLEEP, _token(sequence, second))
    fence()
    return sequence


@njit
def bell_cancel(sleeper: int) -> None:
    """Do not sleep after all."""
    store_release32(sleeper_at(sleeper).bell + ASLEEP, 0)


@njit
def bell_sequence(sleeper: int) -> int:
    """As bell_prepare without the announcement: for bell_wait where the other thread has announced itself."""
    sequence = load_once32(_word(sleeper_at(sleeper).bell, sleeper_at(sleeper).second))
    fence()
    return sequence


@njit
def bell_wait(sleeper: int, sequence: int, timeout_ns: int) -> int:
    """As bell_sleep, but leaves the announcement; -EINTR for a signal. Not for sockets."""
    return futex_wait(_word(sleeper_at(sleeper).bell, sleeper_at(sleeper).second), sequence, timeout_ns)


@njit
def bell_kick(sleeper: int) -> None:
    """Wake the thread whether it has announced its sleep or not."""
    word = _word(sleeper_at(sleeper).bell, sleeper_at(sleeper).second)
    atomic_add32(word, 1)
    futex_wake(word, 1)


@njit
def bell_sleep(sleeper: int, sequence: int, timeout_ns: int) -> int:
    """Sleep until a ring, input on a watched socket, a signal, or ``timeout_ns`` have passed (negative: for ever).

    Returns how many watched sockets have input.
    """
    readable = 0
    fifo = sleeper_at(sleeper).fifo
    if fifo < 0:
        bell_wait(sleeper, sequence, timeout_ns)
    else:
        polled = sleeper_at(sleeper).polled
        ready = ppoll(polled, sleeper_at(sleeper).polled_count, timeout_ns)
        readable = max(ready, 0)
        if ready > 0 and load_u16(polled + POLL_REVENTS) != 0:
            read_descriptor(fifo, sleeper_at(sleeper).bell + DRAIN, DRAIN_BYTES)
            readable -= 1
    bell_cancel(sleeper)
    return readable


@njit
def bell_ring(bell: int, fifo: int) -> int:
    """Wake the owner of a bell if it sleeps; ``fifo`` is an open descriptor of its FIFO, or -1. 1 if it slept."""
    fence()
    token = load_once32(bell + ASLEEP)
    if token == 0:
        return 0
    second = (token >> SECOND_SHIFT) & 1
    word = _word(bell, second)
    atomic_add32(word, 1)
    if fifo < 0 or second != 0:
        futex_wake(word, 1)
    else:
        # what is written does not matter; a full FIFO is as readable as one with a byte in it
        write_descriptor(fifo, bell + SEQUENCE, 1)
    compare_exchange32(bell + ASLEEP, token, 0)
    return 1


class Bell:
    """The bell of this process.

    A file in the shared folder when peers in other processes ring it, else private memory. ``poll`` says whether the
    process will wait for sockets too (``watch``).
    """

    def __init__(self, *, shared: bool = True, poll: bool = False) -> None:
        self.identity = secrets.randbits(63) | 1
        """What peers find the bell by; never 0."""
        self._file: shm_files.SharedFile | None = None
        self._memory: NDArray[np.uint8] | None = None
        if shared:
            self._file = self._create_file()
            self.address = self._file.address
        else:
            self._memory = aligned_bytes(BELL_BYTES)
            self.address = address_of(self._memory)
        self._polled: NDArray[Any] = np.zeros(MAX_POLLED, POLL)
        self._sleeper: NDArray[Any] = np.zeros(1, SLEEPER)
        self._sleeper["bell"] = self.address
        self._sleeper["polled"] = address_of(self._polled)
        self._sleeper["fifo"] = -1
        self.fifo = -1
        self.writing_end = -1
        """What to give bell_ring for this bell inside this process."""
        if poll:
            self._open_fifo()
        self.sleeper_address = address_of(self._sleeper)
        self._second: NDArray[Any] = np.zeros(1, SLEEPER)
        self._second["bell"], self._second["fifo"], self._second["second"] = self.address, -1, 1
        self.second_sleeper_address = address_of(self._second)

    @property
    def path(self) -> Path | None:
        """The bell's file, if it has one."""
        return self._file.path if self._file else None

    def watch(self, descriptor: int) -> None:
        """Also wake up when ``descriptor`` can be read."""
        if self.fifo < 0:
            raise ValueError("a bell that watches sockets is made with poll=True")
        count = int(self._sleeper["polled_count"][0])
        self._polled[count] = (descriptor, POLLIN, 0)
        self._sleeper["polled_count"] = count + 1

    def ring(self) -> bool:
        """Wake the owner, from any thread; whether it slept."""
        return bool(bell_ring(self.address, self.writing_end))

    def close(self) -> None:
        """Remove the bell's files."""
        for descriptor in {self.fifo, self.writing_end} - {-1}:
            os.close(descriptor)
        self.fifo = self.writing_end = -1
        if self._file is not None and self._file.is_open:
            fifo_path(self._file.path).unlink(missing_ok=True)
            self._file.unlink()
            self._file.close()

    def _create_file(self) -> shm_files.SharedFile:
        path = shared_folder() / f"{BELL_PREFIX}{self.identity:016x}"
        created = shm_files.create(path, BELL_BYTES, BELL_BYTES, lambda file: _claim(file))
        if created is None:
            raise FileExistsError(f"{path}: 63 random bits came twice")
        return created

    def _open_fifo(self) -> None:
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        if self._file is None:
            self.fifo, self.writing_end = os.pipe2(flags)
        else:
            path = fifo_path(self._file.path)
            os.mkfifo(path, 0o600)
            # both ways: it never sees end of file, and writing into it never raises SIGPIPE
            self.fifo = self.writing_end = os.open(path, os.O_RDWR | flags)
        self._sleeper["fifo"] = self.fifo
        memory = self._memory if self._memory is not None else self._file.bytes if self._file else None
        assert memory is not None
        memory[HAS_FIFO] = 1
        self.watch(self.fifo)


def fifo_path(bell_path: Path) -> Path:
    """The path of a bell's FIFO."""
    return bell_path.with_name(bell_path.name + ".fifo")


def _claim(file: shm_files.SharedFile) -> None:
    shm_files.try_lock(file.descriptor, LOCK_OWNER)
