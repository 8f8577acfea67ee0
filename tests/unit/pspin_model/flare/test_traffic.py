"""Who sends what when: staggering, and where blocks are worked on."""

from __future__ import annotations

import numpy as np
import pytest

from pspin_model.flare.traffic import arrivals, core_group, slots_in_cluster


@pytest.mark.parametrize("staggered", [True, False])
@pytest.mark.parametrize("exponential", [True, False])
@pytest.mark.parametrize(("blocks", "children"), [(16, 4), (3, 7), (1, 2)])
def test_every_child_sends_every_block_once(staggered: bool, exponential: bool, blocks: int, children: int) -> None:
    sent = arrivals(blocks, children, 2.5, staggered=staggered, exponential=exponential)
    assert sorted(zip(sent.child.tolist(), sent.block.tolist(), strict=True)) == [
        (child, block) for child in range(children) for block in range(blocks)
    ]
    assert (np.diff(sent.at) >= 0).all()


def test_the_switch_sees_a_packet_every_interval() -> None:
    assert arrivals(8, 4, 3).at.tolist() == list(range(0, 96, 3))


def test_packets_of_a_block_are_a_messages_time_apart_when_staggered() -> None:
    together, apart = (arrivals(64, 4, 1, staggered=s) for s in (False, True))
    assert np.diff(together.at[together.block == 5]).tolist() == [1, 1, 1]
    assert np.diff(apart.at[apart.block == 5]).mean() == pytest.approx(64, rel=0.1)


@pytest.mark.parametrize("parts", [1, 2, 16, 64])
def test_blocks_under_way_together_lie_on_different_groups(parts: int) -> None:
    children, groups = 64, 64
    blocks = children * parts
    for step in range(parts):
        together = (step + np.arange(children) * parts) % blocks
        assert len(set(core_group(together, blocks, children, groups).tolist())) == groups
    if parts > 1:
        run = core_group(np.arange(parts), blocks, children, groups)
        assert len(set(run.tolist())) == parts


@pytest.mark.parametrize(("blocks", "children", "groups"), [(8, 64, 8), (60, 256, 64), (512, 100, 64), (23, 1, 8)])
def test_blocks_are_dealt_evenly(blocks: int, children: int, groups: int) -> None:
    dealt = np.bincount(core_group(np.arange(blocks), blocks, children, groups), minlength=groups)
    assert dealt.max() <= -(-blocks // groups) + 1
    assert np.count_nonzero(dealt) == min(blocks, groups)


def test_slots_number_the_blocks_of_a_cluster() -> None:
    slot, most = slots_in_cluster(np.array([0, 1, 0, 0, 1]), 2)
    assert slot.tolist() == [0, 0, 1, 2, 1]
    assert most == 3
