"""The worker core, one behaviour at a time, against the reference aggregator."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hostagent.protocol import wire
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Frame, build_frame, parse_frame
from hostagent.protocol.operation import NOTHING, Operation, OperationKind, OperationRefused, Span
from hostagent.protocol.wire import Kind, Operator
from hostagent.protocol.worker import (
    FAILED_BY_CALLER,
    FAILED_MISMATCH,
    FAILED_RETENTION,
    NEVER_NS,
)
from hostagent.protocol.worker.core import RUN_AHEAD_WINDOWS
from tests.labs.protocol import JOB, TICK_NS, Lab, Schedule, make_lab
from tests.labs.worker_core import JobFailed, WorkerCore, operation_of

LANES = 16


def whole(array: np.ndarray) -> Span:
    return Span(array.ctypes.data, 0, array.size)


def sum_of(
    array: np.ndarray, dtype: DType = DType.INT32, output: np.ndarray | None = None, **more: object
) -> Operation:
    target = array if output is None else output
    operation = operation_of(OperationKind.SUM, dtype, array.size, whole(array), whole(target), **more)  # type: ignore[arg-type]
    return dataclasses.replace(operation, memory=(array, target))


def lab_of(**more: int) -> Lab:
    return make_lab(Schedule(lanes=LANES, **more))


def exchange(lab: Lab, rounds: int = 1000) -> None:
    """Carry frames to and fro until nobody has anything to say."""
    for rank in range(len(lab.cores)):
        lab.pump(rank)
    for _ in range(rounds):
        if not lab.step():
            return


def frames_of(core: WorkerCore, now_ns: int = 0) -> list[Frame]:
    return [parse_frame(frame) for frame in core.transmit(now_ns)]


def test_contributions_are_the_bytes_the_codec_makes() -> None:
    for checksum in (0.0, 0.1):
        core = make_lab(Schedule(lanes=LANES, corrupt=checksum)).cores[1]
        values = np.arange(1, LANES + 4, dtype=np.int32)
        core.submit(sum_of(values))
        frames = core.transmit(0)
        for number, data in enumerate(frames):
            frame = parse_frame(data)
            assert (frame.header.kind, frame.header.child, frame.header.epoch) == (Kind.CONTRIBUTION, 1, 1)
            assert (frame.header.chunk, frame.header.operator, frame.checksum) == (number, Operator.SUM, checksum > 0)
            assert build_frame(frame) == data
        lanes = np.concatenate([parse_frame(data).lanes for data in frames])
        assert (lanes[: values.size] == values).all()
        assert (lanes[values.size :] == 0).all()


def test_a_float_sum_costs_one_round_trip_for_exponents_and_one_for_data() -> None:
    lab = lab_of(window=8)
    values = np.ones(5 * LANES, np.float32)
    lab.cores[0].submit(sum_of(values, DType.FLOAT32))
    [exponents] = frames_of(lab.cores[0])
    assert (exponents.header.operator, exponents.header.chunk) == (Operator.MAX, 0)
    assert exponents.lanes[:2].tolist() == [1, 1]


@pytest.mark.parametrize("short", [True, False])
def test_a_rank_without_data_says_so(short: bool) -> None:
    lab = lab_of(seed=0 if short else 1)
    moved = np.zeros(4 * LANES, np.uint8)
    lab.cores[0].submit(operation_of(OperationKind.RAW, DType.UINT8, moved.size, NOTHING, whole(moved)))
    [frame] = frames_of(lab.cores[0])
    assert frame.header.flags == wire.FLAG_NO_DATA
    assert len(frame.lanes) == (0 if short else LANES)


@pytest.mark.parametrize("shortens", [True, False])
def test_a_rank_needs_no_lanes_of_chunks_that_are_all_its_own(shortens: bool) -> None:
    lab = lab_of(workers=2)
    lab.aggregator.shortens_results = shortens
    own_bytes = 6 * LANES  # a chunk and a half
    values, targets = np.arange(2 * own_bytes, dtype=np.uint8), [np.zeros(2 * own_bytes, np.uint8) for _ in range(2)]
    for rank, core in enumerate(lab.cores):
        part = Span(values.ctypes.data + rank * own_bytes, rank * own_bytes, own_bytes)
        core.submit(operation_of(OperationKind.RAW, DType.UINT8, values.size, part, whole(targets[rank])))
    flags = [[frame.header.flags for frame in frames_of(core)] for core in lab.cores]
    own, others = wire.FLAG_SHORT_RESULT, wire.FLAG_NO_DATA
    assert flags == [[own, others, 0], [others, own, 0]]  # chunks 0, 2 and 1: in turn from both halves
    lab.now_ns = 100 * TICK_NS
    exchange(lab)
    assert lab.finished == [1, 1]
    assert [(target == values).all() for target in targets] == [True, True]


@pytest.mark.parametrize("dtype", [DType.INT32, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16])
@pytest.mark.parametrize("shortens", [True, False])
def test_a_rank_needs_no_lanes_of_sums_that_it_does_not_want(shortens: bool, dtype: DType) -> None:
    lab = lab_of(workers=2, window=8)
    lab.aggregator.shortens_results = shortens
    count = 40 * LANES
    kind = {DType.INT32: np.int32, DType.FLOAT32: np.float32, DType.FLOAT64: np.float64, DType.BFLOAT16: np.uint16}
    values = np.ones(count, kind[dtype])
    if dtype is DType.BFLOAT16:
        values[:] = 0x3F80
    elif dtype is not DType.INT32:
        values[3] = np.inf  # a flagged chunk, and so a tail, or another form
    outputs = [np.zeros(count, kind[dtype]) for _ in range(2)]
    halves = [Span(output.ctypes.data, rank * count // 2, count // 2) for rank, output in enumerate(outputs)]
    for core, half in zip(lab.cores, halves, strict=True):
        core.submit(operation_of(OperationKind.SUM, dtype, count, whole(values), half))
    exchange(lab, 10_000)
    assert lab.finished == [1, 1]
    expected = (values + values) if dtype is not DType.BFLOAT16 else np.full(count, 0x4000, np.uint16)
    for rank, output in enumerate(outputs):
        assert (output[: count // 2] == expected[rank * count // 2 :][: count // 2]).all()
        assert (output[count // 2 :] == 0).all()


def test_a_result_without_lanes_that_was_not_asked_for_is_rejected() -> None:
    lab = lab_of(workers=1)
    core = lab.cores[0]
    core.submit(sum_of(np.ones(LANES, np.int32)))
    [sent] = core.transmit(0)
    [(_, answer)] = lab.aggregator.receive(0, sent)
    result = parse_frame(answer)
    header = dataclasses.replace(result.header, flags=wire.FLAG_SHORT_RESULT)
    short = build_frame(dataclasses.replace(result, header=header, lanes=result.lanes[:0]))
    assert core.receive(short, 1) == "length"
    assert core.receive(answer, 2) == ""


def test_window_and_run_ahead() -> None:
    lab = lab_of(workers=1, window=4)
    core = lab.cores[0]
    values = np.zeros(40 * LANES, np.int32)
    core.submit(sum_of(values))
    first = core.transmit(0)
    assert [parse_frame(frame).header.chunk for frame in first] == [0, 1, 2, 3]
    sent = first
    for number in range(1, RUN_AHEAD_WINDOWS):  # all but the lowest come back; the results tell that it is lost
        for frame in sent[1:]:
            for _, answer in lab.aggregator.receive(0, frame):
                assert core.receive(answer, number) == ""
        sent = core.transmit(number)
        assert [parse_frame(frame).header.chunk for frame in sent] == [0, *range(4 * number + 1, 4 * number + 4)]
    for frame in sent[1:]:
        for _, answer in lab.aggregator.receive(0, frame):
            core.receive(answer, RUN_AHEAD_WINDOWS)
    assert [parse_frame(frame).header.chunk for frame in core.transmit(RUN_AHEAD_WINDOWS)] == [0]
    for _, answer in lab.aggregator.receive(0, first[0]):
        core.receive(answer, 9)
    following = [parse_frame(frame).header.chunk for frame in core.transmit(9)]
    assert following == [4, *range(4 * RUN_AHEAD_WINDOWS + 1, 4 * RUN_AHEAD_WINDOWS + 4)]


def test_without_loss_the_same_few_frames_are_used_again() -> None:
    lab = lab_of(workers=1, window=4)
    core, used = lab.cores[0], set()
    core.submit(sum_of(np.arange(100 * LANES, dtype=np.int32)))
    for now_ns in range(100):
        for frame in core.transmit(now_ns):
            used.add(int(core.record["unused"][0]))
            for _, answer in lab.aggregator.receive(0, frame):
                core.receive(answer, now_ns)
    assert core.lowest_unfinished == 100
    assert core.record["ring"][0] - min(used) <= 3 * 4


def carry(lab: Lab, moments: range, lost: tuple[int, int] | None = None) -> None:
    """Carry frames to and fro at these times; a rank never gets the answers for one chunk."""
    for now_ns in moments:
        frames = [(rank, frame) for rank, core in enumerate(lab.cores) for frame in core.transmit(now_ns)]
        for rank, frame in frames:
            for child, answer in lab.aggregator.receive(rank, frame):
                if (child, parse_frame(answer).header.chunk) != lost:
                    lab.cores[child].receive(answer, now_ns)


def restarted(window: int, chunks: int) -> tuple[Lab, list[np.ndarray], np.ndarray]:
    """A job of two ranks in its second epoch, with the ranks' memory and the sums that must come there: one rank lacks
    the first result, the other has all that the first could contribute to."""
    lab = lab_of(workers=2, window=window)
    values = [np.arange(chunks * LANES, dtype=np.int32) * (rank + 1) for rank in range(2)]
    expected = values[0] + values[1]
    for core, array in zip(lab.cores, values, strict=True):
        core.submit(sum_of(array))
    carry(lab, range(RUN_AHEAD_WINDOWS + 3), lost=(1, 0))
    assert [core.freeze() for core in lab.cores] == [window, 0]
    lab.aggregator.restart()
    lab.aggregator.jobs[JOB] = dataclasses.replace(lab.job, epoch=2)
    assert all(core.resume(2, 0, 100) for core in lab.cores)
    return lab, values, expected


def test_a_restart_asks_for_the_lowest_frame_that_is_kept() -> None:
    window = 4
    lab, values, expected = restarted(window, 40)
    assert lab.cores[0].record["top"][0] == (RUN_AHEAD_WINDOWS + 1) * window
    carry(lab, range(100, 200))
    assert all((array == expected).all() for array in values)


def test_a_frame_is_kept_until_its_chunk_is_answered_in_the_epoch() -> None:
    """The rank that is ahead lacks a result that it has had in the epoch before, while its lowest unfinished chunk,
    whatever the epoch, is a window and more beyond that."""
    lab, values, expected = restarted(4, 40)
    carry(lab, range(100, 200), lost=(0, 3))
    assert lab.cores[0].record["floor"][0] == 3
    assert lab.cores[0].lowest_unfinished > 3 + 4
    carry(lab, range(10**9, 10**11, 10**9))
    assert all((array == expected).all() for array in values)


def test_several_operations_share_the_window() -> None:
    lab = lab_of(workers=2, window=8)
    arrays = [[np.full(LANES, rank + number, np.int32) for number in range(3)] for rank in range(2)]
    for rank, core in enumerate(lab.cores):
        for array in arrays[rank]:
            core.submit(sum_of(array))
        assert [frame.header.chunk for frame in frames_of(core)] == [0, 1, 2]
    lab.now_ns = 100 * TICK_NS
    exchange(lab)
    assert lab.finished == [3, 3]
    assert [int(array[0]) for array in arrays[0]] == [1, 3, 5]


def test_an_operation_after_a_float_sum_waits_only_for_its_exponents() -> None:
    lab = lab_of(workers=1, window=8)
    core, values, more = lab.cores[0], np.ones(5 * LANES, np.float32), np.ones(LANES, np.int32)
    core.submit(sum_of(values, DType.FLOAT32))
    core.submit(sum_of(more))
    [exponents] = core.transmit(0)
    for _, answer in lab.aggregator.receive(0, exponents):
        core.receive(answer, 0)
    assert [frame.header.chunk for frame in frames_of(core)] == [1, 2, 3, 4, 5, 6]


def test_a_frame_is_not_rewritten_before_its_posting_is_consumed() -> None:
    lab = lab_of(workers=1, window=1)
    core = lab.cores[0]
    core.submit(sum_of(np.zeros(3 * LANES, np.int32)))
    for number in range(2):  # a frame is used again a window behind the lowest chunk
        [frame] = core.transmit(0, consumed=0)
        core.posted[number] = number + 1
        for _, answer in lab.aggregator.receive(0, frame):
            assert core.receive(answer, 0) == ""
    assert core.transmit(0, consumed=0) == []
    assert len(core.transmit(0, consumed=1)) == 1


def test_duplicate_and_senseless_results_are_counted_and_ignored() -> None:
    lab = lab_of(workers=1)
    core, values = lab.cores[0], np.full(LANES, 5, np.int32)
    core.submit(sum_of(values))
    [contribution] = core.transmit(0)
    [(_, good)] = lab.aggregator.receive(0, contribution)
    frame = parse_frame(good)

    def changed(**values: int) -> bytes:
        return build_frame(dataclasses.replace(frame, header=dataclasses.replace(frame.header, **values)))

    assert core.receive(changed(job=8), 0) == "job"
    assert core.receive(changed(epoch=2), 0) == "epoch"
    assert core.receive(changed(child=1), 0) == "child"
    assert core.receive(changed(kind=0), 0) == "kind"
    assert core.receive(changed(kind=9), 0) == "kind"
    assert core.receive(changed(operator=1), 0) == "operator"
    assert core.receive(changed(operation=1), 0) == "operation"
    assert core.receive(changed(version=1), 0) == "not_ours"
    for chunk in (1, 2**32 - 1, 2**31, 17):
        assert core.receive(changed(chunk=chunk), 0) == "not_in_flight"
    assert core.receive(build_frame(dataclasses.replace(frame, lanes=frame.lanes[:-1])), 0) == "length"
    for length in range(len(good)):
        assert core.receive(good[:length], 0) == "length"
    assert core.receive(good + b"\0", 0) == "length"
    refused_bytes = core.statistics()["unused_bytes"]
    assert refused_bytes > sum(range(len(good)))
    assert core.receive(good, 0) == ""
    assert core.statistics()["unused_bytes"] == refused_bytes
    assert core.receive(good, 0) == "not_in_flight"
    statistics = core.statistics()
    assert statistics["unused_bytes"] == refused_bytes + len(good)
    assert statistics["duplicate_results"] == 1
    assert statistics["rejected_not_in_flight"] == 5
    assert core.completions() == [(0, 0)]
    assert (values == 5).all()


def test_random_bytes_do_no_harm() -> None:
    lab = lab_of(workers=1)
    core, values = lab.cores[0], np.full(LANES, 5, np.int32)
    core.submit(sum_of(values))
    [contribution] = core.transmit(0)
    [(_, good)] = lab.aggregator.receive(0, contribution)
    rng = np.random.default_rng(1)
    for _ in range(3000):
        junk = bytearray(good) if rng.random() < 0.7 else bytearray(rng.bytes(int(rng.integers(0, 200))))
        for at in rng.integers(0, max(len(junk), 1), 3):
            if junk and at < wire.LANES_AT:
                junk[at] = int(rng.integers(256))
        if bytes(junk[12:66]) != good[12:66]:
            core.receive(bytes(junk), 0)
    core.receive(good, 0)
    assert (values == 5).all()


def test_checksums_are_insisted_on_where_the_lease_says_so() -> None:
    lab = make_lab(Schedule(lanes=LANES, workers=1, corrupt=1e-9))
    core, values = lab.cores[0], np.full(LANES, 5, np.int32)
    core.submit(sum_of(values))
    [contribution] = core.transmit(0)
    [(_, good)] = lab.aggregator.receive(0, contribution)
    assert core.receive(build_frame(dataclasses.replace(parse_frame(good), checksum=False)), 0) == "checksum"
    for bit in range(wire.HEADER_AT * 8, len(good) * 8):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        assert core.receive(bytes(damaged), 0) in ("checksum", "not_ours", "length")
    assert core.receive(good, 0) == ""


def test_ranks_that_disagree_all_fail_with_both_hashes() -> None:
    lab = lab_of(workers=3)
    arrays = [np.zeros(LANES, np.int32) for _ in range(3)]
    for rank, core in enumerate(lab.cores):
        core.submit(sum_of(arrays[rank], collective="all_reduce" if rank != 2 else "reduce"))
    exchange(lab)
    for core in lab.cores:
        assert core.failure == FAILED_MISMATCH
        assert {int(core.record["first_child"][0]), int(core.record["other_child"][0])} in ({0, 2}, {1, 2})
        assert core.record["first_hash"] != core.record["other_hash"]
        assert core.next_timer() == NEVER_NS
        with pytest.raises(JobFailed):
            core.submit(sum_of(arrays[0]))


def test_a_failed_core_reports_every_unfinished_operation_once() -> None:
    lab = lab_of(workers=2)
    core, arrays = lab.cores[0], [np.zeros(LANES, np.int32) for _ in range(3)]
    for array in arrays:
        core.submit(sum_of(array))
    core.fail(FAILED_BY_CALLER)
    core.fail(FAILED_BY_CALLER + 1)
    assert core.completions() == [(number, FAILED_BY_CALLER) for number in range(3)]
    assert core.transmit(0) == []
    assert not core.resume(2, 0, 0)


def test_waiting_names_the_missing_rank_and_probes_back_off_to_a_second() -> None:
    lab = lab_of(workers=3, window=8)
    values = [np.zeros(4 * LANES, np.int32) for _ in range(3)]
    for rank in (0, 2):
        lab.cores[rank].submit(sum_of(values[rank]))
    for rank in range(3):
        lab.pump(rank)
    while lab.now_ns < 20 * 10**9:
        assert lab.step()
    for rank in (0, 2):
        core = lab.cores[rank]
        assert core.missing(3) == [1]
        statistics = core.statistics()
        # two frames at a time: 20 s at 1 s, and the way there from 2 ms, two expiries at each of nine lengths
        assert 20 <= statistics["retransmissions_by_timeout"] <= 2 * (20 + 2 * 9)
        assert statistics["retransmissions_sent"] == statistics["retransmissions_by_timeout"]
    sent = lab.network.sent
    lab.cores[1].submit(sum_of(values[1]))
    exchange(lab)
    assert lab.finished == [1, 1, 1]
    assert lab.network.sent - sent < 40  # nobody had to ask again for what the late rank completed


def test_a_silent_aggregator_is_asked_less_and_less() -> None:
    lab = lab_of(workers=1, window=8)
    core, values = lab.cores[0], np.zeros(64 * LANES, np.int32)
    core.submit(sum_of(values))
    now_ns, times = 0, []
    while now_ns < 60 * 10**9:
        if core.transmit(now_ns):
            times.append(now_ns)
        now_ns = core.next_timer()
    gaps = np.diff(times)
    assert gaps[-1] == 10**9
    assert len(times) < 75


def test_resume_replays_the_same_bits_under_the_new_epoch() -> None:
    lab = make_lab(Schedule(lanes=LANES, window=4, corrupt=1e-9))
    core = lab.cores[0]
    values = np.arange(8 * LANES, dtype=np.float32)
    core.submit(sum_of(values, DType.FLOAT32))
    lab.cores[1].submit(sum_of(values.copy(), DType.FLOAT32))
    exchange(lab, rounds=12)
    before = {frame.header.chunk: frame for frame in frames_of(core, 10**12)}
    assert before
    lowest = core.freeze()
    assert core.transmit(2 * 10**12) == []
    assert core.resume(9, lowest, 2 * 10**12)
    after = {frame.header.chunk: frame for frame in frames_of(core, 2 * 10**12)}
    for chunk in before.keys() & after.keys():
        assert after[chunk].header == dataclasses.replace(before[chunk].header, epoch=9)
        assert (after[chunk].lanes == before[chunk].lanes).all()
    assert min(after) == lowest


def test_resuming_beyond_what_is_finished_or_kept_fails_the_job() -> None:
    for base in (1, -200):
        lab = lab_of(workers=1)
        core = lab.cores[0]
        core.freeze()
        assert not core.resume(2, base, 0)
        assert core.failure == FAILED_RETENTION


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (
            operation_of(OperationKind.SUM, DType.INT32, 4, exact=True),
            "only sums of floats can be exact, not SUM of int32",
        ),
        (operation_of(OperationKind.MIN, DType.FLOAT64, 4, Span(1, 0, 4)), "MIN and MAX of float64 need output memory"),
        (
            operation_of(OperationKind.MAX, DType.INT32, 4, average=True),
            "an average is a SUM that is divided, not a MAX",
        ),
        (operation_of(OperationKind.RAW, DType.UINT8, 4, Span(1, 2, 3)), "elements 2 to 5 of an operation of 4"),
        (operation_of(OperationKind.MIN, DType.INT64, 4, Span(1, 0, 4)), "scratch"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(operation: Operation, says: str) -> None:
    core = lab_of().cores[0]
    with pytest.raises(OperationRefused, match=says):
        core.submit(operation)
    assert core.transmit(0) == []


def test_no_more_operations_than_the_ring_holds() -> None:
    core = lab_of(workers=1).cores[0]
    array = np.zeros(0, np.int32)
    for _ in range(64):
        core.submit(sum_of(array))
    with pytest.raises(BlockingIOError):
        core.submit(sum_of(array))
    assert len(core.completions()) == 64  # operations without elements need no frames
    core.submit(sum_of(array))


SPECIALS = [1.5, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_every_pair_of_special_values_and_their_finite_neighbours(dtype: DType, in_place: bool, average: bool) -> None:
    lab = lab_of(workers=2, window=8)
    pairs = [(a, b) for a in SPECIALS for b in SPECIALS]
    numbers = [np.array([pair[rank] for pair in pairs] + [rank + 0.25] * 20, np.float32) for rank in range(2)]
    if dtype == DType.BFLOAT16:
        inputs = [(array.view(np.uint32) >> 16).astype(np.uint16) for array in numbers]
    else:
        inputs = [array.astype(np.float16 if dtype == DType.FLOAT16 else np.float32) for array in numbers]
    outputs = inputs if in_place else [np.full_like(array, 77) for array in inputs]
    for core, source, target in zip(lab.cores, inputs, outputs, strict=True):
        core.submit(sum_of(source, dtype, target, average=average))
    exchange(lab)
    assert lab.finished == [1, 1]
    with np.errstate(invalid="ignore"):
        expected = (numbers[0] + numbers[1]) / (2 if average else 1)
    for output in outputs:
        got = (
            (output.astype(np.uint32) << 16).view(np.float32) if dtype == DType.BFLOAT16 else output.astype(np.float32)
        )
        assert np.array_equal(got, expected, equal_nan=True)


def test_integer_valued_floats_of_64_workers_are_exact() -> None:
    lab = lab_of(workers=64, window=8)
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-(2**24) + 1, 2**24, 3 * LANES).astype(np.float32) for _ in range(64)]
    expected = np.sum([array.astype(np.int64) for array in inputs], axis=0).astype(np.float32)
    for core, array in zip(lab.cores, inputs, strict=True):
        core.submit(sum_of(array, DType.FLOAT32))
    exchange(lab, rounds=100_000)
    assert all((array == expected).all() for array in inputs)
