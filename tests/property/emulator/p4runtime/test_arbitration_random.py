"""Elections under random orders of updates and disconnects, against the specification's rules restated."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.stream.arbitration import Arbiter, Notification
from tests.labs.extent import tries

STREAMS = st.integers(0, 3)
ELECTION_IDS = st.one_of(st.none(), st.integers(0, 4), st.just(2**128 - 1))
STEPS = st.lists(st.one_of(st.tuples(STREAMS, ELECTION_IDS), st.tuples(STREAMS, st.just("disconnect"))), max_size=40)


@settings(deadline=None, max_examples=tries(100, 300))
@given(STEPS)
def test_elections(steps: list[tuple[int, int | str | None]]) -> None:
    arbiter = Arbiter(1)
    live: dict[int, int | None] = {}
    highest: int | None = None
    told: dict[object, tuple[Code, int | None]] = {}
    for stream, step in steps:
        if step == "disconnect":
            notifications = arbiter.disconnect(stream)
            live.pop(stream, None)
            told.pop(stream, None)
        else:
            assert step is None or isinstance(step, int)
            taken = step is not None and any(i == step for s, i in live.items() if s != stream)
            notifications, refusal = update(arbiter, stream, step)
            assert refusal == (Code.INVALID_ARGUMENT if taken else None)
            if not taken:
                live[stream] = step
                highest = max((i for i in (highest, step) if i is not None), default=None)
        for notification in notifications:
            assert notification.stream in live
            told[notification.stream] = (notification.code, notification.election_id)
        check(arbiter, live, highest, told)


def update(arbiter: Arbiter, stream: int, election_id: int | None) -> tuple[list[Notification], Code | None]:
    try:
        return arbiter.update(stream, 1, "", election_id), None
    except RequestError as error:
        return [], error.code


def check(
    arbiter: Arbiter, live: dict[int, int | None], highest: int | None, told: dict[object, tuple[Code, int | None]]
) -> None:
    """The live stream with the highest id ever seen is the primary, and everybody knows what they are."""
    primary = next((s for s, i in live.items() if i is not None and i == highest), None)
    assert arbiter.primaries() == ([] if primary is None else [primary])
    for stream, election_id in live.items():
        if primary is None:
            expected = Code.NOT_FOUND
        else:
            expected = Code.OK if stream == primary else Code.ALREADY_EXISTS
        assert told[stream] == (expected, highest)
        assert refusal_to_write(arbiter, election_id) == (None if stream == primary else Code.PERMISSION_DENIED)


def refusal_to_write(arbiter: Arbiter, election_id: int | None) -> Code | None:
    try:
        arbiter.check_may_write("", election_id)
    except RequestError as error:
        return error.code
    return None
