"""Assignment of blocks to cores and to network ports, with equal load.

The published server (github.com/Luo-Liang/ps-lite, src/Verbs.hpp, approximateSetPartition) sorts its sizes, deals the
largest to the least loaded, but adds the size at the wrong index of the unsorted list to that load. ``balanced`` is the
rule as it was meant; ``published`` is the rule as it was written, to compare with.

The server itself deals a key's blocks as the key comes, each to the core with the fewest bytes so far
(``key_memory.deal_blocks``): blocks are 32 KB at most, so loads then differ by 32 KB at most, whatever the order.
"""

from __future__ import annotations

from collections.abc import Sequence

from hostagent.rackserver.records import BLOCK_BYTES


def blocks_of(size_bytes: int, block_bytes: int = BLOCK_BYTES) -> list[int]:
    """Sizes of a key's blocks: all full but the last."""
    full, rest = divmod(size_bytes, block_bytes)
    return [block_bytes] * full + [rest] * (rest > 0)


def balanced(sizes: Sequence[int], bins: int) -> list[int]:
    """The bin of each size: the largest first, each to the bin that holds least."""
    loads, places = [0] * bins, [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        places[index] = least = min(range(bins), key=loads.__getitem__)
        loads[least] += sizes[index]
    return places


def published(sizes: Sequence[int], bins: int) -> list[int]:
    """As ``balanced`` with the slip: what is added to a load is the size at the rank of the item, not the item's."""
    loads, places = [0] * bins, [0] * len(sizes)
    for rank, index in enumerate(sorted(range(len(sizes)), key=lambda index: -sizes[index])):
        places[index] = least = min(range(bins), key=loads.__getitem__)
        loads[least] += sizes[rank]
    return places


def loads_of(sizes: Sequence[int], places: Sequence[int], bins: int) -> list[int]:
    """What each bin holds."""
    loads = [0] * bins
    for size, place in zip(sizes, places, strict=True):
        loads[place] += size
    return loads


def imbalance(loads: Sequence[int]) -> float:
    """Largest over mean; 1 is perfect."""
    mean = sum(loads) / len(loads)
    return max(loads) / mean if mean else 1.0
