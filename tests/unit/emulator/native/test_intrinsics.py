"""The intrinsics do what their names say, from compiled code."""

from __future__ import annotations

import errno
import os
import select
import time

import numpy as np
from numba import cfunc

from emulator.native import intrinsics as on
from emulator.native.jit import njit
from emulator.native.pages import address_of


@njit
def _widths(address: int) -> tuple[int, int, int, int]:
    on.write8(address, 0x1FF)
    on.write16(address + 8, 0x12345)
    on.write32(address + 16, -1)
    on.write64(address + 24, -2)
    return on.read8(address), on.read16(address + 8), on.read32(address + 16), on.read64(address + 24)


def test_narrow_stores_truncate_and_narrow_loads_extend_with_zeros() -> None:
    memory = np.zeros(8, np.int64)
    assert _widths(address_of(memory)) == (0xFF, 0x2345, 0xFFFFFFFF, -2)
    assert memory.tolist() == [0xFF, 0x2345, 0xFFFFFFFF, -2, 0, 0, 0, 0]


@njit
def _atomics(address: int) -> tuple[int, int, int, int, int]:
    on.store_release64(address, 5)
    old_sum = on.atomic_add64(address, 7)
    old_swap = on.exchange64(address, 100)
    on.store_release32(address + 8, 3)
    missed = on.compare_exchange32(address + 8, 4, 9)
    hit = on.compare_exchange32(address + 8, 3, 9)
    on.fence()
    on.pause()
    return old_sum, old_swap, missed, hit, on.load_acquire32(address + 8)


def test_atomics_return_what_was_there() -> None:
    memory = np.zeros(2, np.int64)
    assert _atomics(address_of(memory)) == (5, 12, 3, 3, 9)
    assert memory.tolist() == [100, 9]


@njit
def _add_many(address: int, times: int) -> None:
    for _ in range(times):
        on.atomic_add64(address, 1)


def test_atomic_adds_of_threads_are_not_lost() -> None:
    import threading

    memory = np.zeros(1, np.int64)
    _add_many(address_of(memory), 1)
    threads = [threading.Thread(target=_add_many, args=(address_of(memory), 200_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory[0] == 800_001


@njit
def _copy(target: int, source: int, length: int) -> None:
    on.copy_memory(target, source, length)


def test_copy_memory_copies_exactly_the_length() -> None:
    source, target = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    _copy(address_of(target) + 3, address_of(source) + 1, 50)
    assert target[3:53].tolist() == list(range(1, 51))
    assert target[:3].sum() == target[53:].sum() == 0


@njit
def _now() -> int:
    return on.monotonic_ns()


def test_the_clock_is_pythons_monotonic_clock() -> None:
    before = time.monotonic_ns()
    now = _now()
    assert before <= now <= time.monotonic_ns()


@njit
def _futexes(address: int) -> tuple[int, int, int]:
    on.store_release32(address, 1)
    return on.futex_wait(address, 2, -1), on.futex_wait(address, 1, 1000), on.futex_wake(address, 1)


def test_futex_wait_refuses_another_value_and_times_out() -> None:
    memory = np.zeros(1, np.int64)
    assert _futexes(address_of(memory)) == (-errno.EAGAIN, -errno.ETIMEDOUT, 0)


@njit
def _poll(address: int, count: int) -> int:
    return on.ppoll(address, count, 0)


def test_ppoll_sees_what_can_be_read() -> None:
    reading, writing = os.pipe()
    entry = np.zeros(1, [("fd", "<i4"), ("events", "<i2"), ("revents", "<i2")])
    entry[0] = (reading, select.POLLIN, 0)
    try:
        assert _poll(address_of(entry), 1) == 0
        os.write(writing, b"x")
        assert _poll(address_of(entry), 1) == 1
        assert entry["revents"][0] == select.POLLIN
    finally:
        os.close(reading)
        os.close(writing)


@njit
def _bad_calls() -> tuple[int, int, int]:
    return on.recvmmsg(-1, 0, 0, 0, 0), on.sendmmsg(-1, 0, 0, 0), on.write_descriptor(-1, 0, 0)


def test_failed_calls_return_the_error_negated() -> None:
    assert _bad_calls() == (-errno.EBADF,) * 3


@cfunc("int64(int64, int64, int64, int64, int64, int64)")
def _weigh(a: int, b: int, c: int, d: int, e: int, f: int) -> int:
    return a + 10 * b + 100 * c + 1000 * d + 10_000 * e + 100_000 * f


@njit
def _call(function: int) -> int:
    return on.call_address(function, 1, 2, 3, 4, 5, 6)


def test_a_function_is_called_by_its_address_with_arguments_in_order() -> None:
    assert _call(_weigh.address) == 654_321


def test_functions_made_of_intrinsics_are_cached_on_disk() -> None:
    for function in (_widths, _futexes, _bad_calls, _call):
        stats = function.stats
        assert stats.cache_path
        assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) > 0
