"""The reference aggregator as a core of our own service: slow, obvious, and what other cores are compared with.

`netsum aggregator core:hostagent.cli.aggregators.reference_core:ReferenceCore` runs it in a process.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ports.batch import FrameBatch, TxPortTable
from hostagent.protocol.counters import Verdict
from hostagent.protocol.frames import parse_frame
from hostagent.protocol.reference import ReferenceAggregator, ReferenceChild, ReferenceJob, ReferenceParent
from hostagent.protocol.services.aggregator import (
    AggregatorRefused,
    Capacity,
    JobCounters,
    JobTerms,
    RefusalCode,
)
from hostagent.protocol.wire import WireError


class ReferenceCore:
    """See `Aggregator`."""

    kind = "reference"

    def __init__(self, *, lanes: int, slots: int, ports: TxPortTable) -> None:
        self.ports = ports
        self.capacity = Capacity(slots, lanes, jobs=8, forwards_messages=True, serves_parents=True)
        self.rule = ReferenceAggregator(lanes)
        self.calls = 0
        self._terms: dict[int, JobTerms] = {}
        self._children: dict[tuple[int, int], dict[str, int]] = {}
        self._frames: dict[int, dict[str, int]] = {}
        self._bytes: dict[int, dict[str, int]] = {}

    def install(self, terms: JobTerms) -> None:
        if terms.service is not None:
            raise AggregatorRefused(f"job {terms.job}: no services here")
        end = terms.first_slot + terms.window
        if end > self.capacity.slots:
            raise AggregatorRefused(f"job {terms.job}: slots up to {end} of {self.capacity.slots}")
        if len(self._terms) == self.capacity.jobs and terms.job not in self._terms:
            raise AggregatorRefused("no room for a further job", RefusalCode.EXHAUSTED)
        children = tuple(
            ReferenceChild(
                child.port,
                child.mac,
                child.ip,
                child.zero_checksum_allowed,
                not child.zero_checksum_allowed,
                tuple(other.child for other in terms.children if other.mask == child.mask),
                child.mask,
            )
            for child in sorted(terms.children, key=lambda child: child.bit)
            if terms.copies >> child.bit & 1
        )
        self.rule.jobs[terms.job] = ReferenceJob(
            epoch=terms.epoch,
            window=terms.window,
            children=children,
            base=terms.base,
            short_allowed=terms.no_data_short,
            switch_mac=terms.aggregator_mac,
            switch_ip=terms.aggregator_ip,
            parent=ReferenceParent.of(terms.parent),
        )
        self._terms[terms.job] = terms

    def remove(self, job: int) -> None:
        self._terms.pop(job, None)
        self.rule.jobs.pop(job, None)
        self.rule.verdicts = {key: count for key, count in self.rule.verdicts.items() if key[0] != job}
        self.rule.sets = {place: held for place, held in self.rule.sets.items() if place[0] != job}
        for counted in (self._frames, self._bytes):
            counted.pop(job, None)
        self._children = {key: counted for key, counted in self._children.items() if key[0] != job}

    def installed(self) -> Mapping[int, int]:
        return {job: terms.epoch for job, terms in self._terms.items()}

    def counters(self, job: int) -> JobCounters:
        if job not in self._terms:
            raise AggregatorRefused(f"there is no job {job}", RefusalCode.UNKNOWN)
        children = {child: counted for (number, child), counted in self._children.items() if number == job}
        return JobCounters(self._frames.get(job, {}), self._bytes.get(job, {}), children)

    def drops(self) -> Mapping[str, int]:
        return {reason.name.lower(): count for reason, count in self.rule.drops.items()}

    def statistics(self) -> dict[str, object]:
        return {"batches": self.calls, "summary": [f"{self.calls} batches"]}

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        self.calls += 1
        for port, frame in batch.frames():
            before = dict(self.rule.verdicts)
            for to, answer in self.rule.receive(port, frame):
                self.ports.append(to, answer)
            self._count(frame, before)
        return None

    def _count(self, frame: bytes, before: Mapping[tuple[int, Verdict], int]) -> None:
        """Puts the verdicts that a frame got into the counters of its job and child."""
        for (job, verdict), count in self.rule.verdicts.items():
            if count == before.get((job, verdict), 0):
                continue
            try:
                child = parse_frame(frame, at_destination=False).header.child
            except WireError:
                return
            name = verdict.name.lower()
            for counted in (self._frames.setdefault(job, {}), self._children.setdefault((job, child), {})):
                counted[name] = counted.get(name, 0) + 1
            lengths = self._bytes.setdefault(job, {})
            lengths[name] = lengths.get(name, 0) + len(frame)
