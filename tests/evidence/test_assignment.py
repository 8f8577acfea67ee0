"""Assignment: balance of blocks over cores and ports, and sizes around a block's."""

from __future__ import annotations

import pytest

from hostagent.rackserver.records import BLOCK_BYTES, block_log2_of
from tests.evidence.assignment import balanced, blocks_of, imbalance, loads_of, published
from tests.evidence.model_keys import model_keys, model_names


@pytest.mark.parametrize("model", model_names())
@pytest.mark.parametrize("bins", [2, 10, 28])
def test_cores_and_ports_carry_the_same_for_real_models(model: str, bins: int) -> None:
    sizes = [size for key in model_keys(model) for size in blocks_of(key.size_bytes)]
    loads = loads_of(sizes, balanced(sizes, bins), bins)
    assert imbalance(loads) < 1.01
    assert max(loads) - min(loads) <= BLOCK_BYTES


def test_the_published_partition_is_worse_on_whole_keys() -> None:
    """Without blocks: sizes differ, so the size at the wrong index matters. It shows on keys in another order."""
    sizes = [key.size_bytes for key in model_keys("resnet50")]
    ours, theirs = (imbalance(loads_of(sizes, deal(sizes, 4), 4)) for deal in (balanced, published))
    assert ours < 1.01 < theirs


@pytest.mark.parametrize("size", [1, BLOCK_BYTES - 4, BLOCK_BYTES, BLOCK_BYTES + 4, 10 * BLOCK_BYTES + 12])
def test_blocks_add_up_and_only_the_last_is_short(size: int) -> None:
    blocks = blocks_of(size)
    assert sum(blocks) == size
    assert all(block == BLOCK_BYTES for block in blocks[:-1])
    assert 0 < blocks[-1] <= BLOCK_BYTES


def test_a_block_fits_in_32_kib_and_in_half_a_window() -> None:
    assert [1 << block_log2_of(lanes, 512) for lanes in (64, 256, 1024, 2048)] == [128, 32, 8, 4]
    assert [1 << block_log2_of(256, window) for window in (1, 2, 8, 64)] == [1, 1, 4, 32]
