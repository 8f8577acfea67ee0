"""Walks of parsers that go through the same states over and over."""

from __future__ import annotations

import pytest

from emulator.harness.walk.events import FOLDED_ROUNDS, FOLDED_UNLIKE_ROUNDS, Kind, Walk


def walked(rounds: int, *, unlike: bool = False) -> Walk:
    walk = Walk(0, b"")
    walk.add(Kind.BLOCK, "parser P")
    walk.add(Kind.STATE, "start")
    for number in range(rounds):
        walk.add(Kind.STATE, "one")
        walk.add(Kind.STATEMENT, "n = n + 1", details=(("n", str(number if unlike else 0)),))
        walk.add(Kind.STATE, "two")
    walk.fold(1)
    return walk


@pytest.mark.parametrize(("rounds", "unlike"), [(FOLDED_ROUNDS, False), (FOLDED_UNLIKE_ROUNDS, True)])
def test_many_rounds_are_shown_once(rounds: int, unlike: bool) -> None:
    texts = [event.text for event in walked(rounds, unlike=unlike).events]
    assert texts[:5] == ["parser P", "start", "one", "n = n + 1", "two"]
    assert texts[5:] == [f"the same 2 states again and again: {2 * (rounds - 1)} more"]


@pytest.mark.parametrize(
    ("rounds", "unlike"), [(FOLDED_ROUNDS - 2, False), (FOLDED_UNLIKE_ROUNDS - 2, True), (0, False)]
)
def test_few_rounds_stay(rounds: int, unlike: bool) -> None:
    assert len(walked(rounds, unlike=unlike).events) == 2 + 3 * rounds


def test_a_parser_without_states_stays() -> None:
    walk = Walk(0, b"")
    walk.fold(0)
    assert walk.events == []
