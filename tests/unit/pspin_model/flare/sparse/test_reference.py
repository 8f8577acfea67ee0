"""Sparse blocks on one switch: fragments, storage, spills, and the failures of the published handlers."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pspin_model.flare.elements import operator
from pspin_model.flare.sparse.reference import Outcome, SparseNode, SparseShape, gather
from pspin_model.flare.sparse.wire import (
    Fragment,
    FragmentError,
    block_span,
    cut,
    decode,
    encode,
    encode_request,
    pairs_per_packet,
    requested,
)

INT32 = np.dtype(np.int32)


def pairs(*items: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([i for i, _ in items], np.uint16), np.array([v for _, v in items], INT32)


def fragment(child: int, number: int = 0, total: int = 1, *items: tuple[int, int], block: int = 0) -> Fragment:
    return Fragment(block, child, number, total, *pairs(*items))


def node(children: int = 2, which: str = "sum", **options: object) -> SparseNode:
    return SparseNode(SparseShape(1000, children, INT32, **options), operator(which))  # type: ignore[arg-type]


@pytest.mark.parametrize(("dtype", "count"), [("int32", 164), ("float32", 164), ("int16", 246), ("int8", 328)])
def test_a_packet_holds_as_many_pairs_as_flares(dtype: str, count: int) -> None:
    assert pairs_per_packet(np.dtype(dtype)) == count


def test_a_blocks_span_makes_about_a_packet_of_nonzeros() -> None:
    assert block_span(INT32, 0.5) == (164 - 16) * 2
    assert block_span(INT32, 0.0001) == 65536


def test_fragments_survive_the_wire_and_cut_ones_are_refused() -> None:
    sent = fragment(3, 1, 2, (5, -7), (999, 0), block=70000)
    data = encode(sent, reduction=9)
    reduction, got = decode(data, INT32)
    assert (reduction, got.block, got.child, got.fragment, got.fragments) == (9, 70000, 3, 1, 2)
    assert got.indices.tolist() == [5, 999]
    assert got.values.tolist() == [-7, 0]
    for end in range(len(data)):
        with pytest.raises(FragmentError):
            decode(data[:end], INT32)
    with pytest.raises(FragmentError):
        decode(data + b"\0", INT32)


@pytest.mark.parametrize("storage", ["array", "hash"])
def test_indices_that_cancel_and_explicit_zeros_stay(storage: str) -> None:
    switch = node(storage=storage)
    switch.take(fragment(0, 0, 1, (1, 5), (2, 0)))
    taken = switch.take(fragment(1, 0, 1, (1, -5)))
    assert sorted(zip(taken.up[0].indices.tolist(), taken.up[0].values.tolist(), strict=True)) == [(1, 0), (2, 0)]


@pytest.mark.parametrize("storage", ["array", "hash"])
@pytest.mark.parametrize(("which", "expected"), [("min", [-1, 4]), ("max", [0, 4]), ("product", [0, 4])])
def test_a_zero_is_an_operand_like_any_other(storage: str, which: str, expected: list[int]) -> None:
    switch = node(which=which, storage=storage)
    switch.take(fragment(0, 0, 1, (7, 0)))
    taken = switch.take(fragment(1, 0, 1, (7, -1), (9, 4)))
    row = gather(taken.up, 10, operator(which), fill=99)
    assert [row[7], row[9]] == expected
    assert row[8] == 99


def test_a_block_without_pairs_finishes_with_an_empty_fragment() -> None:
    switch = node()
    empty = cut(0, 0, *pairs(), per_packet=164)
    assert len(empty) == 1
    switch.take(empty[0])
    taken = switch.take(cut(0, 1, *pairs(), per_packet=164)[0])
    assert taken.outcome is Outcome.COMPLETED
    assert [(f.fragment, f.fragments, len(f.indices)) for f in taken.up] == [(0, 1, 0)]


def test_blocks_of_fragments_finish_exactly_once_in_any_order() -> None:
    sent = [fragment(0, 0, 0, (1, 1)), fragment(0, 1, 0, (2, 2)), fragment(0, 2, 3, (3, 3)), fragment(1, 0, 1, (1, 4))]
    for order in permutations(sent):
        switch = node()
        outcomes = [switch.take(f).outcome for f in order]
        assert outcomes == [Outcome.STORED] * 3 + [Outcome.COMPLETED]
        assert gather(switch.result(0), 4, operator("sum")).tolist() == [0, 5, 2, 3]


def test_a_repeated_fragment_is_not_added_and_a_lost_one_is_missed() -> None:
    switch = node()
    one = fragment(0, 0, 0, (1, 1))
    assert switch.take(one).outcome is Outcome.STORED
    assert switch.take(one).outcome is Outcome.REPEAT
    assert switch.take(fragment(1, 0, 1, (1, 10))).outcome is Outcome.STORED
    assert not switch.result(0)
    assert switch.take(fragment(0, 1, 2, (2, 2))).outcome is Outcome.COMPLETED
    again = switch.take(one)
    assert again.outcome is Outcome.SERVED_AGAIN
    assert gather(again.down, 3, operator("sum")).tolist() == [0, 11, 2]
    assert switch.totals.repeats == 2


def test_a_switch_below_the_root_retransmits_until_it_has_the_result() -> None:
    leaf = SparseNode(SparseShape(10, 1, INT32), operator("sum"), is_root=False, number=3)
    first = leaf.take(fragment(0, 0, 1, (1, 1)))
    assert first.up[0].child == 3
    assert leaf.take(fragment(0, 0, 1, (1, 1))).up == first.up
    leaf.finish((fragment(0, 0, 1, (1, 42)),))
    assert leaf.take(fragment(0, 0, 1, (1, 1))).outcome is Outcome.SERVED_AGAIN


def test_collisions_spill_and_no_pair_is_lost() -> None:
    switch = node(children=1, storage="hash", entries=4, probe=False, spill_pairs=8)
    indices = np.arange(100, dtype=np.uint16)
    taken = switch.take(Fragment(0, 0, 0, 1, indices, indices.astype(INT32)))
    assert taken.work.spilled == switch.totals.spilled == 96
    assert switch.totals.flushes == 12
    assert [f.fragments for f in taken.up] == [0] * 12 + [13]
    assert gather(taken.up, 100, operator("sum")).tolist() == list(range(100))
    assert switch.totals.extra_bytes == 12 * 40  # headers of packets that could have been one


def test_a_parent_takes_the_same_index_from_storage_and_spill() -> None:
    parent = node(children=1, storage="hash")
    taken = parent.take(fragment(0, 0, 1, (5, 1), (3, 2), (5, 10), (5, 100)))
    assert gather(taken.up, 6, operator("sum")).tolist() == [0, 0, 0, 2, 0, 111]


def test_a_slot_is_taken_over_only_when_everyone_must_have_its_result() -> None:
    switch = node(children=1, slots=1)
    outcomes = [switch.take(fragment(0, block=b)).outcome for b in (0, 2, 1, 0, 2, 0)]
    assert outcomes == [
        Outcome.COMPLETED,
        Outcome.COMPLETED,
        Outcome.COMPLETED,
        Outcome.OUTSIDE,
        Outcome.SERVED_AGAIN,
        Outcome.OUTSIDE,
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (fragment(2, 0, 1, (1, 1)), "children 0 to 1"),
        (fragment(0, 0, 1, (1000, 1)), "index 1000; a block has 1000"),
        (fragment(0, 3, 2, (1, 1)), "fragment 3 of 2"),
        (Fragment(0, 0, 0, 1, np.zeros(1, np.uint16), np.zeros(1, np.int16)), "values are int16, not int32"),
    ],
)
def test_a_fragment_that_cannot_be_is_refused(wrong: Fragment, message: str) -> None:
    switch = node()
    with pytest.raises(FragmentError) as caught:
        switch.take(wrong)
    assert message in str(caught.value)
    assert switch.totals.bytes_in == 0


def test_a_request_wants_what_its_sender_does_not_have() -> None:
    data = encode_request(7, 1, 2, [0, 3, 9, 40], most_bytes=2)
    assert len(data) == 12 + 2
    assert requested(data, 12) == [1, 2, 4, 5, 6, 7, 8, 10, 11]
    # bits that found no room are asked for
    assert requested(data, 42) == [n for n in range(42) if n not in (0, 3, 9)]
    assert requested(encode_request(7, 1, 2, [], most_bytes=2), 2) == [0, 1]
    assert requested(encode(cut(0, 0, *pairs((1, 2)), 164)[0], 1), 1) is None
