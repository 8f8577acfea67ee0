"""A rack server's figures for Prometheus: by tenant, core and port.

Figures are taken when they are asked for; between scrapes nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from hostagent.rackserver.tenants.report import CoreFigures, Figures, PortFigures, TenantFigures

PREFIX = "netsum_rack_"

TakeFigures = Callable[[], Figures]


class RackCollector(Collector):
    """``take`` is called once a scrape, from the endpoint's thread."""

    def __init__(self, take: TakeFigures) -> None:
        self._take = take

    def collect(self) -> Iterator[Any]:
        """All families."""
        figures = self._take()
        yield from _tenants(figures.tenants)
        yield from _cores(figures.cores)
        yield from _ports(figures.ports)
        dropped = _counter("dropped_frames", "Frames that reached no slot set.", ["reason"])
        for reason, count in figures.drops.items():
            dropped.add_metric([reason], count)
        yield dropped
        unknown_services = _counter("unknown_services", "Refused jobs that name no service, or an unknown one.", [])
        unknown_services.add_metric([], figures.unknown_services)
        yield unknown_services
        if figures.between_racks:
            crossed = _counter("crossed_bytes", "Bytes of lanes sent to other racks' servers.", ["what"])
            for what in ("part", "total", "again"):
                crossed.add_metric([what], figures.between_racks[f"{what}_bytes"])
            yield crossed


def _counter(name: str, says: str, labels: list[str]) -> Any:
    return CounterMetricFamily(PREFIX + name, says, labels=labels)


def _gauge(name: str, says: str, labels: list[str]) -> Any:
    return GaugeMetricFamily(PREFIX + name, says, labels=labels)


def _tenants(tenants: Iterable[TenantFigures]) -> Iterator[Any]:
    frames = _counter(
        "contributions", "Contributions of a tenant, and messages forwarded, by verdict.", ["tenant", "verdict"]
    )
    bytes_of = _counter("contribution_bytes", "Bytes of these, whole frames.", ["tenant", "verdict"])
    refused = _counter("refused", "Refusals of a tenant, by reason.", ["tenant", "reason"])
    counters = {
        "steps_skipped": _counter("skipped_steps", "Steps skipped because a gradient was not finite.", ["tenant"]),
        "chunks_not_finite": _counter("not_finite_chunks", "Chunks with a NaN or an infinity.", ["tenant"]),
    }
    gauges = {
        "jobs": _gauge("jobs", "Jobs of a tenant.", ["tenant"]),
        "workers": _gauge("declared_workers", "Workers of the tenant's service.", ["tenant"]),
        "weight": _gauge("weight", "Weight of the tenant's share of the cores.", ["tenant"]),
        "keys": _gauge("keys", "Keys of the tenant.", ["tenant"]),
        "used_bytes": _gauge("memory_bytes", "Memory of the tenant's weights and state.", ["tenant"]),
        "quota_bytes": _gauge("memory_quota_bytes", "Memory quota of the tenant; 0 for none.", ["tenant"]),
        "step": _gauge("step", "Number of the tenant's last complete step.", ["tenant"]),
    }
    for tenant in tenants:
        for verdict, count in tenant.frames.items():
            frames.add_metric([tenant.name, verdict], count)
        for verdict, count in tenant.bytes.items():
            bytes_of.add_metric([tenant.name, verdict], count)
        for reason, count in tenant.refused.items():
            refused.add_metric([tenant.name, reason], count)
        for name, family in (*counters.items(), *gauges.items()):
            family.add_metric([tenant.name], getattr(tenant, name))
    yield from (frames, bytes_of, refused, *counters.values(), *gauges.values())


def _cores(cores: Iterable[CoreFigures]) -> Iterator[Any]:
    families = {
        "chunks": _counter("core_chunks", "Frames processed by a core.", ["core"]),
        "bytes": _counter("core_bytes", "Bytes of lanes summed by a core.", ["core"]),
        "steps": _counter("core_stepped_chunks", "Chunks stepped by a core's optimizers.", ["core"]),
        "busy_s": _counter("core_busy_seconds", "Time that a core spent in batches.", ["core"]),
        "step_s": _counter("core_optimizer_seconds", "Of that, in optimizers.", ["core"]),
        "owned_bytes": _gauge("core_owned_bytes", "Bytes of the keys that a core owns.", ["core"]),
    }
    for core in cores:
        for name, family in families.items():
            family.add_metric([str(core.core)], getattr(core, name))
    yield from families.values()


def _ports(ports: Iterable[PortFigures]) -> Iterator[Any]:
    families = {
        "frames_in": _counter("port_received_frames", "Frames received by a port.", ["port"]),
        "bytes_in": _counter("port_received_bytes", "Their bytes.", ["port"]),
        "frames_out": _counter("port_sent_frames", "Frames sent by a port.", ["port"]),
        "bytes_out": _counter("port_sent_bytes", "Their bytes.", ["port"]),
        "queued_out": _gauge("port_queued_frames", "Answers in a port's ring that the peer has not read.", ["port"]),
        "deepest_out": _gauge("port_deepest_queue_frames", "Maximum number of such answers so far.", ["port"]),
    }
    dropped = _counter("port_dropped_frames", "Dropped frames, by reason.", ["port", "reason"])
    dropped_bytes = _counter("port_dropped_bytes", "Dropped bytes outside of frames, by reason.", ["port", "reason"])
    for port in ports:
        for name, family in families.items():
            family.add_metric([str(port.port)], getattr(port, name))
        for reason, count in port.drops.items():
            family = dropped_bytes if reason.endswith("_bytes") else dropped
            family.add_metric([str(port.port), reason.removesuffix("_bytes")], count)
    yield from (*families.values(), dropped, dropped_bytes)
