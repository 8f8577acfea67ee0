"""Aggregators that take connections and do not answer are named after ten seconds, not before, and once."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from hostagent.controller.drivers.aggregator import AggregatorDriver
from hostagent.controller.drivers.driver import Driver
from hostagent.controller.drivers.groups.racks import RacksDriver
from hostagent.controller.drivers.p4.driver import USE_WHAT_RUNS, P4RuntimeDriver
from hostagent.controller.drivers.silence import LOOK_S, PING_TIMEOUT_S, SILENT_S, SilenceWatch, advice, title

SOON_S = 0.3


def looks(watch: SilenceWatch, pattern: str) -> list[tuple[float, list[str]]]:
    """What has changed, and when a look ended with it; a letter for each look: ``.`` all answer, else who does not."""
    found = []
    for index, letter in enumerate(pattern):
        began_s = 100 + index * (LOOK_S + PING_TIMEOUT_S)
        if watch.look([] if letter == "." else [letter], began_s):
            found.append((began_s + PING_TIMEOUT_S - 100, watch.silent))
    return found


def test_the_silence_begins_with_the_last_answer_and_is_told_once() -> None:
    (told, ended) = looks(SilenceWatch(), "..aaaaaa..")
    period_s = LOOK_S + PING_TIMEOUT_S
    answered_s, (told_s, names) = period_s, told
    assert names == ["a"]
    assert SILENT_S <= told_s - answered_s < SILENT_S + period_s
    assert ended == (8 * period_s + PING_TIMEOUT_S, [])


def test_a_short_silence_is_not_told() -> None:
    assert looks(SilenceWatch(), ".a.a.") == []


def test_silence_from_the_first_look_counts_from_there() -> None:
    ((told_s, names),) = looks(SilenceWatch(), "aaaa")
    assert (names, told_s >= SILENT_S) == (["a"], True)


@pytest.fixture
def mute() -> Iterator[str]:
    """An address that takes connections, as the kernel does for a stopped process, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


DRIVERS: dict[str, Callable[[str], Driver]] = {
    "netsum": AggregatorDriver,
    "p4runtime": lambda address: P4RuntimeDriver(address, USE_WHAT_RUNS),
}


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_process_that_does_not_answer_is_silent_and_one_that_is_gone_is_not(mute: str, kind: str) -> None:
    began_s = time.monotonic()
    assert DRIVERS[kind](mute).silent(SOON_S) == [title(DRIVERS[kind](mute).name, 0)]
    assert time.monotonic() - began_s < 20, "bounded by the time-out"
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert DRIVERS[kind](f"127.0.0.1:{free}").silent(5.0) == []


def test_of_several_the_silent_ones_are_named(mute: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    (name,) = RacksDriver([mute, f"127.0.0.1:{free}"], "ring").silent(SOON_S)
    assert mute in name


def test_people_are_told_who_what_it_means_and_what_to_do() -> None:
    text = advice([title("p4runtime://h:1", 77)], 60)
    for part in (
        "p4runtime://h:1 (process 77)",
        "no answer for 10 s",
        "jobs fail 60 s",
        "kill -CONT",
        "start it again",
    ):
        assert part in text
    assert "process" not in title("p4runtime://h:1", 0)
