"""Built-in schedules are right, move what their formulas say, and are the same after a round trip through JSON."""

import pytest

from emulator.network.schedule.files import parse_schedule, schedule_json
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Collective, Reduce, ScheduleError, Send
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star, torus, tree

SIZE = 4 * 240
VOLUMES = {
    "ring": lambda ranks: 2 * (ranks - 1) * SIZE // ranks,
    "halving-doubling": lambda ranks: 2 * (ranks - 1) * SIZE // ranks,
    "bcube": lambda ranks: 2 * (ranks - 1) * SIZE // ranks,
    "switch": lambda ranks: 0,
}
"""Bytes that each rank sends, where all send the same."""


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8, 16])
def test_an_allreduce(name, ranks):
    schedule = GENERATORS[name](star(ranks), SIZE)
    moved = verify(schedule)
    text = schedule_json(schedule)
    assert schedule_json(parse_schedule(text)) == text
    if name in VOLUMES and (name != "halving-doubling" or ranks & (ranks - 1) == 0):
        assert moved.sent_bytes.tolist() == moved.received_bytes.tolist() == [VOLUMES[name](ranks)] * ranks
    elif name == "double-binary-tree":  # every rank is a leaf of one tree at least, n - 1 edges each way
        assert moved.sent_bytes.sum() == 2 * (ranks - 1) * SIZE
        assert moved.sent_bytes.max() <= 2 * SIZE


def test_places_and_other_topologies():
    places = [f"h{rank}" for rank in (3, 1, 0, 2)]
    schedule = GENERATORS["ring"](tree((2, 2)), SIZE, places)
    assert isinstance(schedule[0], Send | Reduce)
    assert (schedule[0].route[0], schedule[0].route[-1]) == ("h3->s1", "s0->h1")
    verify(schedule)
    verify(GENERATORS["halving-doubling"](torus(2, 4), SIZE))
    in_network = GENERATORS["switch"](tree((2, 2)), SIZE)
    assert set(verify(in_network).link_bytes) == {SIZE}
    assert isinstance(in_network[0], Collective)
    assert len(in_network[0].route) == len(in_network.topology.links)


def test_what_cannot_be_built():
    with pytest.raises(ScheduleError, match="5 ranks are not a product of factors up to 4"):
        GENERATORS["bcube"](star(5), SIZE)
    with pytest.raises(ScheduleError, match="8 bytes are not 4 or more elements"):
        GENERATORS["ring"](star(4), 8)
    with pytest.raises(ScheduleError, match="no switch reaches"):
        GENERATORS["switch"](torus(2, 2), SIZE)
