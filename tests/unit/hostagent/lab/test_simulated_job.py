"""Jobs on simulated topologies: sums, bytes on every link, times, losses, repeatability."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from emulator.native.pages import address_of
from emulator.network.messages.simulate import Sharing, simulate
from emulator.network.schedule.generators import switch_allreduce
from emulator.network.topology.builders import fat_tree, leaf_spine, star, tree
from emulator.network.topology.parts import LinkClass, TopologyError
from emulator.network.topology.plan import HOST_LINK
from emulator.network.topology.topology import Topology
from hostagent.lab import simulated_job
from hostagent.lab.simulated_job import UDP_TUNNEL_BYTES, Call, SimulatedJob, SimulationFailed, Tensors
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.wire import Header, Kind, full_frame_bytes

LANES = 64
"""As other tests have, so that one program is compiled."""
ELEMENTS = 40_000

pytestmark = pytest.mark.timeout(400)  # the first one compiles the loop


def job_on(topology: Topology, **options) -> SimulatedJob:
    return SimulatedJob(topology, lanes=LANES, **options)


def chunks_of(elements: int, window: int = 128) -> int:
    """With data, and of exponents (hostagent/torch_backend/README.md)."""
    data = -(-elements // LANES)
    return data - (-data // min(LANES, 256, max(64, 2 * window)))


@pytest.mark.parametrize(
    "topology",
    [star(2), star(5), tree((2, 3)), tree((2, 1, 2)), leaf_spine(2, 2, 2), fat_tree(4)],
    ids=lambda t: t.name,
)
def test_every_link_of_the_tree_carries_every_chunk_once(topology: Topology) -> None:
    """Sums are verified by the job itself, which raises."""
    job = job_on(topology)
    call = job.allreduce(ELEMENTS)
    chunks = chunks_of(ELEMENTS)
    carried = {link.name for link in job.tree.links}
    for name, counts in job.network.counts().items():
        expected = chunks if name in carried else 0
        assert (counts.frames, counts.bytes) == (expected, expected * full_frame_bytes(LANES)), name
    assert (call.chunks, call.retransmissions, call.dropped) == (chunks, 0, 0)
    assert job.chunks(ELEMENTS) == chunks
    assert call.hops == chunks * len(carried)
    assert job.network.stray == 0
    assert {reason for switch in job.switches.values() for reason in switch.drops} <= {"dropped by ingress"}


@pytest.mark.parametrize("rate_bps", [10**8, 10**10])
def test_a_call_takes_what_its_frames_take(rate_bps: int) -> None:
    """All frames one after another, and one frame's way up and down through two switches; up to a round trip more while
    the first exponents are under way, without which there is nothing to send, and while the window opens."""
    link = LinkClass("any", rate_bps)
    job = job_on(tree((2, 2), host_link=link, switch_link=link))
    frame_ns = -(-full_frame_bytes(LANES) * 8 * 10**9 // rate_bps)
    round_trip_ns = 4 * (frame_ns + link.latency_ns)
    least_ns = (chunks_of(ELEMENTS) - 1) * frame_ns + round_trip_ns
    first_ns, second_ns = (job.allreduce(ELEMENTS).elapsed_ns for _ in range(2))
    assert least_ns <= second_ns <= least_ns + round_trip_ns
    assert second_ns <= first_ns <= least_ns + 2 * round_trip_ns


@pytest.mark.parametrize("topology", [star(4), tree((2, 2))], ids=lambda t: t.name)
def test_messages_take_what_frames_take(topology: Topology) -> None:
    """Within 5 %: one message of all bytes of the frames, and every frame by itself."""
    job = job_on(topology)
    job.allreduce(ELEMENTS)
    elapsed_ns = job.allreduce(ELEMENTS).elapsed_ns
    elements = -(-job.chunks(ELEMENTS) * full_frame_bytes(LANES) // 4)
    schedule = switch_allreduce(topology, 4 * elements)
    for sharing in Sharing:
        assert simulate(schedule, sharing).elapsed_ns == pytest.approx(elapsed_ns, rel=0.05)


def test_lost_frames_are_recovered() -> None:
    job = job_on(fat_tree(4), loss=0.02, seed=3)
    call = job.allreduce(ELEMENTS)
    assert call.lost > 100
    assert call.retransmissions > 100
    assert sum(each.lost for each in job.network.counts().values()) == call.lost


def test_loss_on_one_link_is_of_that_link() -> None:
    job = job_on(tree((2, 2)), losses={"s0->root": 0.05})
    call = job.allreduce(ELEMENTS)
    lost = {name: counts.lost for name, counts in job.network.counts().items() if counts.lost}
    assert lost == {"s0->root": call.lost}


def test_a_queue_that_is_too_small_drops_frames_and_sums_stay_right() -> None:
    """The window is larger than the queue of a host's link: slow start finds that out."""
    link = LinkClass("shallow", 10**9, latency_ns=200_000, queue_bytes=5 * full_frame_bytes(LANES), mtu_bytes=600)
    job = job_on(star(3, host_link=link))
    calls = [job.allreduce(ELEMENTS) for _ in range(2)]
    assert calls[0].dropped > 0
    assert job.network.counts()["h0->s0"].most_waiting_bytes <= link.queue_bytes


def everything(seed: int) -> tuple[list[Call], dict[str, dict[str, int]], int]:
    job = job_on(tree((2, 2)), loss=0.03, seed=seed)
    calls = [job.allreduce(ELEMENTS // 4) for _ in range(2)]
    return calls, {name: asdict(counts) for name, counts in job.network.counts().items()}, job.network.events


def test_the_same_seed_is_the_same_run() -> None:
    assert everything(1) == everything(1)
    assert everything(1) != everything(2)


def test_ranks_that_share_memory_take_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    own = job_on(tree((3, 3)), loss=0.01).allreduce(ELEMENTS)
    monkeypatch.setattr(simulated_job, "OWN_MEMORY_BYTES", 0)
    job = job_on(tree((3, 3)), loss=0.01)
    assert job.allreduce(ELEMENTS) == own
    assert sum(int(rank.record["different"][0]) for rank in job.ranks) == 0


def test_a_wrong_sum_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: of one element of one rank."""
    check = Tensors.wrong

    def damage(tensors: Tensors) -> int | None:
        tensors.outputs[2][ELEMENTS - 1] += 1
        return check(tensors)

    monkeypatch.setattr(Tensors, "wrong", damage)
    with pytest.raises(SimulationFailed, match="the sum of rank 2 is wrong"):
        job_on(star(3)).allreduce(ELEMENTS)


@pytest.mark.parametrize("lane", [0, 1, LANES - 1])
def test_another_result_than_the_first_is_found(lane: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: of ranks that share memory."""
    monkeypatch.setattr(simulated_job, "OWN_MEMORY_BYTES", 0)
    job = job_on(star(3))
    results, seen = np.zeros((1, 4 * LANES), np.uint8), np.zeros(1, np.uint8)
    from hostagent.lab.simulated_ranks import rank_receive

    for rank, values in ((0, 5), (1, 5), (2, 6)):
        lanes = np.full(LANES, 5, np.uint32)
        lanes[lane] = values
        header = Header(Kind.RESULT, simulated_job.JOB, rank, simulated_job.EPOCH, 0, 1, lanes=LANES)
        frame = np.frombuffer(build_frame(Frame(Addresses(1, 2, 3, 4), header, lanes)), np.uint8)
        job.ranks[rank].compare_with(results, seen, 0)
        rank_receive(address_of(job.ranks[rank].record), address_of(frame), len(frame), 0)
    assert [int(rank.record["different"][0]) for rank in job.ranks] == [0, 0, 1]


def test_the_headers_of_a_tunnel_are_carried_too() -> None:
    link = LinkClass("slow", 10**7)
    plain, tunnelled = (job_on(star(2, host_link=link), encapsulation_bytes=extra) for extra in (0, UDP_TUNNEL_BYTES))
    plain_ns, tunnelled_ns = (job.allreduce(ELEMENTS).elapsed_ns for job in (plain, tunnelled))
    frame_bytes = full_frame_bytes(LANES)
    assert tunnelled_ns / plain_ns == pytest.approx((frame_bytes + 42) / frame_bytes, rel=1e-3)
    assert tunnelled.network.counts()["h1->s0"].bytes == chunks_of(ELEMENTS) * (frame_bytes + 42)


def test_more_ranks_than_a_job_has() -> None:
    with pytest.raises(TopologyError, match="1024 hosts: a job has 2 to 1023 ranks"):
        job_on(fat_tree(16))


def test_frames_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        TopologyError, match=r"links of class host carry packets of 1500 bytes \(mtu_bytes\); these have"
    ):
        SimulatedJob(star(2, host_link=HOST_LINK), lanes=1024)
