"""Times equal the closed forms to the nanosecond; both kinds of sharing; times pass the verifier."""

import numpy as np
import pytest

from emulator.network.messages.simulate import Sharing, simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Chunks
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star, torus, tree
from emulator.network.topology.parts import LinkClass

LINK = LinkClass("host", 8_000_000_000, latency_ns=700, alpha_ns=40)
"""A byte takes a nanosecond."""
HOP_NS = 740
SIZE = 4 * 3 * 5 * 64


@pytest.mark.parametrize("sharing", Sharing)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16, 64])
def test_ring_on_a_star(ranks, sharing):
    size = 4 * ranks * 100
    run = simulate(GENERATORS["ring"](star(ranks, host_link=LINK), size), sharing)
    assert run.elapsed_ns == 2 * (ranks - 1) * (2 * HOP_NS + size // ranks)


@pytest.mark.parametrize("sharing", Sharing)
@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
def test_halving_doubling(ranks, sharing):
    size = 4 * ranks * 100
    run = simulate(GENERATORS["halving-doubling"](star(ranks, host_link=LINK), size), sharing)
    rounds = ranks.bit_length() - 1
    assert run.elapsed_ns == 2 * (rounds * 2 * HOP_NS + (ranks - 1) * size // ranks)


def test_bcube():
    """Stages of base - 1 exchanges, of which the second one begins while the first is under way: alpha delays it."""
    ranks, base = 16, 4
    size = 4 * ranks * 100
    run = simulate(GENERATORS["bcube"](star(ranks, host_link=LINK), size))
    stages = [size // 4, size // 16]
    assert run.elapsed_ns == 2 * sum((base - 1) * each + (base - 2) * LINK.alpha_ns + 2 * HOP_NS for each in stages)


@pytest.mark.parametrize("levels", range(2, 8))
def test_a_double_binary_tree_of_one_piece(levels):
    """Up and down again; who has two below it gets their messages, and sends them theirs, one after the other. A power
    of two has a rank more on top, which has one below it."""
    half = 4 * 300
    two_below = 2 * half + LINK.alpha_ns + 2 * HOP_NS
    for ranks, on_top in ((2**levels - 1, 0), (2**levels, half + 2 * HOP_NS)):
        schedule = GENERATORS["double-binary-tree"](star(ranks, host_link=LINK), 2 * half, pieces=1)
        assert simulate(schedule).elapsed_ns == 2 * ((levels - 1) * two_below + on_top)


@pytest.mark.parametrize("sharing", Sharing)
def test_switches(sharing):
    size = 4000
    assert simulate(GENERATORS["switch"](star(8, host_link=LINK), size), sharing).elapsed_ns == size + 2 * HOP_NS
    network = tree((2, 2), host_link=LINK, switch_link=LinkClass("switch", 4_000_000_000, 100, 0))
    assert simulate(GENERATORS["switch"](network, size), sharing).elapsed_ns == 2 * size + 2 * HOP_NS + 200


def pipeline(stages, pieces, size):
    """A broadcast along a line of hosts of a ring: stage i passes each piece on to stage i + 1."""
    topology = torus(2, 2 * stages, host_link=LINK)
    builder = Builder("line", topology, [Chunks(pieces, size, (0,), tuple(range(stages)))])
    for piece in range(pieces):
        for stage in range(stages - 1):
            builder.send(stage, stage + 1, [piece])
    return builder.build()


def test_a_pipeline_of_messages():
    stages, pieces, size = 5, 7, 900
    schedule = pipeline(stages, pieces, size)
    run = simulate(schedule)
    verify(schedule, run.start_ns, run.finish_ns)
    assert run.elapsed_ns == (stages - 1) * (size + HOP_NS) + (pieces - 1) * (size + LINK.alpha_ns)


@pytest.mark.parametrize("sharing", Sharing)
def test_a_pipeline_of_computes(sharing):
    """GPipe's forward pass: (stages + microbatches - 1) slots."""
    stages, microbatches, slot = 4, 6, 1000
    builder = Builder("pipeline", star(stages), [Chunks(1, 4, (0,), (0,))])
    last: dict[tuple[int, int], int] = {}
    for microbatch in range(microbatches):
        for stage in range(stages):
            before = [last[microbatch, stage - 1]] if stage else []
            last[microbatch, stage] = builder.compute(stage, slot, "forward", after=before)
    schedule = builder.build()
    run = simulate(schedule, sharing)
    verify(schedule, run.start_ns, run.finish_ns)
    assert run.elapsed_ns == (stages + microbatches - 1) * slot


def test_fair_shares():
    """Three messages into one host, one of which shares its link out with a fourth: 1/3 each at first."""
    size, topology = 3000, star(4, host_link=LINK)
    builder = Builder("shares", topology, [Chunks(1, size, (rank,), (rank,)) for rank in (0, 1, 2, 0)])
    for rank in range(3):
        builder.send(rank, 3, [rank])
    builder.send(0, 1, [3])
    run = simulate(builder.build(), Sharing.FAIR)
    # 3 at 1/3; number 3 has 2/3 of rank 0's link until 4500, when it is done
    assert (run.finish_ns - 2 * HOP_NS).tolist() == [9000, 9000, 9000, 4500]
    assert run.start_ns.tolist() == [0] * 4


def test_a_share_grows_when_another_ends():
    topology = star(3, host_link=LINK)
    builder = Builder("grow", topology, [Chunks(1, 1000, (0,), (0,)), Chunks(1, 3000, (1,), (1,))])
    builder.send(0, 2, [0])
    builder.send(1, 2, [1])
    run = simulate(builder.build(), Sharing.FAIR)
    assert (run.finish_ns - 2 * HOP_NS).tolist() == [2000, 4000]


@pytest.mark.parametrize("name", GENERATORS)
def test_times_pass_the_verifier(name):
    schedule = GENERATORS[name](tree((2, 4)), SIZE)
    run = simulate(schedule)
    verify(schedule, run.start_ns, run.finish_ns)
    again = simulate(schedule)
    assert np.array_equal(run.finish_ns, again.finish_ns)
    fair = simulate(schedule, Sharing.FAIR)
    assert (fair.finish_ns - fair.start_ns >= run.finish_ns - run.start_ns).all()
