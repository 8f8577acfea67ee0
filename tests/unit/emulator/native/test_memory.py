"""Loads, stores, atomics, system calls and calls by address do what their names say, from compiled code."""

from __future__ import annotations

import errno
import os
import select
import time

import numpy as np
from numba import cfunc

from emulator.native.atomics import (
    atomic_add64,
    compare_exchange32,
    exchange64,
    fence,
    load_acquire32,
    pause,
    store_release32,
    store_release64,
)
from emulator.native.calls import call_address
from emulator.native.jit import njit
from emulator.native.memory import (
    copy_bytes,
    load_be16,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_be32,
    store_i64,
    store_u8,
    store_u16,
    store_u32,
)
from emulator.native.pages import address_of
from emulator.native.syscalls import futex_wait, futex_wake, monotonic_ns, ppoll, recvmmsg, sendmmsg, write_descriptor


@njit
def _widths(address: int) -> tuple[int, int, int, int]:
    store_u8(address, 0x1FF)
    store_u16(address + 8, 0x12345)
    store_u32(address + 16, -1)
    store_i64(address + 24, -2)
    return load_u8(address), load_u16(address + 8), load_u32(address + 16), load_i64(address + 24)


def test_narrow_stores_truncate_and_narrow_loads_extend_with_zeros() -> None:
    memory = np.zeros(8, np.int64)
    assert _widths(address_of(memory)) == (0xFF, 0x2345, 0xFFFFFFFF, -2)
    assert memory.tolist() == [0xFF, 0x2345, 0xFFFFFFFF, -2, 0, 0, 0, 0]


@njit
def _elements(array: int) -> int:
    store_u16(array, 3, load_u16(array, 1) + 1)
    store_be32(array + 8, 0x01020304)
    return load_be16(array + 9)


def test_elements_are_indexed_and_the_networks_order_is_big_endian() -> None:
    memory = np.array([0, 0xFFFF, 0, 7, 0, 0], np.uint16)
    assert _elements(address_of(memory)) == 0x0203
    assert memory.tolist() == [0, 0xFFFF, 0, 0, 0x0201, 0x0403]


@njit
def _atomics(address: int) -> tuple[int, int, int, int, int]:
    store_release64(address, 5)
    old_sum = atomic_add64(address, 7)
    old_swap = exchange64(address, 100)
    store_release32(address + 8, 3)
    missed = compare_exchange32(address + 8, 4, 9)
    hit = compare_exchange32(address + 8, 3, 9)
    fence()
    pause()
    return old_sum, old_swap, missed, hit, load_acquire32(address + 8)


def test_atomics_return_what_was_there() -> None:
    memory = np.zeros(2, np.int64)
    assert _atomics(address_of(memory)) == (5, 12, 3, 3, 9)
    assert memory.tolist() == [100, 9]


@njit
def _add_many(address: int, times: int) -> None:
    for _ in range(times):
        atomic_add64(address, 1)


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
    copy_bytes(target, source, length)


def test_copy_bytes_copies_exactly_the_length() -> None:
    source, target = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    _copy(address_of(target) + 3, address_of(source) + 1, 50)
    assert target[3:53].tolist() == list(range(1, 51))
    assert target[:3].sum() == target[53:].sum() == 0


@njit
def _now() -> int:
    return monotonic_ns()


def test_the_clock_is_pythons_monotonic_clock() -> None:
    before = time.monotonic_ns()
    now = _now()
    assert before <= now <= time.monotonic_ns()


@njit
def _futexes(address: int) -> tuple[int, int, int]:
    store_release32(address, 1)
    return futex_wait(address, 2, -1), futex_wait(address, 1, 1000), futex_wake(address, 1)


def test_futex_wait_refuses_another_value_and_times_out() -> None:
    memory = np.zeros(1, np.int64)
    assert _futexes(address_of(memory)) == (-errno.EAGAIN, -errno.ETIMEDOUT, 0)


@njit
def _poll(address: int, count: int) -> int:
    return ppoll(address, count, 0)


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
    return recvmmsg(-1, 0, 0, 0, 0), sendmmsg(-1, 0, 0, 0), write_descriptor(-1, 0, 0)


def test_failed_calls_return_the_error_negated() -> None:
    assert _bad_calls() == (-errno.EBADF,) * 3


@cfunc("int64(int64, int64, int64, int64, int64, int64)")
def _weigh(a: int, b: int, c: int, d: int, e: int, f: int) -> int:
    return a + 10 * b + 100 * c + 1000 * d + 10_000 * e + 100_000 * f


@njit
def _call(function: int) -> int:
    return call_address(function, 1, 2, 3, 4, 5, 6)


def test_a_function_is_called_by_its_address_with_arguments_in_order() -> None:
    assert _call(_weigh.address) == 654_321


def test_functions_that_use_them_are_cached_on_disk() -> None:
    for function in (_widths, _futexes, _bad_calls, _call):
        stats = function.stats
        assert stats.cache_path
        assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) > 0
