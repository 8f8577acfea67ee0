"""A short dose of ``make fuzz-p4runtime``: fifty impolite clients at once, with a fixed seed."""

from __future__ import annotations

from tests.support.p4runtime_fuzz import CLIENTS, fuzz


def test_fifty_impolite_clients() -> None:
    found = fuzz(seconds=0, seed=20, clients=CLIENTS, rounds=12)
    assert set(found["codes"]) >= {"OK", "UNKNOWN", "INVALID_ARGUMENT"}
    assert found["threads_left"] < CLIENTS
