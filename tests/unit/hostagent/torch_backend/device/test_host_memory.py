"""Buffers that are used again, and how many are kept."""

from __future__ import annotations

import torch

from hostagent.torch_backend.device.host_memory import SMALLEST_BYTES, HostMemory


class Done:
    """An event."""

    def __init__(self, *, has_come: bool = True) -> None:
        self.has_come = has_come
        self.waited = False

    def query(self) -> bool:
        return self.has_come

    def synchronize(self) -> None:
        self.waited = True


def memory(kept_bytes: int = 1 << 20) -> HostMemory:
    return HostMemory(lambda size: torch.empty(size, dtype=torch.uint8), kept_bytes)


def test_sizes_are_powers_of_two_and_never_too_small() -> None:
    sizes = [memory().take(size).numel() for size in (0, 1, SMALLEST_BYTES, SMALLEST_BYTES + 1, 100_000)]
    assert sizes == [SMALLEST_BYTES, SMALLEST_BYTES, SMALLEST_BYTES, 2 * SMALLEST_BYTES, 1 << 17]


def test_a_buffer_of_the_size_is_used_again() -> None:
    held = memory()
    first, other = held.take(5000), held.take(9000)
    for buffer in (first, other):
        held.give(buffer, Done())
    assert held.take(8000).data_ptr() == first.data_ptr()
    assert held.take(5000).data_ptr() not in (first.data_ptr(), other.data_ptr())
    assert held.take(16384).data_ptr() == other.data_ptr()


def test_a_buffer_that_the_device_reads_waits_for_its_turn() -> None:
    held, busy = memory(), Done(has_come=False)
    first = held.take(5000)
    held.give(first, busy)
    assert held.take(5000).data_ptr() != first.data_ptr()
    busy.has_come = True
    assert held.take(5000).data_ptr() == first.data_ptr()


def test_more_than_the_limit_is_let_go_the_longest_unused_first_and_not_under_the_device() -> None:
    held = memory(kept_bytes=3 * SMALLEST_BYTES)
    buffers = [held.take(1) for _ in range(5)]
    events = [Done() for _ in buffers]
    for buffer, event in zip(buffers, events, strict=True):
        held.give(buffer, event)
        assert held.kept_bytes <= 3 * SMALLEST_BYTES
    assert [event.waited for event in events] == [True, True, False, False, False]
    kept = {held.take(1).data_ptr() for _ in range(3)}
    assert kept == {buffer.data_ptr() for buffer in buffers[2:]}
