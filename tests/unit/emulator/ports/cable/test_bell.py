"""The doorbell: ringing, sleeping, and no wake-up lost between two threads."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from emulator.native.atomics import load_acquire64, store_release64
from emulator.native.jit import njit
from emulator.native.pages import address_of
from emulator.ports.cable.bell import ASLEEP, Bell, bell_cancel, bell_prepare, bell_ring, bell_sleep
from tests.labs.shared_memory import shm_folder

__all__ = ["shm_folder"]

PATIENCE_NS = 20_000_000_000
"""A sleep that lasts this long on any machine has lost its wake-up."""


@pytest.mark.parametrize("poll", [False, True])
def test_nobody_is_rung_while_awake(poll: bool) -> None:
    bell = Bell(shared=False, poll=poll)
    assert not bell.ring()
    bell_prepare(bell.sleeper_address)
    bell_cancel(bell.sleeper_address)
    assert not bell.ring()
    bell.close()


@pytest.mark.parametrize("poll", [False, True])
def test_a_ring_after_the_announcement_ends_the_sleep_that_has_not_begun(poll: bool) -> None:
    bell = Bell(shared=False, poll=poll)
    sequence = bell_prepare(bell.sleeper_address)
    assert bell.ring()
    assert not bell.ring()
    bell_sleep(bell.sleeper_address, sequence, -1)
    assert not bell.ring()
    bell.close()


def test_a_late_clear_does_not_hide_the_next_sleep() -> None:
    """Step (f) of a slow ringer comes after the owner has gone back to sleep."""
    bell = Bell(shared=False)
    sleeper = bell.sleeper_address
    sequence = bell_prepare(sleeper)
    first_token = int(bell._memory[ASLEEP]) if bell._memory is not None else 0
    assert bell.ring()
    bell_sleep(sleeper, sequence, -1)
    bell_prepare(sleeper)
    assert bell._memory is not None
    assert int(bell._memory[ASLEEP]) not in (0, first_token)
    bell.close()


def test_a_ringer_that_died_in_the_middle_leaves_the_bell_working() -> None:
    """Killed between reading the flag and waking: the flag is still set, so the next ringer wakes the sleeper."""
    bell = Bell(shared=False)
    assert bell._memory is not None
    sequence = bell_prepare(bell.sleeper_address)
    bell._memory[:4].view(np.uint32)[0] += 1
    assert bell.ring()
    bell_sleep(bell.sleeper_address, sequence, -1)
    bell.close()


def test_watched_descriptors_wake_and_are_told_apart_from_rings() -> None:
    bell = Bell(shared=False, poll=True)
    reading, writing = os.pipe()
    bell.watch(reading)
    sequence = bell_prepare(bell.sleeper_address)
    bell.ring()
    assert bell_sleep(bell.sleeper_address, sequence, -1) == 0
    os.write(writing, b"x")
    sequence = bell_prepare(bell.sleeper_address)
    assert bell_sleep(bell.sleeper_address, sequence, -1) == 1
    bell.close()
    os.close(reading)
    os.close(writing)


def test_only_a_polling_bell_watches() -> None:
    bell = Bell(shared=False)
    with pytest.raises(ValueError, match="poll=True"):
        bell.watch(0)
    bell.close()


@pytest.mark.parametrize("poll", [False, True])
def test_a_shared_bell_removes_its_files(shm_folder: Path, poll: bool) -> None:
    bell = Bell(poll=poll)
    assert len(list(shm_folder.iterdir())) == (2 if poll else 1)
    bell.close()
    bell.close()
    assert list(shm_folder.iterdir()) == []


@njit
def _ping(mine: int, sleeper: int, theirs: int, bell: int, fifo: int, rounds: int, patience_ns: int) -> int:
    """Count up ``theirs`` and wait until ``mine`` follows, sleeping each time; how many rounds were done in time."""
    for number in range(1, rounds + 1):
        store_release64(theirs, number)
        bell_ring(bell, fifo)
        while load_acquire64(mine) < number:
            sequence = bell_prepare(sleeper)
            if load_acquire64(mine) >= number:
                bell_cancel(sleeper)
                break
            bell_sleep(sleeper, sequence, patience_ns)
            if load_acquire64(mine) < number - 1:
                return number
    return rounds


@njit
def _pong(mine: int, sleeper: int, theirs: int, bell: int, fifo: int, rounds: int, patience_ns: int) -> int:
    seen = 0
    while seen < rounds:
        sequence = bell_prepare(sleeper)
        now = load_acquire64(mine)
        if now == seen:
            bell_sleep(sleeper, sequence, patience_ns)
            if load_acquire64(mine) == seen:
                return seen
            continue
        bell_cancel(sleeper)
        seen = now
        store_release64(theirs, seen)
        bell_ring(bell, fifo)
    return seen


@pytest.mark.parametrize("poll", [False, True])
def test_no_wake_up_is_lost_between_two_that_always_sleep(poll: bool) -> None:
    rounds = 4_000
    words = np.zeros(32, np.int64)
    first, second = address_of(words), address_of(words) + 128
    bells = [Bell(shared=False, poll=poll) for _ in range(2)]
    results: dict[str, int] = {}

    def run(name: str, function: object, *arguments: int) -> None:
        results[name] = function(*arguments)  # type: ignore[operator]

    ping, pong = bells
    arguments = (first, ping.sleeper_address, second, pong.address, pong.writing_end, rounds, PATIENCE_NS)
    others = (second, pong.sleeper_address, first, ping.address, ping.writing_end, rounds, PATIENCE_NS)
    threads = [
        threading.Thread(target=run, args=("ping", _ping, *arguments)),
        threading.Thread(target=run, args=("pong", _pong, *others)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"ping": rounds, "pong": rounds}
    for bell in bells:
        bell.close()
