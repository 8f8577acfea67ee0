"""Ranks that answer a call on torch's store, and who is named when some do not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend import roll_call


def verdicts(ranks: list[int], size: int, *, wait_all_ranks: bool = False, timeout_s: float = 0.2) -> dict[int, str]:
    """What a monitored barrier tells these ranks of ``size``."""
    store = HashStore()

    def come(rank: int) -> str:
        return roll_call.monitored_barrier(store, rank, size, timeout_s if rank == 0 else 5.0, wait_all_ranks)

    with ThreadPoolExecutor(size) as pool:
        return dict(zip(ranks, pool.map(come, ranks), strict=True))


@pytest.mark.parametrize("wait_all_ranks", [False, True])
def test_a_barrier_that_all_reach_tells_nothing(wait_all_ranks: bool) -> None:
    texts = verdicts([0, 1, 2], 3, wait_all_ranks=wait_all_ranks, timeout_s=5.0)
    assert texts == {0: "", 1: "", 2: ""}


def test_the_first_rank_that_did_not_come_is_named_on_every_rank() -> None:
    texts = verdicts([0, 3], 4)
    assert texts[0] == "Rank 1 failed to pass monitoredBarrier in 200 ms"
    assert texts[3].startswith("Rank 3 successfully reached monitoredBarrier, but received errors")
    assert texts[3].endswith(texts[0])


def test_all_ranks_that_did_not_come_are_named_if_asked_for() -> None:
    texts = verdicts([0, 2], 4, wait_all_ranks=True)
    assert texts[0] == "Ranks 1, 3 failed to pass monitoredBarrier in 200 ms"


def test_without_time_rank_0_waits_for_nobody() -> None:
    assert verdicts([0], 2, timeout_s=0.0) == {0: "Rank 0 timed out in monitoredBarrier after 0 ms"}


def test_a_rank_whose_rank_0_does_not_come_says_so() -> None:
    texts = roll_call.monitored_barrier(HashStore(), 1, 2, 0.05, False, margin_s=0.0)
    assert texts == "Rank 1 timed out in monitoredBarrier after 50 ms: rank 0 did not come to it"


def test_the_nth_call_of_a_rank_meets_the_nth_of_the_others() -> None:
    store = HashStore()
    assert [roll_call.next_call(store, "a", rank) for rank in (0, 0, 1)] == ["a 1", "a 2", "a 1"]
    roll_call.answer(store, "a 1", 0)
    assert roll_call.missing(store, "a 1", [0, 1], 0.01) == [1]
    assert roll_call.missing(store, "a 2", [0], 0.01) == [0]
