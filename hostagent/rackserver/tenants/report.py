"""Figures of a rack server by tenant, core and port, and how even the load is. Plain numbers for JSON.

The metrics (`metrics`), `netsum server --report` and the service's statistics report them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from emulator.ports.port import SwitchPort
from hostagent.protocol.counters import Verdict
from hostagent.protocol.services.aggregator import AggregatorRefused
from hostagent.rackserver.core import RackServer
from hostagent.rackserver.services.service_memory import ServiceMemory
from hostagent.rackserver.tenants.tenants import Refused, Registry, Tenant

NO_TENANT = ""
"""Jobs without a service, which only sum, are together one tenant without a name."""


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """One tenant. Totals go on over its jobs."""

    name: str
    workers: int = 0
    weight: int = 1
    jobs: int = 0
    keys: int = 0
    used_bytes: int = 0
    quota_bytes: int = 0
    """0: none."""
    step: int = 0
    """Number of the last completed step; 0: none, or no weights here."""
    steps_skipped: int = 0
    chunks_not_finite: int = 0
    frames: Mapping[str, int] = field(default_factory=dict)
    """Contributions, and messages between its workers (`forwarded`), by verdict."""
    bytes: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    """Rejections by reason."""


@dataclass(frozen=True, slots=True)
class CoreFigures:
    """One core."""

    core: int
    chunks: int
    """Frames that it took."""
    bytes: int
    """Bytes of lanes summed."""
    owned_bytes: int
    """Bytes of the services' keys that it owns."""
    busy_s: float
    steps: int
    """Chunks stepped by an optimizer."""
    step_s: float

    @property
    def aggregation_ns_per_chunk(self) -> float:
        return 1e9 * (self.busy_s - self.step_s) / self.chunks if self.chunks else 0.0

    @property
    def optimizer_ns_per_chunk(self) -> float:
        return 1e9 * self.step_s / self.steps if self.steps else 0.0


@dataclass(frozen=True, slots=True)
class PortFigures:
    """One port."""

    port: int
    frames_in: int
    bytes_in: int
    frames_out: int
    bytes_out: int
    queued_out: int
    """Answers that the peer has not taken yet."""
    deepest_out: int
    """Maximum of ``queued_out``, sampled many times per second; 0: not sampled."""
    drops: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """All of it, at one moment."""

    tenants: tuple[TenantFigures, ...]
    cores: tuple[CoreFigures, ...]
    ports: tuple[PortFigures, ...]
    drops: Mapping[str, int]
    """Frames that reached no set, by reason."""
    unknown_services: int
    """Jobs refused because there is no such service."""
    between_racks: Mapping[str, int] = field(default_factory=dict)
    """Traffic to other racks' servers, as `Traffic`; empty for a single server."""
    peer_ports: tuple[int, ...] = ()
    """Ports to other racks' servers, which are not part of the balance."""

    def as_json(self) -> dict[str, Any]:
        """The figures as JSON values, with the derived ones."""
        values = asdict(self)
        for core, record in zip(self.cores, values["cores"], strict=True):
            record["aggregation_ns_per_chunk"] = round(core.aggregation_ns_per_chunk, 1)
            record["optimizer_ns_per_chunk"] = round(core.optimizer_ns_per_chunk, 1)
        ports = [port for port in self.ports if port.port not in self.peer_ports]
        values["balance"] = {
            "core_bytes": imbalance(core.bytes for core in self.cores),
            "core_chunks": imbalance(core.chunks for core in self.cores),
            "core_owned_bytes": imbalance(core.owned_bytes for core in self.cores),
            "port_bytes_in": imbalance(port.bytes_in for port in ports),
            "port_bytes_out": imbalance(port.bytes_out for port in ports),
        }
        return values


def imbalance(loads: Iterable[float]) -> float:
    """The largest over the mean: 1 is even; also where there is nothing to share."""
    values = list(loads)
    total = sum(values)
    return round(max(values) * len(values) / total, 4) if total else 1.0


def figures_of(
    server: RackServer, ports: Sequence[SwitchPort] = (), deepest: Mapping[int, int] = MappingProxyType({})
) -> Figures:
    """Figures of a server between two batches. ``deepest``: by port, how many answers have waited in it at most."""
    registry = server.registry
    tenants = [_tenant(server, tenant) for tenant in registry]
    plain = _without_service(server, registry)
    peers = server.place.peers if server.place is not None else ()
    return Figures(
        tuple([*tenants, plain] if plain.jobs or plain.frames else tenants),
        tuple(_core(number, record) for number, record in enumerate(_core_records(server))),
        tuple(_port(port, deepest.get(port.number, 0)) for port in ports),
        server.drops(),
        registry.unknown_services,
        asdict(server.crossed()) if server.place is not None else {},
        tuple(peer.port for peer in peers),
    )


def _tenant(server: RackServer, tenant: Tenant) -> TenantFigures:
    frames, bytes_of = dict(tenant.ended_frames), dict(tenant.ended_bytes)
    for job in tenant.jobs:
        _add_job(server, job, frames, bytes_of)
    kept: dict[str, int] = {}
    refused = {reason.value: count for reason, count in tenant.refused.items()}
    with suppress(AggregatorRefused):  # it has never had a job here
        service = server.service(tenant.name)
        kept = _kept(service)
        if over := int(service.record["over_quota"][0]):
            refused[Refused.MEMORY.value] = refused.get(Refused.MEMORY.value, 0) + over
    return TenantFigures(
        tenant.name,
        workers=tenant.workers,
        weight=tenant.weight,
        jobs=len(tenant.jobs),
        quota_bytes=tenant.quota_bytes,
        frames=frames,
        bytes=_once(bytes_of),
        refused=refused,
        **kept,
    )


def _kept(service: ServiceMemory) -> dict[str, int]:
    record = service.record[0]
    return {
        "keys": int(record["keys_known"]),
        "used_bytes": service.used_bytes,
        "step": service.step,
        "steps_skipped": int(record["skipped"]),
        "chunks_not_finite": int(record["not_finite"]),
    }


def _without_service(server: RackServer, registry: Registry) -> TenantFigures:
    frames, bytes_of = dict(registry.without_service.ended_frames), dict(registry.without_service.ended_bytes)
    jobs = [job for job in server.installed() if registry.of_job(job) is None]
    for job in jobs:
        _add_job(server, job, frames, bytes_of)
    return TenantFigures(NO_TENANT, jobs=len(jobs), frames=frames, bytes=_once(bytes_of))


def _once(bytes_of: Mapping[str, int]) -> dict[str, int]:
    """A contribution that completes a chunk was accepted as well: its bytes came once."""
    return {name: count for name, count in bytes_of.items() if name != Verdict.COMPLETED.name.lower()}


def _add_job(server: RackServer, job: int, frames: dict[str, int], bytes_of: dict[str, int]) -> None:
    counters = server.counters(job)
    for total, counted in ((frames, counters.frames), (bytes_of, counters.bytes)):
        for name, value in counted.items():
            total[name] = total.get(name, 0) + value


def _core_records(server: RackServer) -> list[dict[str, int]]:
    cores: Any = server.statistics()["cores"]
    return list(cores)


def _core(number: int, record: Mapping[str, int]) -> CoreFigures:
    return CoreFigures(
        number,
        chunks=record["frames"],
        bytes=record["lane_bytes"],
        owned_bytes=record.get("owned_bytes", 0),
        busy_s=record["busy_ns"] / 1e9,
        steps=record["steps"],
        step_s=record["steps_ns"] / 1e9,
    )


def _port(port: SwitchPort, deepest: int) -> PortFigures:
    counters = port.statistics()
    return PortFigures(
        port.number,
        counters.frames_in,
        counters.bytes_in,
        counters.frames_out,
        counters.bytes_out,
        counters.queued_out,
        max(counters.queued_out, deepest),
        counters.drops,
    )
