"""Figures of a rack server: by tenant, core and port; as JSON, as a table, for Prometheus."""

from __future__ import annotations

import io

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from emulator.ports.batch import TxPortTable
from hostagent.cli.rack.report import print_report
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms, ServiceTerms
from hostagent.protocol.wire import Header, Kind
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.hierarchy.embedded_aggregator import Inside
from hostagent.rackserver.tenants.metrics import RackCollector
from hostagent.rackserver.tenants.report import CoreFigures, Figures, PortFigures, TenantFigures, figures_of, imbalance
from hostagent.rackserver.tenants.tenants import Registry

LANES = 64
FIGURES = Figures(
    tenants=(
        TenantFigures("red", 4, 2, 1, 7, 1000, 5000, 42, 3, 5, {"accepted": 90}, {"accepted": 9000}, {"nonce": 2}),
        TenantFigures("", jobs=1, frames={"accepted": 10}, bytes={"accepted": 1000}),
    ),
    cores=(CoreFigures(0, 60, 6000, 700, 0.009, 30, 0.003), CoreFigures(1, 40, 4000, 300, 0.004, 0, 0.0)),
    ports=(
        PortFigures(1, 50, 5000, 20, 2000, 3, 7, {"ring_full": 4}),
        PortFigures(2, 50, 5000, 20, 6000, 0, 0, {}),
    ),
    drops={"epoch": 6},
    unknown_services=1,
)


def test_balance_is_the_largest_over_the_mean() -> None:
    told = FIGURES.as_json()
    assert told["balance"] == {
        "core_bytes": 1.2,
        "core_chunks": 1.2,
        "core_owned_bytes": 1.4,
        "port_bytes_in": 1.0,
        "port_bytes_out": 1.5,
    }
    assert told["cores"][0]["aggregation_ns_per_chunk"] == 100_000
    assert told["cores"][0]["optimizer_ns_per_chunk"] == 100_000
    assert told["cores"][1]["optimizer_ns_per_chunk"] == 0
    assert imbalance([]) == imbalance([0, 0]) == 1


def test_the_report_names_what_was_lost_and_who_was_refused() -> None:
    out = io.StringIO()
    print_report(FIGURES.as_json(), out)
    for words in ("red", "1,000 of 5,000", "(only sums)", "4 ring_full", "6 epoch", "1 for no such service", "1.4"):
        assert words in out.getvalue()


def test_metrics_carry_their_tenant_core_or_port() -> None:
    registry = CollectorRegistry()
    registry.register(RackCollector(lambda: FIGURES))
    lines = generate_latest(registry).decode().splitlines()
    for line in (
        'netsum_rack_contributions_total{tenant="red",verdict="accepted"} 90.0',
        'netsum_rack_contributions_total{tenant="",verdict="accepted"} 10.0',
        'netsum_rack_refused_total{reason="nonce",tenant="red"} 2.0',
        'netsum_rack_memory_bytes{tenant="red"} 1000.0',
        'netsum_rack_step{tenant="red"} 42.0',
        'netsum_rack_skipped_steps_total{tenant="red"} 3.0',
        'netsum_rack_core_optimizer_seconds_total{core="0"} 0.003',
        'netsum_rack_port_queued_frames{port="1"} 3.0',
        'netsum_rack_port_deepest_queue_frames{port="1"} 7.0',
        'netsum_rack_port_dropped_frames_total{port="1",reason="ring_full"} 4.0',
        'netsum_rack_dropped_frames_total{reason="epoch"} 6.0',
        "netsum_rack_unknown_services_total 1.0",
    ):
        assert line in lines


class Rig:
    """A server with one job of a tenant, whose two children are at ports 1 and 2, and one that only sums."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.inside = Inside(self._make)
        for job, service in ((1, ServiceTerms("red", b"n", 2)), (2, None)):
            self.server.install(self.terms(job, service))
        for port in (1, 2):
            self.inside.provide(port)

    def _make(self, table: TxPortTable) -> RackServer:
        self.server = RackServer(LANES, slots=32, cores=2, ports=table, registry=self.registry)
        return self.server

    def terms(self, job: int, service: ServiceTerms | None) -> JobTerms:
        children = tuple(ChildTerms(n, n, 1 + n, 0x0200 + n, 0x0A00_0000 + n) for n in range(2))
        return JobTerms(job, 7, 0, 2, 4 * job, LANES, children, 0x02AA, 0x0A00_00AA, True, service)

    def contribute(self, job: int, chunks: int) -> None:
        frames = []
        for chunk in range(chunks):
            for child in range(2):
                ends = Addresses(0x0200 + child, 0x02AA, 0x0A00_0000 + child, 0x0A00_00AA)
                header = Header(Kind.CONTRIBUTION, job, child, 7, chunk, 5)
                frames.append((1 + child, build_frame(Frame(ends, header, np.ones(LANES, np.uint32)))))
        self.inside.process(frames, 0)


def test_figures_count_each_tenants_frames_beyond_its_jobs_end() -> None:
    rig = Rig()
    rig.contribute(1, 6)
    rig.contribute(2, 4)
    rig.inside.process([(1, b"nothing")], 0)
    with pytest.raises(AggregatorRefused):
        rig.server.install(rig.terms(3, ServiceTerms("red", b"another", 2)))
    figures = figures_of(rig.server)
    red, plain = figures.tenants
    assert (red.name, red.workers, red.jobs, red.frames["accepted"], red.frames["completed"]) == ("red", 2, 1, 12, 6)
    assert (plain.name, plain.jobs, plain.frames["accepted"]) == ("", 1, 8)
    assert red.refused == {"nonce": 1}
    assert sum(core.chunks for core in figures.cores) >= 20
    assert figures.drops == {"not_ours": 1}
    rig.server.remove(1)
    rig.server.install(rig.terms(4, ServiceTerms("red", b"n", 2)))
    rig.server.remove(2)
    (red, plain) = figures_of(rig.server).tenants
    assert red.frames["accepted"] == 12
    assert (plain.name, plain.jobs, plain.frames["accepted"]) == ("", 0, 8)


def test_a_closed_server_takes_no_job_without_a_service() -> None:
    registry = Registry(closed=True)
    server = RackServer(LANES, slots=32, registry=registry)
    child = ChildTerms(0, 0, 1, 0x0200, 0x0A00_0000)
    with pytest.raises(AggregatorRefused, match="job 2 has no service, and this server accepts only its --serv"):
        server.install(JobTerms(2, 7, 0, 2, 0, LANES, (child,), 0x02AA, 0x0A00_00AA))
    assert server.installed() == {}
    assert registry.unknown_services == 1
