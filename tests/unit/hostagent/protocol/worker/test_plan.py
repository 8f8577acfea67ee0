"""The number order of an operation's chunks, against section 8.7 of PROTOCOL.md written out as a list."""

from __future__ import annotations

import pytest

from hostagent.protocol.worker import plan


def spelled_out(chunks: int, group: int) -> list[tuple[bool, int]]:
    """E(0), E(1), D(0), E(2), D(1), ..., D(last)."""
    groups = [list(range(first, min(first + group, chunks))) for first in range(0, chunks, group)]
    order: list[tuple[bool, int]] = [(False, 0)]
    for number, members in enumerate(groups):
        if number + 1 < len(groups):
            order.append((False, number + 1))
        order += [(True, index) for index in members]
    return order


@pytest.mark.parametrize("group", [1, 2, 4, 256])
@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 5, 8, 9, 255, 256, 257, 512, 513])
def test_order_and_its_inverse(chunks: int, group: int) -> None:
    order = spelled_out(chunks, group)
    assert len(order) == chunks + plan.group_count(chunks, group)
    for position, (is_data, index) in enumerate(order):
        assert plan.grouped_part(position, chunks, group) == (is_data, index)
        inverse = plan.data_position(index, chunks, group) if is_data else plan.exponent_position(index, group)
        assert inverse == position


def test_exponents_come_before_the_data_that_needs_them() -> None:
    for chunks in range(1, 40):
        for index in range(chunks):
            assert plan.exponent_position(index // 4, 4) < plan.data_position(index, chunks, 4)


def test_groups_are_two_windows_where_frames_are_those_of_links() -> None:
    """As far as one chunk has lanes for their exponents."""
    assert [plan.group_size(256, window) for window in (8, 32, 64, 128, 256)] == [64, 64, 128, 256, 256]
    assert [plan.group_size(1024, window) for window in (8, 32, 64, 128, 256)] == [64, 64, 64, 128, 256]
    assert plan.group_size(16, 128) == 16


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("chunks", [1, 2, 3, 7, 8, 9, 64, 100])
def test_moved_bytes_are_taken_in_turn_from_each_ranks_part(chunks: int, ranks: int) -> None:
    part = plan.group_count(chunks, ranks)
    parts = [list(range(first, min(first + part, chunks))) for first in range(0, chunks, part)]
    order = [members[turn] for turn in range(part) for members in parts if turn < len(members)]
    assert [plan.moved_index(position, chunks, part) for position in range(chunks)] == order
