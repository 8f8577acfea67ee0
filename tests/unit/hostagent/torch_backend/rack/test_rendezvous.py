"""Ranks that join a service again wait for one another, and for nobody who has left."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend.errors import NetsumError
from hostagent.torch_backend.rack.client import RackClient, RackService
from hostagent.torch_backend.rack.rendezvous import Rendezvous
from tests.labs.rack_network import on_ranks

PATIENCE_S = 60.0


class Job:
    """What a client joins."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def client(store: Any, rank: int, size: int = 2) -> RackClient:
    rendezvous = Rendezvous(store, "a job", rank, size)
    return RackClient(rank, size, RackService("mine"), PATIENCE_S, Job, rendezvous)  # type: ignore[arg-type]


def test_all_join_again_as_often_as_the_server_is_lost() -> None:
    store = HashStore()
    clients = [client(store, rank, 3) for rank in range(3)]

    def body(rank: int) -> None:
        for _ in range(2):
            clients[rank].rejoin()

    on_ranks(3, body)


def test_a_server_lost_in_the_last_step_leaves_no_rank_waiting() -> None:
    store = HashStore()
    done, lacking = client(store, 0), client(store, 1)
    closing = threading.Timer(0.0, done.close)  # before or while the other waits
    closing.start()
    with pytest.raises(NetsumError, match=r"rank 0 left the service .* will not rejoin"):
        lacking.rejoin()
    closing.join()


def test_a_rank_that_ends_without_closing_has_left() -> None:
    store = HashStore()
    done, lacking = client(store, 0), client(store, 1)
    del done
    gc.collect()
    with pytest.raises(NetsumError, match="rank 0 left"):
        lacking.rejoin()


def test_a_rank_that_does_nothing_is_named_at_the_time_out() -> None:
    with pytest.raises(NetsumError, match="ranks 1, 2 did not rejoin within 0 s"):
        Rendezvous(HashStore(), "a job", 0, 3).gather(0.0)


def test_a_rank_that_waits_for_another_says_for_whom(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NetsumError, match=r"ranks 0, 2 did not rejoin within 0\.2 s"):
        Rendezvous(HashStore(), "a job", 1, 3).gather(0.2)
    assert "rank 1 waits up to 0.2 s for ranks 0, 2 to rejoin" in capsys.readouterr().err
