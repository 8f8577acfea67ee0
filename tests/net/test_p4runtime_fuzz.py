"""A short dose of ``make fuzz-server``: fifty impolite clients at once, with a fixed seed."""

from __future__ import annotations

from tests.soaks.p4runtime_fuzz import CLIENTS, fuzz


def test_fifty_impolite_clients() -> None:
    found = fuzz(seed=20, rounds=12)
    assert set(found["codes"]) >= {"OK", "UNKNOWN", "INVALID_ARGUMENT"}
    assert found["threads_left"] < CLIENTS
