"""The rack server: an aggregator of ours on the cores of one machine. Jobs in, frames in, frames out.

Without sockets or clocks; batches are compiled loops. With ``cores`` above 1 the sets are distributed over that many
cores: `process` alone then does their parts one after the other, a `ThreadPool` at once, with the same bits.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from emulator.native.calls import entry_address
from emulator.native.jit_cache import source_stamp
from emulator.native.loops_file import Entries, adopt_loops
from emulator.native.object_code import ObjectCodeError
from emulator.native.pages import address_of, aligned_bytes, reserved_bytes
from emulator.ports.batch import FrameBatch, TxPortTable
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.services.aggregator import (
    DROPS,
    VERDICTS,
    AggregatorRefused,
    Capacity,
    ChildTerms,
    JobCounters,
    JobTerms,
    RefusalCode,
)
from hostagent.protocol.wire import FLAG_NO_DATA, LANES_AT, Header, Kind
from hostagent.rackserver import thread_pool
from hostagent.rackserver.frames.answers import answer
from hostagent.rackserver.frames.lanes import combine
from hostagent.rackserver.frames.leaf import send_up, take_parent_frame
from hostagent.rackserver.frames.tx_slots import RUNS
from hostagent.rackserver.hierarchy.memory import TIER_ENTRIES, TierMemory, Traffic, totals_for
from hostagent.rackserver.hierarchy.routes import RACK_IP, RACK_MAC, Place
from hostagent.rackserver.process_batch import process
from hostagent.rackserver.records import (
    CHILD,
    COUNTERS,
    HEAD_BYTES,
    HEADER_STRIDE,
    JOB,
    JOB_NUMBERS,
    MAX_CHILDREN,
    MAX_JOBS,
    MOST_PICKED,
    PENDING,
    PENDING_BYTES,
    SERVER,
    SET,
    SHORT_HEADER_AT,
    block_log2_of,
)
from hostagent.rackserver.services.checkpoint import CheckpointError
from hostagent.rackserver.services.optimizer_step import step_chunk
from hostagent.rackserver.services.served import (
    add_resync_state,
    add_transferred_state,
    complete_control,
    complete_data,
    data_owner,
    release_core,
)
from hostagent.rackserver.services.service_memory import NO_JOB, ServiceMemory
from hostagent.rackserver.tenants.fair_queueing import FairQueues
from hostagent.rackserver.tenants.tenants import Registry

SERVICE_ENTRIES = {
    "data_owner": data_owner,
    "complete_data": complete_data,
    "complete_control": complete_control,
    "release_core": release_core,
    "step_chunk": step_chunk,
    "add_resync_state": add_resync_state,
    "add_transferred_state": add_transferred_state,
}
"""Called through ``compiled_calls``, compiled when the first service comes."""
LEAF_ENTRIES = {"send_up": send_up, "take_parent_frame": take_parent_frame}
"""The same, when the first job with a parent comes."""
DEFAULT_SLOTS = 4096
SCRATCH_ROWS = 4
"""Frames' worth of private memory of a core: an answer's words, a gradient, and room."""


class RackServer:
    """A `CompiledAggregator`. ``slots`` slots of ``lanes`` lanes for all jobs together, divided among
    ``cores`` cores."""

    kind = "server"

    def __init__(
        self,
        lanes: int,
        *,
        slots: int = DEFAULT_SLOTS,
        cores: int = 1,
        ports: TxPortTable | None = None,
        registry: Registry | None = None,
        restore: Callable[[str, ServiceMemory], None] | None = None,
        place: Place | None = None,
    ) -> None:
        """``registry``: the tenants, and the memory that they may use together. ``restore``: called with the name and
        the memory of every service when its first job comes. ``place``: among servers of other racks."""
        adopt_server_loops()
        if cores < 1 or slots < 1:
            raise ValueError(f"a rack server of {cores} cores and {slots} slots: use 1 or more of each")
        self.ports = ports if ports is not None else TxPortTable()
        self.cores = cores
        self.capacity = Capacity(slots, lanes, MAX_JOBS, forwards_messages=True, serves_parents=True)
        self._terms: dict[int, JobTerms] = {}
        self._rows: dict[int, int] = {}
        self.registry = registry if registry is not None else Registry()
        self._services: dict[str, ServiceMemory] = {}
        self._memory = np.array([self.registry.memory_bytes or default_memory_bytes(), 0], np.int64)
        """Bytes that all services may take together, and that they have taken."""
        self._restore = restore
        self._restored: set[str] = set()
        self.place = place
        self._tiers: dict[int, TierMemory] = {}
        self._crossed = Traffic()
        """Traffic between racks of jobs that have ended."""
        self._totals: Any = None
        self._allocate()

    def _allocate(self) -> None:
        lanes, slots = self.capacity.lanes, self.capacity.slots
        self._job_rows = np.full(JOB_NUMBERS, -1, np.int16)
        self._jobs: Any = aligned_bytes(MAX_JOBS * JOB.itemsize).view(JOB)
        self._children: Any = aligned_bytes(MAX_JOBS * MAX_CHILDREN * CHILD.itemsize).view(CHILD)
        self._children = self._children.reshape(MAX_JOBS, MAX_CHILDREN)
        self._children["number"] = -1
        self._headers = aligned_bytes(MAX_JOBS * MAX_CHILDREN * HEADER_STRIDE)
        self._sets: Any = reserved_bytes(2 * slots * SET.itemsize).view(SET)
        self._sums = reserved_bytes(2 * slots * 4 * lanes)
        self._counters: Any = reserved_bytes(self.cores * COUNTERS.itemsize).view(COUNTERS)
        self.record: Any = aligned_bytes(SERVER.itemsize).view(SERVER)
        record = self.record
        record["address"] = self.address = address_of(record)
        record["lanes"], record["slots"], record["cores"] = lanes, slots, self.cores
        for name in ("job_rows", "jobs", "children", "headers", "sets", "sums", "counters"):
            record[name] = address_of(getattr(self, f"_{name}"))
        record["counter_bytes"] = COUNTERS.itemsize
        record["tx"] = self.ports.address
        self._heads = reserved_bytes(self.cores * MAX_JOBS * MAX_CHILDREN * HEAD_BYTES)
        self._heads_of_row = self._heads.reshape(self.cores, MAX_JOBS, MAX_CHILDREN * HEAD_BYTES)
        record["heads"], record["heads_bytes"] = address_of(self._heads), MAX_JOBS * MAX_CHILDREN * HEAD_BYTES
        self._scratch = aligned_bytes(self.cores * SCRATCH_ROWS * 4 * lanes)
        record["scratch"], record["scratch_bytes"] = address_of(self._scratch), SCRATCH_ROWS * 4 * lanes
        self._pending = aligned_bytes(self.cores * PENDING_BYTES)
        for first in range(0, len(self._pending), PENDING_BYTES):
            self._pending[first : first + PENDING.itemsize].view(PENDING)["address"] = address_of(self._pending[first:])
        record["pending"], record["pending_bytes"] = address_of(self._pending), PENDING_BYTES
        record["answer"], record["combine"] = entry_address(answer), entry_address(combine)
        self._runs, self._loads = aligned_bytes(self.cores * RUNS.itemsize), np.zeros(self.cores, np.int64)
        self._picked = np.zeros((self.cores, MOST_PICKED), np.int32)
        for name in ("runs", "loads", "picked"):
            record[name] = address_of(getattr(self, f"_{name}"))
        self.fair_queues = FairQueues()

    # --- Jobs -------------------------------------------------------------------------------------------------------

    def install(self, terms: JobTerms) -> None:
        """See `Aggregator`."""
        self._check(terms)
        tier = self._make_tier(terms)
        if terms.parent is not None:
            self._bind(LEAF_ENTRIES)
        service = self._admit(terms)
        row = self._rows.get(terms.job)
        if row is None:
            row = min(set(range(MAX_JOBS)) - set(self._rows.values()))
            self._clear_counters(row)
        self._job_rows[terms.job] = -1
        self._write_children(row, terms, tier)
        self._write_job(row, terms)
        self._jobs[row]["tier"] = tier.address if tier is not None else 0
        self._keep_tier(terms.job, tier)
        self._jobs[row]["service"] = 0
        if service is not None:
            service.attach(terms, row % self.cores, self.place.rack if self.place is not None else 0)
            self._restore_once(terms.job, service)
            self._jobs[row]["service"] = service.address
        self._rows[terms.job] = row
        self._terms[terms.job] = terms
        self._job_rows[terms.job] = row
        self._arrange_shares()

    def _arrange_shares(self) -> None:
        """Update the tenants among which the cores are shared. A job without a service is a tenant of weight 1."""
        tenants: dict[object, tuple[int, set[int]]] = {}
        for job, terms in self._terms.items():
            tenant = self.registry.of_job(job)
            name, weight = (tenant.name, tenant.weight) if tenant is not None else (job, 1)
            children = [*terms.children, *(terms.parent.children() if terms.parent is not None else ())]
            tenants.setdefault(name, (weight, set()))[1].update(child.port for child in children)
        self.record["fair_queues"] = self.fair_queues.address if self.fair_queues.arrange(tenants.values()) > 1 else 0

    def _make_tier(self, terms: JobTerms) -> TierMemory | None:
        if terms.spread is None:
            return None
        if terms.service is not None and self._totals is None:
            self._totals = totals_for(self.capacity.slots, self.capacity.lanes)
        tier = TierMemory(terms, self.place, self.cores, self._totals if terms.service is not None else None)
        self._bind(TIER_ENTRIES)
        return tier

    def _bind(self, entries: Mapping[str, Any]) -> None:
        for name, address in compile_entries(entries).items():
            self.record[name] = address

    def _keep_tier(self, job: int, tier: TierMemory | None) -> None:
        """Traffic is counted over epochs."""
        before = self._tiers.pop(job, None)
        if before is not None and tier is not None:
            tier.traffic_records[:] = before.traffic_records
        elif before is not None:
            self._crossed = self._crossed.with_more(before.traffic())
        if tier is not None:
            self._tiers[job] = tier

    def crossed(self) -> Traffic:
        """What all jobs have sent to other racks since the server's start."""
        total = self._crossed
        for tier in self._tiers.values():
            total = total.with_more(tier.traffic())
        return total

    def traffic(self, job: int) -> Traffic:
        """What a job has sent to other racks; nothing where it is of this one alone."""
        return self._tiers[job].traffic() if job in self._tiers else Traffic()

    def _check(self, terms: JobTerms) -> None:
        if terms.lanes != self.capacity.lanes:
            raise AggregatorRefused(
                f"job {terms.job}: requests {terms.lanes} lanes per frame, but the server has {self.capacity.lanes}"
            )
        first, end = terms.first_slot, terms.first_slot + terms.window
        if end > self.capacity.slots:
            raise AggregatorRefused(
                f"job {terms.job}: requests slots {first}-{end - 1}, but the server has {self.capacity.slots}"
            )
        for job, other in self._terms.items():
            if job != terms.job and first < other.first_slot + other.window and other.first_slot < end:
                raise AggregatorRefused(f"job {terms.job}: slots {first} to {end - 1} overlap with those of job {job}")
        if terms.job not in self._rows and len(self._rows) == MAX_JOBS:
            raise AggregatorRefused(f"job {terms.job}: {MAX_JOBS} jobs are the maximum", RefusalCode.EXHAUSTED)

    def _admit(self, terms: JobTerms) -> ServiceMemory | None:
        """The service of a job that has one; an older job of the same service then only sums."""
        if terms.service is None:
            self.registry.check_open(terms.job)
            return None
        tenant = self.registry.admit(terms.job, terms.service, terms.workers)
        service = self._services.get(tenant.name)
        if service is None:
            self._bind(SERVICE_ENTRIES)
            service = ServiceMemory(self.record[0], tenant.quota_bytes, self._memory, address_of(self._loads))
            self._services[tenant.name] = service
        for job, row in self._rows.items():
            if job != terms.job and self._jobs[row]["service"] == service.address:
                self._jobs[row]["service"] = 0
                self._heads_of_row[:, row] = 0
        return service

    def _restore_once(self, job: int, service: ServiceMemory) -> None:
        tenant = self.registry.of_job(job)
        assert tenant is not None, "a job with a service was admitted"
        if self._restore is None or tenant.name in self._restored:
            return
        try:
            self._restore(tenant.name, service)
        except CheckpointError as error:
            self._services.pop(tenant.name).release()
            self.registry.leave(job)
            raise AggregatorRefused(f"tenant {tenant.name!r}: {error}", RefusalCode.EXHAUSTED) from error
        self._restored.add(tenant.name)

    def _leave(self, job: int) -> None:
        """What the job has left unfinished is undone when the service's next job comes."""
        tenant = self.registry.of_job(job)
        if tenant is not None and self._services[tenant.name].job == job:
            self._services[tenant.name].job = NO_JOB
        self.registry.leave(job, self.counters(job))

    def service(self, name: str) -> ServiceMemory:
        """A tenant's memory. Raises AggregatorRefused(UNKNOWN)."""
        if name not in self._services:
            raise AggregatorRefused(f"tenant {name!r} has no memory here", RefusalCode.UNKNOWN)
        return self._services[name]

    def services(self) -> list[tuple[str, ServiceMemory]]:
        """All tenants' memories, by name; from any thread."""
        return list(self._services.items())

    def _write_children(self, row: int, terms: JobTerms, tier: TierMemory | None) -> None:
        self._children[row]["number"] = -1
        self._heads_of_row[:, row] = 0  # who was accepted before may not be now
        for child in terms.children:
            self._write_child(row, terms, child, child.child, (terms.aggregator_mac, terms.aggregator_ip))
        if (parent := terms.parent) is not None:
            for worker in parent.children():
                self._write_child(row, terms, worker, worker.child, (parent.own_mac, parent.own_ip))
        if tier is not None:
            assert self.place is not None
            for rack in tier.children():  # between racks, frames name their sender
                self._write_child(row, terms, rack, tier.own, (RACK_MAC | self.place.rack, RACK_IP | self.place.rack))

    def _write_child(self, row: int, terms: JobTerms, child: ChildTerms, named: int, source: tuple[int, int]) -> None:
        record = self._children[row, child.bit]
        for name in ("port", "mac", "ip", "zero_checksum_allowed"):
            record[name] = getattr(child, name)
        record["number"], record["mask"] = child.child, np.uint64(child.mask).astype(np.int64)
        start = (row * MAX_CHILDREN + child.bit) * HEADER_STRIDE
        ends = Addresses(source[0], child.mac, source[1], child.ip)
        for offset, lanes in ((0, terms.lanes), (SHORT_HEADER_AT, 0)):
            header = np.frombuffer(_answer_header(terms, ends, named, lanes), np.uint8)
            self._headers[start + offset : start + offset + LANES_AT] = header

    def _write_job(self, row: int, terms: JobTerms) -> None:
        record = self._jobs[row]
        for name in ("job", "epoch", "base", "window", "first_slot"):
            record[name] = getattr(terms, name)
        record["address"], record["row"] = address_of(self._jobs[row:]), row
        elsewhere = terms.parent.elsewhere if terms.parent is not None else 0
        bitmaps = np.array([terms.full, terms.copies, elsewhere], np.uint64).view(np.int64)
        record["full"], record["copies"], record["elsewhere"] = bitmaps
        record["short_allowed"] = terms.no_data_short
        record["block_log2"] = block_log2_of(terms.lanes, terms.window)
        record["home"] = row % self.cores

    def remove(self, job: int) -> None:
        """See `Aggregator`."""
        if job in self._rows:
            self._job_rows[job] = -1
            self._jobs[self._rows[job]]["service"] = 0
            self._leave(job)
            del self._rows[job], self._terms[job]
            self._keep_tier(job, None)
            self._arrange_shares()

    def installed(self) -> Mapping[int, int]:
        """See `Aggregator`."""
        return {job: terms.epoch for job, terms in self._terms.items()}

    def forget_sets(self) -> None:
        """All sets are empty again, as after a start; for benchmarks that play the same frames twice."""
        self._sets[:] = 0

    # --- Frames -----------------------------------------------------------------------------------------------------

    @property
    def program_address(self) -> int:
        """See `CompiledAggregator`."""
        return entry_address(process)

    @property
    def context_address(self) -> int:
        """See `CompiledAggregator`."""
        return self.address

    @property
    def allowances_address(self) -> int:
        """See `CompiledAggregator`."""
        return address_of(self.fair_queues.allowances)

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """See `Aggregator`."""
        due = process(self.address, *batch.record[0].tolist()[:3], batch.count, now_ns)
        return None if due < 0 else int(due)

    # --- What is counted --------------------------------------------------------------------------------------------

    def _clear_counters(self, row: int) -> None:
        self._counters["verdicts"][:, row] = 0
        self._counters["verdict_bytes"][:, row] = 0

    def counters(self, job: int) -> JobCounters:
        """See `Aggregator`."""
        if job not in self._rows:
            raise AggregatorRefused(f"there is no job {job}", RefusalCode.UNKNOWN)
        row = self._rows[job]
        frames = self._counters["verdicts"][:, row].sum(axis=0)
        bytes_of = self._counters["verdict_bytes"][:, row].sum(axis=0)
        children = {child.child: _named(frames[child.bit]) for child in self._terms[job].children}
        return JobCounters(_named(frames.sum(axis=0)), _named(bytes_of), children)

    def drops(self) -> Mapping[str, int]:
        """See `Aggregator`."""
        totals = self._counters["drops"].sum(axis=0)
        return {name: int(count) for name, count in zip(DROPS, totals, strict=True) if count}

    def statistics(self) -> dict[str, object]:
        """Figures by core: frames, bytes of lanes summed, time in batches."""
        names = ("frames", "lane_bytes", "busy_ns", "steps", "steps_ns")
        cores = [{name: int(record[name]) for name in names} for record in self._counters]
        for record, owned in zip(cores, self._loads, strict=True):
            record["owned_bytes"] = int(owned)
        statistics = {
            "cores": cores,
            "slots": self.capacity.slots,
            "lanes": self.capacity.lanes,
            "jobs": len(self._rows),
        }
        if self.place is None:
            return statistics
        return {**statistics, "rack": self.place.rack, "between_racks": asdict(self.crossed())}


def entries() -> Entries:
    """What the live loop, the threads and Python call by name, and what is called by its address."""
    named = (process, thread_pool.follow, thread_pool.stop)
    addressed = (answer, combine, *SERVICE_ENTRIES.values(), *TIER_ENTRIES.values(), *LEAF_ENTRIES.values())
    return [(function, len(inspect.signature(function).parameters)) for function in (*named, *addressed)]


@functools.cache
def adopt_server_loops() -> None:
    """From now on this process needs no numba to serve; where that cannot be, it loads numba as ever."""
    with suppress(OSError, ObjectCodeError):
        adopt_loops("server-loops", source_stamp(__file__), entries())


def compile_entries(entries: Mapping[str, Any]) -> dict[str, int]:
    """Addresses of functions by their field of the SERVER record. The first time takes a while."""
    return {name: entry_address(function) for name, function in entries.items()}


def default_memory_bytes() -> int:
    """Default memory limit of all services together: half of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _named(cells: Any) -> dict[str, int]:
    return {name: int(cells[number]) for number, name in enumerate(VERDICTS) if cells[number]}


def _answer_header(terms: JobTerms, ends: Addresses, child: int, lanes: int) -> bytes:
    """The first bytes of what goes there; kind, operator, chunk and operation are filled in each time."""
    flags = 0 if lanes else FLAG_NO_DATA
    header = Header(Kind.RESULT, terms.job, child, terms.epoch, 0, 0, flags=flags)
    return build_frame(Frame(ends, header, np.zeros(lanes, np.uint32)))[:LANES_AT]
