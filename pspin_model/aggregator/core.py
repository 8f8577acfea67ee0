"""`PspinAggregator`: the protocol's frames in and out of a simulated PsPIN switch.

Its time is the frames' time, 1 ns a cycle: a frame is offered to the machine at the cycle of its ``now_ns``, and an
answer leaves at the cycle at which the machine has sent it. Live, where simulating takes longer than the cycles it
simulates, answers leave at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch, TxPortTable, frame_at
from hostagent.protocol.services.aggregator import (
    DROPS,
    MOST_CHILDREN,
    VERDICTS,
    AggregatorRefused,
    Capacity,
    ChildTerms,
    JobCounters,
    JobTerms,
    RefusalCode,
)
from hostagent.protocol.wire import LANES_AT
from pspin_model.aggregator.contribute import contribute
from pspin_model.aggregator.headers import answer_header
from pspin_model.aggregator.layout import (
    HEADER_STRIDE_BYTES,
    J_WORDS,
    MEMORY_BYTES,
    MOST_JOBS,
    P_BYTES,
    P_EPOCH_DROPS,
    P_FRAMES,
    P_HEADERS,
    P_JOBS,
    P_LANES,
    P_MASKS,
    P_OUT_BYTES,
    P_PLACE_BYTES,
    P_PLACES,
    P_PORTS,
    SHORT_HEADER_AT,
    WORD_BYTES,
    place_bytes,
)
from pspin_model.aggregator.matching import RULE, RULE_WORDS, match_batch, set_checksum
from pspin_model.aggregator.records import Totals
from pspin_model.machine.config import MachineConfig
from pspin_model.machine.costs import RTL_COSTS, CostTable
from pspin_model.machine.machine import Machine, Run

JOB_NUMBERS = 1 << 16
LARGEST_BATCH = 4096
CACHE_LINE_BYTES = 64
MOST_CYCLES = 1 << 38
"""Cycles at which a machine's clock begins again, after some minutes of a job: it counts to 2**39."""


def machine_for(lanes: int) -> MachineConfig:
    """PsPIN as built, but for the largest packet: a frame of the protocol."""
    return MachineConfig(max_packet_bytes=max(2048, LANES_AT + 4 * lanes))


class PspinAggregator:
    """See `hostagent.protocol.services.aggregator.Aggregator`. As many of ``slots`` as the L1s have room for."""

    kind = "pspin"

    def __init__(
        self,
        *,
        lanes: int,
        slots: int,
        ports: TxPortTable | None = None,
        config: MachineConfig | None = None,
        costs: CostTable = RTL_COSTS,
    ) -> None:
        self.ports = ports if ports is not None else TxPortTable()
        self.config = config or machine_for(lanes)
        self._frame_bytes = LANES_AT + 4 * lanes
        self.capacity = Capacity(
            min(slots, self._room(lanes)), lanes, MOST_JOBS, forwards_messages=True, serves_parents=True
        )
        self._terms: dict[int, JobTerms] = {}
        self._rows: dict[int, int] = {}
        self._costs = costs
        self._make_machine()
        self._rules: NDArray[np.int64] = np.zeros((1, RULE_WORDS), np.int64)
        self._heads = np.full((JOB_NUMBERS, 2), -1, np.int64)
        self._drops = np.zeros(len(DROPS), np.int64)
        self._tags = np.zeros(LARGEST_BATCH, np.int64)
        self._start_ns: int | None = None
        self._waiting: list[tuple[int, int, int, bytes]] = []
        """Answers not due yet: (ns, number, port, frame)."""
        self._sent = 0
        self.totals = Totals(self.config, lanes)
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile or load what runs with frames, rather than when the first one waits."""
        batch, frame = FrameBatch(1), np.zeros(LANES_AT, np.uint8)
        match_batch(batch.record_address, 0, self._rules, self._heads, self._drops, self._tags)
        set_checksum(address_of(frame), len(frame))
        self.machine.run()

    def _out_bytes(self) -> int:
        return -(-self._frame_bytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES

    def _room(self, lanes: int) -> int:
        """Slots, of two sets each, that fit next to the cores' buffers."""
        left = self.config.scratchpad_bytes - self.config.cores * self._out_bytes()
        sets = left // place_bytes(lanes) * self.config.clusters
        if sets < 2:
            raise AggregatorRefused(f"a set of {lanes} lanes doesn't fit into the L1 of a cluster; use fewer lanes")
        return sets // 2

    def _make_machine(self) -> None:
        size, clusters = place_bytes(self.capacity.lanes), self.config.clusters
        sets = 2 * self.capacity.slots
        places = -(-sets // clusters)
        self.machine = Machine(self.config, self._costs)
        self._context = self.machine.context(
            "aggregator",
            payload=contribute,
            scratchpad_bytes=places * size + self.config.cores * self._out_bytes(),
            handler_memory_bytes=MEMORY_BYTES,
            locks=sets,
        )
        self._words: NDArray[np.int64] = self._context.handler_memory.view(np.int64)
        self._words[P_LANES], self._words[P_PLACE_BYTES] = self.capacity.lanes, size
        self._words[P_PLACES], self._words[P_OUT_BYTES] = places, self._out_bytes()
        self._frames = self._counters(P_FRAMES, MOST_JOBS, MOST_CHILDREN, len(VERDICTS))
        self._bytes = self._counters(P_BYTES, MOST_JOBS, len(VERDICTS))
        headers = self._context.handler_memory[P_HEADERS * WORD_BYTES :]
        self._headers = headers[: MOST_JOBS * MOST_CHILDREN * HEADER_STRIDE_BYTES].reshape(
            MOST_JOBS, MOST_CHILDREN, HEADER_STRIDE_BYTES
        )

    def _begin_again(self, cycle: int) -> None:
        """Go on with a machine that begins at a cycle of the one so far, which is idle, with its memories."""
        old = self._context
        self.totals.begin_again(cycle)
        self._make_machine()
        self._context.scratchpads[:] = old.scratchpads
        self._context.handler_memory[:] = old.handler_memory
        assert self._start_ns is not None
        self._start_ns += cycle

    def _counters(self, first: int, *shape: int) -> NDArray[np.int64]:
        return self._words[first : first + int(np.prod(shape))].reshape(shape)

    # --- Jobs -------------------------------------------------------------------------------------------------------

    def install(self, terms: JobTerms) -> None:
        """See `Aggregator`."""
        self._check(terms)
        row = self._rows.get(terms.job)
        if row is None:
            row = min(set(range(MOST_JOBS)) - set(self._rows.values()))
            self._frames[row], self._bytes[row] = 0, 0
        self._rows[terms.job], self._terms[terms.job] = row, terms
        at = P_JOBS + row * J_WORDS
        highest = max(child.bit for child in terms.children) + 1
        elsewhere, up = (terms.parent.elsewhere, min(terms.parent.workers)) if terms.parent is not None else (0, -1)
        bitmaps = [_signed(bitmap) for bitmap in (terms.full, terms.copies, elsewhere)]
        parameters = (terms.epoch, terms.base, terms.window, *bitmaps[:2], highest, bitmaps[2], up)
        self._words[at : at + len(parameters)] = parameters
        for child in terms.children:
            self._write_child(row, terms, child)
        if (parent := terms.parent) is not None:
            towards = replace(terms, aggregator_mac=parent.own_mac, aggregator_ip=parent.own_ip)
            for worker in parent.children():
                self._write_child(row, towards, worker)
        self._write_rules()

    def _write_child(self, row: int, terms: JobTerms, child: ChildTerms) -> None:
        self._words[P_PORTS + row * MOST_CHILDREN + child.bit] = child.port
        self._words[P_MASKS + row * MOST_CHILDREN + child.bit] = _signed(child.mask)
        for at, is_short in ((0, False), (SHORT_HEADER_AT, True)):
            self._headers[row, child.bit, at : at + LANES_AT] = answer_header(terms, child, is_short=is_short)

    def _check(self, terms: JobTerms) -> None:
        if terms.service is not None:
            raise AggregatorRefused(f"job {terms.job}: a switch keeps no weights; use the rack server for services")
        if terms.lanes != self.capacity.lanes:
            text = f"job {terms.job}: requests {terms.lanes} lanes per frame, but the switch has {self.capacity.lanes}"
            raise AggregatorRefused(text)
        first, end = terms.first_slot, terms.first_slot + terms.window
        if end > self.capacity.slots:
            text = f"job {terms.job}: requests slots {first}-{end - 1}, but the switch has {self.capacity.slots}"
            raise AggregatorRefused(text)
        others = [other for other in self._terms.values() if other.job != terms.job]
        for other in others:
            if first < other.first_slot + other.window and other.first_slot < end:
                raise AggregatorRefused(f"job {terms.job}: its slots overlap with those of job {other.job}")
        if len(others) == MOST_JOBS:
            raise AggregatorRefused(
                f"job {terms.job}: {MOST_JOBS} jobs are all that fit; remove one", RefusalCode.EXHAUSTED
            )

    def _write_rules(self) -> None:
        self._heads[:] = -1
        rules: list[tuple[int, ...]] = []
        for job, terms in self._terms.items():
            first = len(rules)
            rules += [_rule(terms, child, self._rows[job], is_elsewhere=False) for child in terms.children]
            if terms.parent is not None:  # last, so that the last rule says whether there is a parent
                above = terms.parent.children()
                rules += [_rule(terms, worker, self._rows[job], is_elsewhere=True) for worker in above]
            self._heads[job] = first, len(rules)
        self._rules = np.array(rules or [(0,) * RULE_WORDS], np.int64)

    def remove(self, job: int) -> None:
        """See `Aggregator`."""
        if self._terms.pop(job, None) is not None:
            del self._rows[job]
            self._write_rules()

    def installed(self) -> Mapping[int, int]:
        """See `Aggregator`."""
        return {job: terms.epoch for job, terms in self._terms.items()}

    # --- What it has counted ----------------------------------------------------------------------------------------

    def counters(self, job: int) -> JobCounters:
        """See `Aggregator`."""
        if job not in self._terms:
            raise AggregatorRefused(f"there is no job {job}", RefusalCode.UNKNOWN)
        row, terms = self._rows[job], self._terms[job]
        children = {child.child: _named(VERDICTS, self._frames[row, child.bit]) for child in terms.children}
        return JobCounters(
            _named(VERDICTS, self._frames[row].sum(axis=0)), _named(VERDICTS, self._bytes[row]), children
        )

    def drops(self) -> Mapping[str, int]:
        """See `Aggregator`."""
        self._drops[DROPS.index("epoch")] = self._words[P_EPOCH_DROPS]
        return _named(DROPS, self._drops)

    def statistics(self) -> dict[str, object]:
        """See `Aggregator`; `records.Totals` says what."""
        return self.totals.report(self.machine.now)

    # --- Frames -----------------------------------------------------------------------------------------------------

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """See `Aggregator`."""
        if self._start_ns is None:
            self._start_ns = now_ns
        if batch.count:
            cycle = max(now_ns - self._start_ns, self.machine.now)
            if cycle > MOST_CYCLES:
                self._begin_again(cycle)
                cycle = 0
            self._offer(batch, cycle)
            run = self.machine.run()
            self.totals.add(run)
            self._keep(run, self._start_ns)
        while self._waiting and self._waiting[0][0] <= now_ns:
            _, _, port, frame = heapq.heappop(self._waiting)
            self.ports.append(port, frame)
        return self._waiting[0][0] if self._waiting else None

    def _offer(self, batch: FrameBatch, cycle: int) -> None:
        """Give the machine the frames that match a rule, each to the cores of its set's cluster."""
        if batch.count > len(self._tags):
            self._tags = np.zeros(batch.count, np.int64)
        lanes = self.capacity.lanes
        match_batch(batch.record_address, lanes, self._rules, self._heads, self._drops, self._tags)
        places = np.flatnonzero(self._tags[: batch.count] >= 0)
        if not len(places):
            return
        tags = self._tags[places]
        sets = tags >> 16
        first = sets % self.config.clusters * self.config.cores
        self.machine.inject(
            self._context,
            messages=sets,
            data=[frame_at(int(batch.address[i]), int(batch.length_bytes[i])) for i in places],
            at=cycle,
            tags=tags,
            sources=batch.port[places].astype(np.int64),
            cores=np.stack([first, np.full(len(first), self.config.cores)], axis=1),
        )

    def _keep(self, run: Run, start_ns: int) -> None:
        """Put aside what the machine has sent, with the checksums that the interface adds."""
        for index, cycle in enumerate(run.sent["cycle"]):
            frame = run.payload(index)
            if run.sent["tag"][index]:
                frame = frame.copy()
                set_checksum(address_of(frame), len(frame))
            self._sent += 1
            entry = (start_ns + int(cycle), self._sent, int(run.sent["port"][index]), frame.tobytes())
            heapq.heappush(self._waiting, entry)


def _rule(terms: JobTerms, child: ChildTerms, row: int, *, is_elsewhere: bool) -> tuple[int, ...]:
    """Words of a rule, in the order of `RULE`."""
    fields = {
        "job": terms.job,
        "child": child.child,
        "bit": child.bit,
        "row": row,
        "port": child.port,
        "mac": child.mac,
        "ip": child.ip,
        "zero_allowed": int(child.zero_checksum_allowed),
        "first_slot": terms.first_slot,
        "window": terms.window,
        "short_allowed": int(terms.no_data_short),
        "used": 1,
        "elsewhere": int(is_elsewhere),
    }
    assert RULE.names is not None
    return tuple(fields[name] for name in RULE.names)


def _named(names: tuple[str, ...], values: NDArray[np.int64]) -> dict[str, int]:
    return {name: int(value) for name, value in zip(names, values, strict=True) if value}


def _signed(bitmap: int) -> int:
    """64 bits as two's complement."""
    return bitmap - (1 << 64) if bitmap >> 63 else bitmap
