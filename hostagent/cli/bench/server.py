"""``netsum bench server``: the rack server's core next to its baselines, and a training step next to DDP on gloo.

The core is measured in this process only. Workers are rings: contributions of a whole tensor are ready in the pools of
memory ports (the cables of shared memory, with both ends here), so the server reads what no cache holds and writes the
cells that a host would read.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.opening import cable_for
from emulator.ports.spec import parse_port
from hostagent.cli.bench.ranks import run_in_turn
from hostagent.cli.bench.runner import Report, Row
from hostagent.cli.bench.server_loops import PER_WORKER, make_frames, play, play_ready, step_by, sum_tall, sum_wide
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.services.aggregator import ChildTerms, JobTerms
from hostagent.protocol.wire import Header, Kind, full_frame_bytes
from hostagent.rackserver.core import RackServer, adopt_server_loops
from hostagent.rackserver.processors import processors_for
from hostagent.rackserver.services.records import KEY
from hostagent.rackserver.thread_pool import ThreadPool

MAC, IP = 0x020000FFFFFF, 0x0A0000FE
WINDOW_LOG2 = 7
"""128 slots, what the launcher leases for up to four ranks."""
LEAST_LANES = 256
ROUNDS, STEP_ROUNDS = 5, 2


def measure(tensor_bytes: int = 100_000_000, ranks: int = 4, parameters: int = 25_000_000, steps: int = 5) -> Report:
    """All rows. ``parameters`` 0 leaves the training step out. Raises BenchError."""
    rows = [
        sum_row(tensor_bytes),
        sum_row(tensor_bytes, 1024),
        *scaling_rows(tensor_bytes),
        *scaling_rows(tensor_bytes, 1024),
        tall_row(tensor_bytes),
        tenants_row(tensor_bytes),
        chunks_row(tensor_bytes),
    ]
    adopt_server_loops()  # here, because the servers that are started below have to be ready within a time
    if parameters:
        rows += step_rows(ranks, parameters, steps)
    return Report("server", "rack server, best round of each", rows)


def _row(name: str, ours_s: float, peer: str, peer_s: float, tensor_bytes: int, note: str = "") -> Row:
    """Seconds of the best round of ours and of what it is compared with."""
    gb_s = tensor_bytes / ours_s / 1e9
    note = "; ".join(filter(None, (f"{gb_s:.2f} GB/s of tensor", note)))
    return Row(name, 1e3 * ours_s, "ms", peer, 1e3 * peer_s, note, {"gb_s": gb_s})


class Rig:
    """A server, and workers of several jobs with a tensor ready to send."""

    def __init__(self, lanes: int, workers: int, jobs: int, tensor_bytes: int, cores: int) -> None:
        self.length = full_frame_bytes(lanes)
        self.frames = max(PER_WORKER, tensor_bytes // (4 * lanes))
        self.workers, self.jobs = workers, jobs
        self.server = RackServer(lanes, slots=jobs << WINDOW_LOG2, cores=cores, ports=TxPortTable())
        self._batch = FrameBatch(PER_WORKER * workers * jobs)
        self._records = np.zeros((workers * jobs, 3), np.int64)
        self._ports: list[MemoryPort] = []
        self.epoch = 0
        for number in range(workers * jobs):
            self._add_worker(number, lanes)

    def _add_worker(self, number: int, lanes: int) -> None:
        stride = (self.length + 63) // 64 * 64
        pool_bytes = ((self.frames + 1) * stride + (1 << 21)) >> 20 << 20
        geometry = replace(cable_for(self.length), pool_bytes=pool_bytes)
        port = MemoryPort(parse_port(f"{number}=memory:bench"), self.server.ports, geometry=geometry)
        pool = port.host.frame_pool(self.frames, stride)
        self.stride = pool.stride_bytes
        self._records[number] = port.address, port.host.address, pool.address
        self._ports.append(port)
        job, child = divmod(number, self.workers)
        header = Header(Kind.CONTRIBUTION, job + 1, child, 1, 0, 9, lanes=lanes)
        addresses = Addresses(0x020000000001 + number, MAC, 0x0A000001 + number, IP)
        template = np.frombuffer(build_frame(Frame(addresses, header, np.zeros(lanes, np.uint32))), np.uint8)
        make_frames(pool.address, pool.stride_bytes, self.frames, address_of(template), self.length)

    def _install(self) -> None:
        """Install the jobs again, for another round with the same frames; the sets are empty then."""
        self.server.forget_sets()
        for job in range(self.jobs):
            children = tuple(
                ChildTerms(bit, bit, number, 0x020000000001 + number, 0x0A000001 + number)
                for bit, number in enumerate(range(job * self.workers, (job + 1) * self.workers))
            )
            place = (job + 1, 1, 0, WINDOW_LOG2, job << WINDOW_LOG2, self.server.capacity.lanes, children)
            self.server.install(JobTerms(*place, MAC, IP))

    def seconds(self, *, only_copy: bool = False, clock: Callable[[], float] = time.thread_time) -> float:
        """One round of all tensors. Raises RuntimeError where answers are missing.

        Nothing here sleeps, so one core's CPU time is what it takes where no other process is in its way; with more
        cores the caller also waits for the others, so ``time.perf_counter`` is needed.
        """
        self._install()
        count = self.workers * self.jobs
        place = (address_of(self._records), count, self.frames, self.stride, self.length, self._batch.record_address)
        started = clock()
        answers = play(*self._program(only_copy), *place)
        seconds = clock() - started
        if answers != count * self.frames:
            raise RuntimeError(f"the server gave {answers} of {count * self.frames} answers")
        return seconds

    def _program(self, only_copy: bool) -> tuple[int, int]:
        """What is called with each batch: the server's program, or 0 for a copy, and what it is called with."""
        if only_copy:
            return 0, self.server.ports.address
        return self.server.program_address, self.server.context_address

    def own_seconds(self) -> float:
        """One round of the server's own work alone, by the clock on the wall. Raises RuntimeError as `seconds`."""
        self._install()
        before = self._completed()
        started = time.perf_counter()
        self._play_ready(0, self.workers * self.jobs, self._batch, only_copy=False)
        seconds = time.perf_counter() - started
        if self._completed() - before != self.jobs * self.frames:
            raise RuntimeError("the server has not summed all chunks")
        return seconds

    def copy_seconds(self, processors: Sequence[int]) -> float:
        """As `own_seconds`, of a copy of the same frames by a thread on each processor, for a part of the workers."""
        ends = [number * self.workers * self.jobs // len(processors) for number in range(len(processors) + 1)]
        batches = [FrameBatch(self._batch.capacity) for _ in processors]

        def part(number: int) -> None:
            self._play_ready(ends[number], ends[number + 1], batches[number], only_copy=True)

        return timed_threads(processors, part)

    def _completed(self) -> int:
        return sum(self.server.counters(job + 1).frames.get("completed", 0) for job in range(self.jobs))

    def _play_ready(self, first: int, end: int, batch: FrameBatch, *, only_copy: bool) -> None:
        sizes = (self.frames, self.stride, self.length, batch.record_address)
        play_ready(*self._program(only_copy), address_of(self._records), first, end, *sizes)


@contextmanager
def staying_on(processors: Iterable[int]) -> Iterator[None]:
    """This thread, on these processors meanwhile."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def timed_threads(processors: Sequence[int], part: Callable[[int], object]) -> float:
    """Seconds until ``part`` of 0 (here), 1, ... are done, each on its processor."""

    def pinned(number: int) -> None:
        with staying_on({processors[number]}):
            part(number)

    threads = [threading.Thread(target=pinned, args=(number,)) for number in range(1, len(processors))]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    pinned(0)
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def processors_of(cores: int) -> list[int]:
    """As a server's cores are pinned; where there are fewer processors than cores, any."""
    usual = sorted(os.sched_getaffinity(0))
    return processors_for(cores) or [usual[core % len(usual)] for core in range(cores)]


def best(*measures: Callable[[], float], rounds: int = ROUNDS) -> list[float]:
    """The best of several rounds of each, in turn, so that all see the same machine; a first round warms up."""
    times = [[measure() for measure in measures] for _ in range(1 + rounds)]
    return [min(column) for column in zip(*times[1:], strict=True)]


def sum_row(tensor_bytes: int, lanes: int = LEAST_LANES, workers: int = 4) -> Row:
    """A sum of several workers' tensors on one core, against a copy of the same frames over the same rings.

    The copy is the bound: of n workers' tensors of M bytes, n M have to be read, from where the workers wrote them, and
    n M to be written, a result for each worker. It moves just that, by memcpy, and nothing else.
    """
    rig = Rig(lanes, workers, 1, tensor_bytes, 1)
    ours, copying = best(rig.seconds, lambda: rig.seconds(only_copy=True))
    note = f"{2 * workers * tensor_bytes / ours / 1e9:.1f} of {2 * workers * tensor_bytes / copying / 1e9:.1f} GB/s"
    name = f"sum, {workers} workers, {lanes} lanes"
    return _row(name, ours, "copy of the same frames", copying, tensor_bytes, note)


def scaling_rows(tensor_bytes: int, lanes: int = LEAST_LANES, workers: int = 4) -> list[Row]:
    """The same sum on two cores, against one; by the clock on the wall, for both cores' time counts.

    First the server's own work: workers' frames are in memory, nobody takes the answers, and the thread pool does not
    try whether one core is faster. Its bound is measured too: how much faster two threads copy the same frames than
    one, each those of half of the workers. Then the thread pool as it is, and the workers' ends on the caller's core
    before and after each batch. Rounds are short and many: after a batch that another process delays, the pool uses
    one core.
    """
    processors, tensor_bytes = processors_of(2), tensor_bytes // 5
    one, two = (Rig(lanes, workers, 1, tensor_bytes, cores) for cores in (1, 2))
    with ThreadPool(two.server, pin=True) as thread_pool, staying_on(processors[:1]):

        def together() -> float:
            thread_pool.stay_together()
            return two.own_seconds()

        copies = [partial(one.copy_seconds, processors[:count]) for count in (2, 1)]
        ours, peer, copy_two, copy_one = best(together, one.own_seconds, *copies, rounds=5 * ROUNDS)
        both, alone = best(*(partial(rig.seconds, clock=time.perf_counter) for rig in (two, one)), rounds=5 * ROUNDS)
    name = f"{workers} workers, {lanes} lanes, 2 cores"
    note = f"a copy of the same frames {copy_one / copy_two:.2f}x"
    return [
        _row(f"own work for {name}", ours, "1 core", peer, tensor_bytes, note),
        _row(f"sum, {name}", both, "1 core", alone, tensor_bytes, "workers' ends on one of the cores"),
    ]


def tenants_row(tensor_bytes: int, tenants: int = 8, lanes: int = LEAST_LANES, workers: int = 2) -> Row:
    """Eight tenants at once, against one tenant with as much to sum as all of them: how much more than its share of
    that time does a tenant wait?

    Compared is the CPU time of one core for the same frames, each side with the batches of the live loop (64 frames of
    each port) and every tenant with the window that one alone has. So eight tenants have eight times the sets, rings
    and cells, 4.5 MB and not 0.55, where a core's own cache may hold the one's but not the eight's, and a batch
    of theirs has eight times the frames. Part of what that costs is the memory's: a plain copy of the same frames, from
    the same rings to the same cells, shows it, too.
    """
    many, one = Rig(lanes, workers, tenants, tensor_bytes // tenants, 1), Rig(lanes, workers, 1, tensor_bytes, 1)
    copies = [partial(rig.seconds, only_copy=True) for rig in (many, one)]
    # rounds are short: in few of them a burst of others' work may leave one side without a quiet one
    ours, peer, copy_many, copy_one = best(many.seconds, one.seconds, *copies, rounds=3 * ROUNDS)
    note = (
        f"{100 * (ours / peer - 1):+.1f} % of a tenant's fair share (a copy {100 * (copy_many / copy_one - 1):+.1f} %)"
    )
    return _row(f"{tenants} tenants", ours, "1 tenant with all of it", peer, tensor_bytes, note)


def tall_row(tensor_bytes: int, arrays: int = 4, cores: int = 2, block: int = 8192) -> Row:
    """Blocks to cores (tall), against all cores on each array of each block (wide). Plain loops without frames.

    An array is a block's of 32 KB, as the published server's are; the note has wide on the lanes of one frame.
    """
    count = tensor_bytes // 4 // block * block
    sources = [np.ones(count, ">i4") for _ in range(arrays)]
    target = np.zeros(count, np.int32)
    barrier: Any = aligned_bytes(64).view(np.int64)
    processors = processors_of(cores)

    def timed(function: Any, lanes: int, *more: int) -> float:
        barrier[0] = 0
        table = np.array([*(address_of(source) for source in sources), count // lanes], np.int64)
        given = (address_of(target), address_of(table), arrays, lanes)
        return timed_threads(processors, lambda core: function(*given, core, cores, *more))

    wide = partial(timed, sum_wide)
    tall_s, wide_s, frames_s = best(
        lambda: timed(sum_tall, block),
        lambda: wide(block, address_of(barrier)),
        lambda: wide(LEAST_LANES, address_of(barrier)),
    )
    note = f"{frames_s / tall_s:.2f}x of wide on {LEAST_LANES} lanes at a time"
    return _row(f"tall, {arrays} arrays, {cores} cores", tall_s, "wide", wide_s, tensor_bytes, note)


def chunks_row(tensor_bytes: int, chunk: int = LEAST_LANES, block: int = 8192) -> Row:
    """Adam on each chunk as soon as it is complete, against on whole blocks of 32 KB: plain loops, one core."""
    count = tensor_bytes // 4 // block * block
    tensors = [np.ones(count, np.float32) for _ in range(7)]
    lanes, *buffers = (address_of(tensor) for tensor in tensors)
    table = np.array(buffers, np.int64)
    gradient, answers = aligned_bytes(4 * block), aligned_bytes(16 * block)
    key: Any = aligned_bytes(KEY.itemsize).view(KEY)
    key["fresh"], key["fresh2"], key["beta2"], key["eps"], key["correction"] = 0.1, 0.001, 0.999, 1e-8, 1.0
    key["step_size"], key["keep"] = -1e-3, 1.0

    def timed(together: int) -> float:
        sizes = np.array([count, chunk, together], np.int64)
        started = time.thread_time()
        step_by(lanes, *map(address_of, (table, gradient, answers, key, sizes)))
        return time.thread_time() - started

    by_chunk, by_block = best(partial(timed, chunk), partial(timed, block))
    return _row(f"Adam by chunks of {chunk}", by_chunk, "by blocks of 32 KB", by_block, tensor_bytes)


PEERS = {
    "gloo_fused": "gloo allreduce and a local fused Adam",
    "gloo": "gloo allreduce and torch's default Adam, a loop",
}
"""What a training step on the rack server is compared with, by the backend of `ranks`."""


def step_rows(ranks: int, parameters: int, steps: int) -> list[Row]:
    """One training step's gradients and optimizer, against gloo with either of torch's Adams; the better median of each
    counts. One thread a rank on all sides; gloo's frames go by TCP, ours by shared memory.

    CPU time is in the note: with other work on the machine it is the fairer figure.
    """
    launches: dict[str, list[str] | None] = {**dict.fromkeys(PEERS), "rack": ["--aggregator", "server"]}
    runs = run_in_turn("step", ranks, STEP_ROUNDS, launches, parameters=parameters, steps=steps)
    medians = {backend: min(run["median_s"] for run in found) for backend, found in runs.items()}
    cpu = {backend: min((run["cpu_s"] for run in found), key=_total) for backend, found in runs.items()}
    gb_s = 4 * parameters / medians["rack"] / 1e9
    rows = []
    for peer, said in PEERS.items():
        note = (
            f"{gb_s:.2f} GB/s; communication and optimizer only; CPU time {1e3 * _total(cpu['rack']):.0f} ms (server "
            f"{1e3 * cpu['rack']['server']:.0f}) against {1e3 * _total(cpu[peer]):.0f}"
        )
        name = f"Adam step, {parameters / 1e6:g} M parameters, {ranks} ranks"
        details = {"gb_s": gb_s, "runs": {backend: runs[backend] for backend in ("rack", peer)}}
        rows.append(Row(name, 1e3 * medians["rack"], "ms", said, 1e3 * medians[peer], note, details))
    return rows


def _total(cpu: dict[str, float]) -> float:
    return sum(cpu.values())
