"""Built-in schedules are right, move what their formulas say, and are the same after a round trip through JSON."""

import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.files import parse_schedule, schedule_json
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Collective, Reduce, ScheduleError, Send
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star, torus, tree
from emulator.network.topology.machines import Cost, ndv2
from emulator.network.topology.parts import LinkClass

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


@pytest.mark.parametrize("ranks", [4, 5, 8, 16, 31, 64])
def test_double_binary_trees_keep_the_busiest_ranks_busy(ranks):
    """On a star: 4 messages for each piece at a rank with two below it, and twice the depth, in messages, at most for
    the first piece and for turns in which such a rank waits."""
    pieces, piece_bytes = 8, 12_500  # 10 us
    network = star(ranks, host_link=LinkClass("host", 10_000_000_000, latency_ns=0))
    schedule = GENERATORS["double-binary-tree"](network, 2 * pieces * piece_bytes, pieces=pieces)
    turns = simulate(schedule).elapsed_ns / 10_000
    assert 4 * pieces <= turns <= 4 * pieces + 3 * ranks.bit_length()


def test_what_cannot_be_built():
    with pytest.raises(ScheduleError, match="5 ranks are not a product of factors up to 4"):
        GENERATORS["bcube"](star(5), SIZE)
    with pytest.raises(ScheduleError, match="size: 8 bytes are too few for 4 chunks of whole elements: at least 16"):
        GENERATORS["ring"](star(4), 8)
    with pytest.raises(ScheduleError, match="size: 1001 bytes are no multiple of 4"):
        GENERATORS["ring"](star(4), 1001)
    with pytest.raises(ScheduleError, match="no switch reaches"):
        GENERATORS["switch"](torus(2, 2), SIZE)
    machine = ndv2(2, Cost(300, 23_000, SIZE), Cost(300, 46_000, SIZE), Cost(2_600, 105_000, SIZE), 1)
    with pytest.raises(ScheduleError, match=r"8 nodes are below nic0\.0, a NIC, which does not sum"):
        GENERATORS["switch"](machine, SIZE)
