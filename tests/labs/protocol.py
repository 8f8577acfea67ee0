"""Worker cores and a reference aggregator in virtual time, joined by links that lose, repeat, delay, reorder, corrupt.

A ``Schedule`` is everything a run depends on; the same schedule is the same run. ``run`` returns what is wrong with it
(an empty string for nothing), ``shrink`` the smallest schedule it finds that is still wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from emulator.ports.spec import Impairments
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import Operation, OperationKind, Span, exact_lanes
from hostagent.protocol.quantizer.blocks import error_bound
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob
from hostagent.protocol.worker import CoreSettings
from tests.labs.links import NEVER_NS, Links
from tests.labs.worker_core import WorkerCore, operation_of
from tests.oracles.exact_sums import rounded_sum, same

JOB = 7
TICK_NS = 1_000_000
"""One way along an unimpaired link."""
NUMPY = {
    DType.FLOAT32: np.float32,
    DType.FLOAT16: np.float16,
    DType.BFLOAT16: np.uint16,
    DType.FLOAT64: np.float64,
    DType.INT8: np.int8,
    DType.UINT8: np.uint8,
    DType.INT16: np.int16,
    DType.INT32: np.int32,
    DType.INT64: np.int64,
    DType.BOOL: np.bool_,
}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A run: the job, the network, and the operations drawn from the seed."""

    seed: int = 0
    workers: int = 2
    window: int = 8
    lanes: int = 16
    operations: int = 1
    largest_chunks: int = 8
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    restarts: int = 0
    special: float = 0.0
    """Share of float operations with a NaN or Inf in them."""
    exact: float = 0.0
    """Share of float sums that are asked for exactly, where there are lanes for it."""
    base: int = 0
    delay_ticks: int = 1
    checksum: int = 0
    """1: frames have UDP checksums though nothing corrupts them."""
    resizes: int = 0
    """1: every epoch but the first draws a window, of at most ``window`` slots."""


@dataclass(slots=True)
class Collective:
    """One operation as all ranks submit it, with the result that must come."""

    kind: OperationKind
    dtype: DType
    elements: int
    average: bool
    inputs: list[np.ndarray[Any, Any]]
    outputs: list[np.ndarray[Any, Any]]
    input_ranges: list[tuple[int, int]]
    output_ranges: list[tuple[int, int]]
    exact: bool = False

    def of(self, rank: int) -> Operation:
        given, expected = self.input_ranges[rank], self.output_ranges[rank]
        return operation_of(
            self.kind,
            self.dtype,
            self.elements,
            Span(self.inputs[rank].ctypes.data, *given),
            Span(self.outputs[rank].ctypes.data, *expected),
            self.average,
            exact=self.exact,
        )


def draw_values(dtype: DType, count: int, rng: np.random.Generator, special: bool) -> np.ndarray[Any, Any]:
    """Random elements of a type; floats of one chunk spread over magnitudes, now and then NaN or Inf."""
    if dtype in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64):
        values: np.ndarray[Any, Any] = (rng.standard_normal(count) * 2.0 ** rng.integers(-8, 8)).astype(np.float32)
        if dtype == DType.FLOAT64:
            values = values * 2.0 ** rng.integers(-30, 30, count) * rng.standard_normal(count)
        values[rng.random(count) < 0.1] = 0
        if special and count:
            for value in rng.choice([np.nan, np.inf, -np.inf], rng.integers(1, 4)):
                values[rng.integers(count)] = value
        if dtype == DType.BFLOAT16:
            return (values.view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(NUMPY[dtype])
    if dtype == DType.BOOL:
        return rng.random(count) < 0.5
    limits = np.iinfo(NUMPY[dtype])
    return rng.integers(limits.min, limits.max, count, NUMPY[dtype], endpoint=True)


def draw_collective(schedule: Schedule, rng: np.random.Generator) -> Collective:
    """One operation at random."""
    kind = OperationKind(int(rng.choice([0, 0, 0, 1, 2, 3, 4])))
    dtypes = list(NUMPY)
    if kind in (OperationKind.SUM, OperationKind.MAX, OperationKind.MIN):
        dtypes = [dtype for dtype in dtypes if dtype != DType.BOOL]
        if kind == OperationKind.SUM and exact_lanes(DType.FLOAT64, schedule.workers) > schedule.lanes:
            dtypes.remove(DType.FLOAT64)
        if rng.random() < 0.4:
            dtypes = [DType.FLOAT32]
    dtype = dtypes[int(rng.integers(len(dtypes)))]
    elements = int(rng.integers(0, schedule.largest_chunks * schedule.lanes + 1))
    n = schedule.workers
    average = kind == OperationKind.SUM and rng.random() < 0.3
    exact = kind == OperationKind.SUM and dtype <= DType.FLOAT64 and exact_lanes(dtype, n) <= schedule.lanes
    exact = exact and rng.random() < schedule.exact
    cuts = [elements * rank // n for rank in range(n + 1)]
    segments = [(cuts[rank], cuts[rank + 1] - cuts[rank]) for rank in range(n)]
    whole, nothing = (0, elements), (0, 0)
    if kind == OperationKind.BARRIER:
        return Collective(kind, dtype, 0, False, [np.zeros(1)] * n, [np.zeros(1)] * n, [nothing] * n, [nothing] * n)
    root = int(rng.integers(n))
    only_root = [whole if rank == root else nothing for rank in range(n)]
    if kind == OperationKind.RAW:
        input_ranges, output_ranges = (segments if rng.random() < 0.5 else only_root), [whole] * n
    else:
        input_ranges, output_ranges = [whole] * n, [whole] * n
        if kind == OperationKind.SUM or dtype not in (DType.INT64, DType.FLOAT64):
            output_ranges = [output_ranges, segments, only_root][int(rng.integers(3))]
    special = rng.random() < schedule.special
    inputs = [draw_values(dtype, count, rng, special and rng.random() < 0.7) for _, count in input_ranges]
    in_place = input_ranges == output_ranges and rng.random() < 0.5
    outputs = [
        array.copy() if in_place else np.zeros(count, NUMPY[dtype])
        for array, (_, count) in zip(inputs, output_ranges, strict=True)
    ]
    collective = Collective(kind, dtype, elements, average, inputs, outputs, input_ranges, output_ranges, exact)
    if in_place:
        collective.inputs = outputs
    return collective


def as_float(values: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Float elements as float64."""
    if dtype == DType.BFLOAT16:
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def expected_whole(collective: Collective, inputs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The virtual tensor that must come: exact for all but float sums, which come as float64."""
    kind, dtype = collective.kind, collective.dtype
    if kind == OperationKind.RAW:
        whole: np.ndarray[Any, Any] = np.zeros(collective.elements, NUMPY[dtype])
        for values, (first, count) in zip(inputs, collective.input_ranges, strict=True):
            whole[first : first + count] = values
        return whole
    if dtype <= DType.FLOAT64:
        floats = np.array([as_float(values, dtype) for values in inputs])
        with np.errstate(invalid="ignore"):
            if kind == OperationKind.SUM:
                return floats.sum(0) / (len(inputs) if collective.average else 1)
            return np.maximum.reduce(floats) if kind == OperationKind.MAX else np.minimum.reduce(floats)
    stack = np.array(inputs)
    if kind == OperationKind.SUM:
        total = stack.sum(0, dtype=NUMPY[dtype])
        return truncated(total, len(inputs)) if collective.average else total
    return stack.max(0) if kind == OperationKind.MAX else stack.min(0)


def truncated(total: np.ndarray[Any, Any], divisor: int) -> np.ndarray[Any, Any]:
    """Integers divided by a positive number, in Python's integers, without the remainder."""
    quotients = [abs(value) // divisor * (-1 if value < 0 else 1) for value in total.tolist()]
    return np.array(quotients, total.dtype)


def what_is_wrong(collective: Collective, inputs: list[np.ndarray[Any, Any]], lanes: int) -> str:
    """Compare every rank's output with what must come, and the ranks with each other, bit by bit."""
    if collective.kind == OperationKind.BARRIER:
        return ""
    whole = expected_whole(collective, inputs)
    seen: np.ndarray[Any, Any] | None = None
    for rank, (first, count) in enumerate(collective.output_ranges):
        got = collective.outputs[rank]
        expected = whole[first : first + count]
        if is_float_sum(collective):
            problem = float_problem(collective, inputs, as_float(got, collective.dtype), first, count, lanes)
            if problem:
                return f"rank {rank}: {problem}"
        else:
            numbers = (
                as_float(got, collective.dtype)
                if collective.dtype <= DType.FLOAT64 and collective.kind != OperationKind.RAW
                else got
            )
            if not np.array_equal(numbers, expected, equal_nan=numbers.dtype.kind == "f"):
                return f"rank {rank}: got {numbers[:8]}, should be {expected[:8]}"
        if (first, count) == (0, collective.elements):
            if seen is not None and seen.tobytes() != got.tobytes():
                return f"rank {rank} has other bits than the rank before"
            seen = got
    return ""


def is_float_sum(collective: Collective) -> bool:
    return collective.kind == OperationKind.SUM and collective.dtype <= DType.FLOAT64


def float_problem(
    collective: Collective,
    inputs: list[np.ndarray[Any, Any]],
    got: np.ndarray[Any, Any],
    first: int,
    count: int,
    lanes: int,
) -> str:
    """Is each element within the stated bound, and NaN or Inf exactly where floating point says so?"""
    n, dtype = len(inputs), collective.dtype
    if collective.exact or dtype == DType.FLOAT64:
        return exact_problem(collective, inputs, got, first)
    floats = np.array([as_float(values, dtype) for values in inputs])
    with np.errstate(invalid="ignore"):
        exact = floats.sum(0)
    divisor = n if collective.average else 1
    half_digits = {DType.FLOAT32: 2.0**-24, DType.FLOAT16: 2.0**-11, DType.BFLOAT16: 2.0**-8}[dtype]
    smallest = {DType.FLOAT32: 2.0**-149, DType.FLOAT16: 2.0**-24, DType.BFLOAT16: 2.0**-133}[dtype]
    for element in range(first, first + count):
        chunk = slice(element // lanes * lanes, (element // lanes + 1) * lanes)
        finite = floats[:, chunk][np.isfinite(floats[:, chunk])]
        largest = float(np.abs(finite).max(initial=0))
        bound = error_bound(n, int(np.frexp(largest)[1])) / divisor if largest else 0.0
        value, result = exact[element] / divisor, got[element - first]
        if not np.isfinite(value):
            if not np.array_equal(result, value, equal_nan=True):
                return f"element {element} is {result}, should be {value}"
        elif np.isinf(result) and dtype == DType.FLOAT16 and abs(value) > 65000:
            continue
        elif not abs(result - value) <= bound + abs(value) * half_digits * 1.01 + smallest:
            return f"element {element} is {result}, should be {value} within {bound}"
    return ""


def exact_problem(
    collective: Collective, inputs: list[np.ndarray[Any, Any]], got: np.ndarray[Any, Any], first: int
) -> str:
    """Is each element the correctly rounded sum or average?"""
    dtype, divisor = collective.dtype, len(inputs) if collective.average else 1
    floats = np.array([as_float(values, dtype) for values in inputs])
    for element, result in enumerate(got.tolist(), first):
        wanted = rounded_sum(floats[:, element].tolist(), dtype, divisor)
        if not same(result, wanted):
            return f"element {element} is {result!r}, should be exactly {wanted!r}"
    return ""


@dataclass(slots=True)
class Lab:
    """All parts of one run."""

    schedule: Schedule
    network: Links
    """To a worker, or to the aggregator (-1 - sender)."""
    rng: random.Random
    aggregator: ReferenceAggregator
    job: ReferenceJob
    cores: list[WorkerCore]
    now_ns: int = 0
    finished: list[int] = field(default_factory=list)

    def pump(self, rank: int) -> None:
        """Send what a core wants to, note what it has finished."""
        for frame in self.cores[rank].transmit(self.now_ns):
            self.send(-1 - rank, frame)
        self.finished[rank] += len(self.cores[rank].completions())

    def step(self) -> bool:
        """On to the next arrival or timer; False when there is none."""
        timers = [core.next_timer() for core in self.cores]
        arrival = self.network.next_ns()
        next_ns = min(arrival, *timers)
        if next_ns >= NEVER_NS:
            return False
        self.now_ns = max(self.now_ns, next_ns)
        if arrival <= self.now_ns:
            self.deliver(*self.network.receive(self.now_ns))
        for rank, timer_ns in enumerate(timers):
            if timer_ns <= self.now_ns:
                self.pump(rank)
        return True

    def deliver(self, to: int, frame: bytes) -> None:
        """A frame has arrived."""
        if to >= 0:
            self.cores[to].receive(frame, self.now_ns)
            self.pump(to)
        else:
            for port, answer in self.aggregator.receive(-1 - to, frame):
                self.send(port, answer)

    def send(self, to: int, frame: bytes) -> None:
        """Put a frame on its cable."""
        self.network.send(to, frame, self.now_ns)


def impairments_of(schedule: Schedule) -> Impairments:
    """Of each direction of each worker's cable."""
    return Impairments(
        delay_ns=schedule.delay_ticks * TICK_NS,
        loss=schedule.loss,
        duplicate=schedule.duplicate,
        reorder=schedule.reorder,
        reorder_by_ns=10 * TICK_NS,
        corrupt=schedule.corrupt,
        seed=schedule.seed,
    )


def make_lab(schedule: Schedule, switch: tuple[int, int] = (0x020000FFFFFF, 0x0A0000FE)) -> Lab:
    """A fresh job of ``schedule.workers`` ranks under epoch 1, of an aggregator with these addresses."""
    checksum = schedule.corrupt > 0 or bool(schedule.checksum)
    children = tuple(
        ReferenceChild(rank, 0x020000000001 + rank, 0x0A000001 + rank, not checksum, checksum)
        for rank in range(schedule.workers)
    )
    job = ReferenceJob(
        1,
        schedule.window,
        children,
        schedule.base % 2**32,
        schedule.seed % 2 == 0,
        *switch,
    )
    cores = []
    for rank, child in enumerate(children):
        addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
        settings = CoreSettings(
            JOB,
            rank,
            schedule.workers,
            1,
            schedule.lanes,
            schedule.window,
            addresses,
            schedule.base,
            checksum,
            short_no_data=job.short_allowed,
            minimum_rto_ns=2 * TICK_NS,
            operation_ring=64,
        )
        cores.append(WorkerCore(settings))
    aggregator = ReferenceAggregator(schedule.lanes, {JOB: job})
    rng = random.Random(schedule.seed)
    return Lab(schedule, Links(impairments_of(schedule)), rng, aggregator, job, cores, finished=[0] * schedule.workers)


@dataclass(slots=True)
class Controller:
    """Restarts the aggregator at random moments and brings the ranks into a new epoch, one step at a time."""

    lab: Lab
    left: int
    plan: list[tuple[str, int]] = field(default_factory=list)
    lowest: list[int] = field(default_factory=list)
    base: int = 0
    epoch: int = 1
    is_installed: bool = False
    window: int = 0

    def __post_init__(self) -> None:
        self.window = self.lab.schedule.window

    def act(self) -> None:
        lab, rng = self.lab, self.lab.rng
        if self.left and rng.random() < 0.01:
            self.left -= 1
            installs = self.lose_state()
            ranks = range(len(lab.cores))
            self.lowest = []
            self.plan = [("freeze", rank) for rank in rng.sample(ranks, len(ranks))] + installs
            self.plan += [("resume", rank) for rank in rng.sample(ranks, len(ranks))]
        if not self.plan or rng.random() < 0.7:
            return
        what, number = self.plan.pop(0)
        if what == "freeze":
            self.lowest.append(lab.cores[number].freeze())
            self.is_installed = False
        elif what == "install":
            self.install(number, is_first=not self.is_installed)
            self.is_installed = True
        else:
            self.resume(number)

    def resume(self, rank: int) -> None:
        """A rank goes on in the new epoch."""
        if self.lab.schedule.resizes:
            self.lab.cores[rank].memory.set_window(self.window, 0)
        self.lab.cores[rank].resume(self.epoch, self.base, self.lab.now_ns)
        self.lab.pump(rank)

    def lose_state(self) -> list[tuple[str, int]]:
        """The aggregator forgets everything; the steps of the plan that install the job again."""
        self.lab.aggregator.restart()
        return [("install", 0)]

    def install(self, index: int, *, is_first: bool) -> None:
        """One step of installing the job; the first one begins an epoch."""
        self.epoch += 1
        self.base = min(self.lowest)
        if self.lab.schedule.resizes:
            self.window = 1 << self.lab.rng.randrange(self.lab.job.window.bit_length())
        job = replace(self.lab.job, epoch=self.epoch, base=self.base % 2**32, window=self.window)
        self.lab.aggregator.jobs[JOB] = job


def run(
    schedule: Schedule,
    *,
    largest_steps: int = 200_000,
    make: Callable[[Schedule], Lab] = make_lab,
    controlled_by: type[Controller] = Controller,
) -> str:
    """Play a schedule to its end; returns what is wrong, or an empty string."""
    rng = np.random.default_rng(schedule.seed)
    lab = make(schedule)
    collectives = [draw_collective(schedule, rng) for _ in range(schedule.operations)]
    inputs = [[array.copy() for array in collective.inputs] for collective in collectives]
    controller = controlled_by(lab, schedule.restarts)
    for rank, core in enumerate(lab.cores):
        for collective in collectives:
            core.submit(collective.of(rank))
        lab.pump(rank)
    for _ in range(largest_steps):
        done = all(count == schedule.operations for count in lab.finished)
        if done and not controller.plan:
            break
        if not lab.step() and not controller.plan:
            break
        controller.act()
    for rank, core in enumerate(lab.cores):
        if core.failure:
            return f"rank {rank} failed with code {core.failure}"
        if lab.finished[rank] != schedule.operations:
            return f"rank {rank} hangs: {lab.finished[rank]} of {schedule.operations} operations, {core.statistics()}"
    for number, collective in enumerate(collectives):
        if problem := what_is_wrong(collective, inputs[number], schedule.lanes):
            return (
                f"operation {number} ({collective.kind.name} {collective.dtype.name}, {collective.elements}): {problem}"
            )
    return ""


def shrink(schedule: Schedule, play: Callable[..., str] = run) -> Schedule:
    """Make every number of a failing schedule as small as it goes while it still fails."""
    least = {"workers": 1, "window": 1, "lanes": 4, "operations": 1, "largest_chunks": 1, "delay_ticks": 1}
    changed = True
    while changed:
        changed = False
        for item in fields(Schedule):
            value = getattr(schedule, item.name)
            floor = least.get(item.name, 0)
            if item.name == "seed" or value <= floor:
                continue
            for smaller in (floor, value // 2 if isinstance(value, int) else value / 2):
                candidate = replace(schedule, **{item.name: max(smaller, floor)})
                if candidate != schedule and play(candidate, largest_steps=50_000):
                    schedule, changed = candidate, True
                    break
    return schedule


def explain(schedule: Schedule, play: Callable[..., str] = run) -> str:
    """What a test prints for a schedule that fails."""
    smallest = shrink(schedule, play)
    return f"{schedule}: {play(schedule)}\nsmallest found: {smallest}: {play(smallest)}"
