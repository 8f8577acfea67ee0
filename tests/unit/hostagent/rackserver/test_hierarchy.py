"""Racks of servers that exchange partial sums: bytes, bits, losses, disagreements, leaves."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from emulator.ports.spec import Impairments
from hostagent.lab.rack_network import Rates
from hostagent.lab.racks import Step, play
from hostagent.protocol.frames import Addresses, Frame, build_frame, no_lanes, parse_frame
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.services.aggregator import WAYS, AggregatorRefused, RackPart, ServiceTerms, Spread
from hostagent.protocol.wire import ECN_CAPABLE, ECN_MARKED, FLAG_NO_DATA, Header, Kind, Operator
from hostagent.rackserver.hierarchy.memory import Traffic
from hostagent.rackserver.hierarchy.routes import RACK_IP, RACK_MAC
from tests.labs.rack_racks import PEER_PORT, Racks

LANES = 64
FAST = Rates(10_000_000_000, 40_000_000_000, 10_000_000_000)
JOB, WINDOW = 1, 4


@pytest.mark.parametrize("way", ["ring", "sharded"])
@pytest.mark.parametrize(("racks", "workers"), [(2, 1), (3, 4), (4, 2)])
def test_bytes_between_racks_match_the_formula_and_sums_are_exact(way: str, racks: int, workers: int) -> None:
    step = Step(way, racks, workers, chunks=12, rates=FAST, lanes=LANES)
    outcome = play(step)
    assert outcome.complete
    half = step.data_bytes * (racks - 1) // racks
    assert outcome.contribution_bytes == outcome.result_bytes == (half,) * racks


def test_a_leaf_sends_and_receives_the_model_once_for_any_workers() -> None:
    step = Step("tree", 3, 4, chunks=12, rates=FAST, lanes=LANES)
    outcome = play(step)
    assert outcome.complete
    assert outcome.contribution_bytes == (0, step.data_bytes, step.data_bytes)
    assert outcome.result_bytes == (2 * step.data_bytes, 0, 0)


def test_the_flat_scheme_pushes_n_times_the_bytes() -> None:
    step = Step("flat", 3, 4, chunks=12, rates=FAST, lanes=LANES)
    outcome = play(step)
    assert outcome.complete
    assert outcome.contribution_bytes == (4 * step.data_bytes * 2 // 3,) * 3
    assert outcome.result_bytes == outcome.contribution_bytes


@pytest.mark.parametrize("way", WAYS)
def test_workers_retransmissions_repair_losses_between_racks(way: str) -> None:
    rough = Impairments(loss=0.2, duplicate=0.1, reorder=0.2, reorder_by_ns=50_000, seed=3)
    step = Step(way, 3, 2, chunks=24, rates=FAST, lanes=LANES, uplink=rough, repeat_ns=300_000)
    assert play(step, limit_ns=1_000_000_000).complete


@pytest.mark.parametrize("way", ["ring", "sharded"])
def test_workers_without_data_count_without_adding_and_send_nothing_across(way: str) -> None:
    step = Step(way, 2, 2, chunks=4, rates=FAST, lanes=LANES, silent=frozenset({0, 1}))
    outcome = play(step)
    assert outcome.complete
    half = step.data_bytes // 2
    # the parts of rack 0 are empty; the totals of the chunks that are finished there are not
    assert outcome.contribution_bytes == (0, half)
    assert outcome.result_bytes == (half, half)


# --- Servers by themselves ------------------------------------------------------------------------------------------


def job_of(workers: int, epoch: int = 7) -> ReferenceJob:
    children = tuple(ReferenceChild(n, 0x0200 + n, 0x0A00_0000 + n, True, False) for n in range(workers))
    return ReferenceJob(epoch, WINDOW, children, 0)


class Job:
    """A job over racks, and its workers' frames; each worker's port is its number."""

    def __init__(self, way: str, racks: int, workers: int, **options: float) -> None:
        self.made = Racks(LANES, way, racks, **options)  # type: ignore[arg-type]
        self.job = job_of(workers)
        self.made.install(JOB, self.job)

    def frame(
        self, worker: int, chunk: int, lanes: np.ndarray, operation: int = 5, operator: Operator = Operator.SUM
    ) -> tuple[int, bytes]:
        child = self.job.children[worker]
        flags = 0 if len(lanes) else FLAG_NO_DATA
        header = Header(Kind.CONTRIBUTION, JOB, worker, 7, chunk, operation, operator=operator, flags=flags)
        ends = Addresses(child.mac, self.job.switch_mac, child.ip, self.job.switch_ip)
        return child.port, build_frame(Frame(ends, header, lanes))

    def send(self, *frames: tuple[int, bytes]) -> list[tuple[int, int, list[int]]]:
        """(worker, kind, first lanes) of all answers."""
        answers = [(port, parse_frame(frame)) for port, frame in self.made.receive_all(frames)]
        return [(port, frame.header.kind, frame.lanes[:4].tolist()) for port, frame in answers]

    def traffic(self, rack: int) -> Traffic:
        return self.made.servers[rack].traffic(JOB)

    def message(self, worker: int, peer: int, payload: bytes, *, checksum: bool = True) -> Frame:
        header = Header(Kind.MESSAGE, JOB, worker, 7, 1, 2, peer=peer)
        return Frame(self.way(worker), header, checksum=checksum, payload=payload)

    def way(self, worker: int) -> Addresses:
        """To the aggregator."""
        child = self.job.children[worker]
        return Addresses(child.mac, self.job.switch_mac, child.ip, self.job.switch_ip)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("marked", [None, 0, 1, 2])
def test_a_mark_of_one_rack_is_told_to_the_workers_of_all(way: str, marked: int | None) -> None:
    """Of every chunk, which racks complete in turns; a repeat without a mark hears of it too."""
    job = Job(way, 3, 3)
    for chunk in range(3):
        contributions = {}
        for worker in range(3):
            port, data = job.frame(worker, chunk, np.ones(LANES, np.uint32))
            ecn = ECN_MARKED if worker == marked else ECN_CAPABLE
            contributions[port] = build_frame(replace(parse_frame(data, at_destination=False), ecn=ecn))
        repeat = job.frame(0, chunk, np.ones(LANES, np.uint32))
        answers = [*job.made.receive_all(list(contributions.items())), *job.made.receive_all([repeat])]
        results = [(port, parse_frame(data)) for port, data in answers]
        assert sorted(port for port, _ in results) == sorted([*contributions, repeat[0]])
        wanted = ECN_CAPABLE if marked is None else ECN_MARKED
        assert [(frame.header.kind, frame.ecn) for _, frame in results] == [(Kind.RESULT, wanted)] * 4


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cores", [1, 2])
def test_a_message_crosses_between_racks_once_and_arrives_as_it_was_sent(way: str, cores: int) -> None:
    job, rng = Job(way, 3, 6, cores=cores), random.Random(1)
    for case in range(100):
        worker, peer = rng.randrange(6), rng.randrange(6)
        message = job.message(worker, peer, rng.randbytes(rng.randrange(4 * LANES + 1)), checksum=case % 5 != 0)
        before = [job.traffic(rack).frames for rack in range(3)]
        crossing = [job.traffic(rack).message_bytes for rack in range(3)]
        ((port, data),) = job.made.receive(worker, build_frame(message))
        assert port == peer
        assert data == build_frame(replace(message, addresses=job.way(peer).swapped()))
        crosses = [int(rack == worker // 2 != peer // 2) for rack in range(3)]
        assert [job.traffic(rack).frames - count for rack, count in enumerate(before)] == crosses
        crossed = [job.traffic(rack).message_bytes - count for rack, count in enumerate(crossing)]
        assert crossed == [len(message.payload) * count for count in crosses]
    frames = [server.counters(JOB).frames for server in job.made.servers]
    assert sum(counted["forwarded"] for counted in frames) == 100, "each counted where it was sent"


def test_a_rack_takes_messages_from_others_children_for_its_own_only() -> None:
    """Rack 0 has workers 0 and 1, rack 1 has 2 and 3, rack 2 has 4 and 5."""
    job = Job("ring", 3, 6)
    inside = job.made._insides[0]

    def sent(rack: int, worker: int, peer: int, port: int = PEER_PORT) -> int:
        addresses = Addresses(RACK_MAC | rack, RACK_MAC, RACK_IP | rack, RACK_IP)
        message = Frame(addresses, replace(job.message(0, peer, b"").header, child=worker), payload=b"bytes")
        return len(inside.process([(port + rack, build_frame(message))], 0)[0])

    assert sent(1, 2, 0) == sent(1, 3, 1) == sent(2, 5, 0) == 1
    assert sent(1, 4, 0) == sent(1, 0, 1) == 0, "not of a child of the rack that sends it"
    assert sent(1, 2, 4) == sent(1, 2, 3) == sent(2, 5, 2) == 0, "not on to other racks, nor back"
    assert sent(1, 2, 6) == sent(1, 63, 0) == sent(1, 64, 0) == 0
    assert sent(1, 2, 0, PEER_PORT + 1) == 0, "by another rack's cable"
    assert job.made.servers[0].drops() == {"child": 5, "peer": 4}


def data(chunk: int, worker: int) -> np.ndarray:
    return np.random.default_rng((chunk, worker)).integers(0, 1 << 32, LANES).astype(np.uint32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(6))
def test_any_schedule_of_losses_ends_with_every_sum_on_every_worker(way: str, seed: int) -> None:
    racks, workers, chunks = 2 + seed % 3, 5, 14
    operator = Operator.MAX if seed % 2 else Operator.SUM
    job = Job(way, racks, workers, cores=1 + seed % 2, rough=0.12, seed=seed)
    drawn = random.Random(seed)
    results: list[dict[int, np.ndarray]] = [{} for _ in range(workers)]
    while min(map(len, results)) < chunks:
        worker = drawn.randrange(workers)
        low = next((chunk for chunk in range(chunks) if chunk not in results[worker]), chunks)
        may = [c for c in range(low, min(chunks, low + WINDOW)) if c < WINDOW or c - WINDOW in results[worker]]
        frames = [job.frame(worker, chunk, data(chunk, worker), operator=operator) for chunk in may]
        for port, frame in job.made.receive_all(drawn.sample(frames, len(frames))):
            parsed = parse_frame(frame)
            if parsed.header.kind == Kind.RESULT:
                results[port].setdefault(parsed.header.chunk, parsed.lanes)
    for chunk in range(chunks):
        every = np.stack([data(chunk, worker) for worker in range(workers)])
        wanted = every.sum(0, np.uint32) if operator is Operator.SUM else every.view(np.int32).max(0).view(np.uint32)
        assert all(np.array_equal(results[worker][chunk], wanted) for worker in range(workers))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("odd", range(3))
def test_racks_that_disagree_on_an_operation_all_fail_with_both_named(way: str, odd: int) -> None:
    job = Job(way, 3, 3)
    for chunk in range(3):
        told = []
        for worker in range(3):
            told += job.send(job.frame(worker, chunk, data(chunk, worker), operation=9 if worker == odd else 5))
        told += job.send(*(job.frame(w, chunk, data(chunk, w), operation=9 if w == odd else 5) for w in range(3)))
        errors = {worker: lanes for worker, kind, lanes in told if kind == Kind.ERROR}
        assert set(errors) == {0, 1, 2}
        assert not any(kind == Kind.RESULT for _, kind, _ in told)
        for lanes in errors.values():
            assert set(lanes[:2]) == {5, 9}
            assert odd in lanes[2:]


def test_frames_of_no_other_rack_epoch_or_time_are_dropped_and_counted() -> None:
    job = Job("sharded", 3, 3)
    server, inside = job.made.servers[0], job.made._insides[0]

    def given(kind: Kind, chunk: int, *, rack: int = 1, port: int | None = None, epoch: int = 7) -> None:
        header = Header(kind, JOB, rack, epoch, chunk, 5, operator=Operator.SUM)
        ends = Addresses(RACK_MAC | rack, RACK_MAC, RACK_IP | rack, RACK_IP)
        frame = build_frame(Frame(ends, header, data(chunk, rack), True))
        inside.process([(PEER_PORT + rack if port is None else port, frame)], 0)

    given(Kind.CONTRIBUTION, 0, epoch=8)
    given(Kind.CONTRIBUTION, 0, port=0)
    given(Kind.CONTRIBUTION, 0, port=PEER_PORT + 2)
    given(Kind.RESULT, 0, port=0)
    assert server.drops() == {"child": 3, "epoch": 1}
    given(Kind.RESULT, 1)  # no partial sum has gone up
    given(Kind.WAITING, 1)
    given(Kind.RESULT, 0)  # of a chunk that is finished here
    given(Kind.ERROR, 2)  # of a chunk that is finished at rack 2, and is none of rack 1's business
    assert server.traffic(JOB).dropped == 4
    assert sum(server.counters(JOB).frames.values()) == 0


def test_a_worker_may_not_answer_as_if_it_were_a_rack() -> None:
    job = Job("sharded", 2, 2)
    port, frame = job.frame(0, 1, data(1, 0))
    parsed = parse_frame(frame)
    forged = build_frame(replace(parsed, header=replace(parsed.header, kind=Kind.RESULT)))
    assert job.send((port, frame), (port, forged)) == []
    assert job.made.servers[0].drops() == {"kind": 1}


# --- A leaf ---------------------------------------------------------------------------------------------------------


def leaf() -> Job:
    """A root with worker 0, a leaf with workers 1 and 2."""
    return Job("tree", 2, 3)


def test_a_leaf_is_one_child_that_stands_for_its_workers() -> None:
    job = leaf()
    ones = [np.full(LANES, 10**n, np.uint32) for n in range(3)]
    assert job.send(*(job.frame(n, 0, ones[n]) for n in (1, 2))) == []
    assert job.traffic(1).part_bytes == 4 * LANES
    final = job.send(job.frame(0, 0, ones[0]))
    assert sorted(final) == [(n, Kind.RESULT, [111] * 4) for n in range(3)]


def test_a_second_retransmission_goes_up_again_with_the_bitmap() -> None:
    """The first may come of a chunk that only takes longer, as it is finished in another rack."""
    job = leaf()
    ones = np.ones(LANES, np.uint32)
    first = job.frame(1, 0, ones)
    assert job.send(first) == []
    assert job.send(first) == [(1, Kind.WAITING, [0, 0b010, 0, 0])]
    assert job.send(job.frame(2, 0, ones)) == []
    for worker in (1, 2):
        job.send(job.frame(worker, 0, ones))
    assert job.traffic(1) == Traffic(part_bytes=4 * LANES, frames=1)
    job.send(first)
    assert job.send(first) == [(1, Kind.WAITING, [0, 0b110, 0, 0])]  # as the root has told
    assert job.traffic(1) == Traffic(part_bytes=4 * LANES, again_bytes=4 * LANES, frames=2)
    job.send(job.frame(0, 0, ones))
    assert job.send(first) == [(1, Kind.RESULT, [3] * 4)]
    assert job.traffic(1).again_bytes == 4 * LANES  # from the store


def test_a_leaf_whose_workers_have_nothing_to_add_says_so() -> None:
    job = leaf()
    assert job.send(*(job.frame(n, 0, no_lanes()) for n in (1, 2))) == []
    assert (job.traffic(1).part_bytes, job.traffic(1).frames) == (0, 1)
    assert len(job.send(job.frame(0, 0, data(0, 0)))) == 3


# --- Jobs that can't be ---------------------------------------------------------------------------------------------


def test_jobs_of_other_racks_or_none_are_refused_by_name() -> None:
    made = Racks(LANES, "ring", 2)
    terms = made.terms(JOB, job_of(4))[0]
    assert terms.spread is not None
    alone = Racks(LANES, "ring", 1).servers[0]
    alone.place = None
    with pytest.raises(AggregatorRefused, match="spans several racks, but this server has none"):
        alone.install(terms)
    unreached = replace(terms, spread=Spread("ring", (terms.spread.racks[0], RackPart(7, 0b1100))))
    with pytest.raises(AggregatorRefused, match=r"racks \[7\], which have no --peer"):
        made.servers[0].install(unreached)
    others = replace(terms, spread=Spread("ring", (RackPart(0, 0b1100), RackPart(1, 0b11))))
    with pytest.raises(AggregatorRefused, match="not those of rack 0"):
        made.servers[0].install(others)
    for wrong in (Spread("star", terms.spread.racks), Spread("ring", terms.spread.racks[:1])):
        with pytest.raises(AggregatorRefused, match="use 2 or more, by ring, sharded, tree"):
            replace(terms, spread=wrong)
    with pytest.raises(AggregatorRefused, match="none, or another rack's"):
        replace(terms, spread=Spread("ring", (RackPart(0, 0b11), RackPart(1, 0b10))))


def test_a_refused_job_leaves_its_service_as_it_was() -> None:
    made = Racks(LANES, "ring", 2)
    terms = made.terms(JOB, job_of(4), ServiceTerms("tenant", workers=64))[0]
    assert terms.workers == 4
    made.servers[0].place = None
    with pytest.raises(AggregatorRefused):
        made.servers[0].install(terms)
    assert made.servers[0].registry.of_job(JOB) is None
