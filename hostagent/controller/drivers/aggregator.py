"""Drives an aggregator of ours, the PsPIN switch or the rack server, by its gRPC service.

One thread owns the connection: it watches a stream, which describes the aggregator and ends with it, and carries out
orders. An incarnation number identifies a restarted aggregator; one that kept its jobs continues with them, whatever
happened to the controller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import grpc
import grpc.aio

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorCounters, AggregatorUnavailable, DriverEvents
from hostagent.controller.drivers.job import JobConfig, Parent
from hostagent.controller.drivers.reconnecting import ReconnectingDriver
from hostagent.controller.drivers.silence import is_silent, title
from hostagent.controller.drivers.watched_stream import WatchedStream
from hostagent.protocol.services import aggregator_pb2 as pb
from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms, ParentTerms
from hostagent.protocol.services.aggregator_messages import counted, counters_from, terms_message
from hostagent.protocol.services.aggregator_pb2_grpc import AggregatorStub
from hostagent.protocol.services.reasons import reason_of

SCHEME = "netsum"
"""As in netsum://HOST:PORT."""

CALL_TIMEOUT_S = 10.0
"""Time-out of a call. The core answers between two batches, usually long before."""

REFUSALS = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNKNOWN,  # the core raised what it should not
)

_OPTIONS = (
    ("grpc.keepalive_time_ms", 10_000),  # a machine that went away without a word ends the stream too
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


class AggregatorDriver(ReconnectingDriver):
    """See hostagent.controller.drivers.driver.Driver."""

    def __init__(self, address: str):
        super().__init__()
        self._address = address
        self._rows: dict[int, int] = {}
        """Job -> row, of all jobs ever installed: counters outlive jobs."""
        self._stub: Any = None
        self._pid = 0
        self._description = pb.Description()

    @property
    def description(self) -> pb.Description:
        """What it last said of itself."""
        return self._description

    @property
    def name(self) -> str:
        """Name for people."""
        kind = f" ({self._description.kind})" if self._description.kind else ""
        return f"{SCHEME}://{self._address}{kind}"

    def start(self, events: DriverEvents, installed: Sequence[JobConfig]) -> None:
        """See Driver."""
        self._rows = {config.job: config.row for config in installed}
        super().start(events, installed)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver. A row that several jobs had holds the counters of the latest one, which start at zero here."""
        reply = self._ask("Counters", pb.CountersRequest(), timeout_s)
        total = AggregatorCounters(drops=counted(reply.drops), statistics=[(self.name, self.statistics(timeout_s))])
        for job in sorted(reply.jobs, key=lambda job: int(job.job)):
            row = self._rows.get(job.job)
            if row is not None:
                counters = counters_from(job)
                total.verdicts[row], total.verdict_bytes[row] = dict(counters.frames), dict(counters.bytes)
        return total

    def silent(self, timeout_s: float) -> list[str]:
        """See Driver. Watch is answered without waiting for the core, whose own troubles its process reports."""
        with grpc.insecure_channel(self._address) as channel:
            stub: Any = AggregatorStub(channel)  # type: ignore[no-untyped-call]  # generated
            if is_silent(lambda: next(iter(stub.Watch(pb.WatchRequest(), timeout=timeout_s)))):
                return [title(self.name, self._pid)]
        return []

    def statistics(self, timeout_s: float) -> Mapping[str, Any]:
        """The statistics that the aggregator reports. Raises AggregatorUnavailable."""
        answer: dict[str, Any] = json.loads(self._ask("Statistics", pb.StatisticsRequest(), timeout_s).json)
        return answer

    def _ask(self, call: str, request: object, timeout_s: float) -> Any:
        stub = self._stub
        if stub is None:
            raise AggregatorUnavailable(f"{self.name} is not connected")
        try:
            return getattr(stub, call)(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise AggregatorUnavailable(f"{self.name}: {reason_of(error)}") from error

    # --- the thread ---

    def _describe(self, error: Exception) -> tuple[str, bool] | None:
        if isinstance(error, AggregatorUnavailable):
            return str(error), False
        if not isinstance(error, grpc.RpcError):
            return None
        if _code(error) is grpc.StatusCode.UNIMPLEMENTED:
            return "the server there is not an aggregator of netsum", True
        return reason_of(error), False

    def _serve(self, events: DriverEvents) -> None:
        """One connection, from its beginning to its end."""
        with grpc.insecure_channel(self._address, options=_OPTIONS) as channel:
            stub: Any = AggregatorStub(channel)  # type: ignore[no-untyped-call]  # generated
            incarnation, described = self._description.incarnation, Future[None]()
            watch = WatchedStream(
                self._loop,
                self._address,
                _OPTIONS,
                lambda channel: AggregatorStub(channel).Watch(pb.WatchRequest()),  # type: ignore[no-untyped-call]
                lambda description: self._read(description, described),
                lambda error: self._unwatched(error, described),
            )
            try:
                described.result()
                self._forget_old_orders()
                state_lost = self._has_lost(incarnation)
                if state_lost:
                    self._installed.clear()
                self._keep_only(stub)
                self._stub = stub
                self._pid = self._read_pid()
                events.ready(self._capacity(), state_lost)
                self._carry_out_orders(
                    lambda config: self._install(events, stub, config), lambda job: self._remove(stub, job)
                )
            finally:
                self._stub = None
                watch.close()

    def _read_pid(self) -> int:
        """Of the aggregator's process, for messages; 0 where it does not say."""
        try:
            return int(self.statistics(CALL_TIMEOUT_S).get("pid", 0))
        except AggregatorUnavailable:
            return 0

    def _read(self, description: pb.Description, described: Future[None]) -> None:
        self._description = description
        if not described.done():
            described.set_result(None)

    def _unwatched(self, error: grpc.RpcError | None, described: Future[None]) -> None:
        """The stream has ended: the aggregator is gone."""
        if not described.done():
            described.set_exception(error or AggregatorUnavailable("the aggregator ended the stream at once"))
        self._on_broken()

    def _has_lost(self, incarnation: int) -> bool:
        """Whether a job that we installed is not there; `incarnation` is the one we last knew, or 0."""
        known = {job.job: job.epoch for job in self._description.known}
        other = incarnation not in (0, self._description.incarnation)
        return other or any(known.get(config.job) != config.epoch for config in self._installed.values())

    def _keep_only(self, stub: Any) -> None:
        """Removes jobs that are none of ours: of a controller before us, say."""
        for known in self._description.known:
            if known.job not in self._installed:
                self._remove(stub, known.job)

    def _capacity(self) -> Capacity:
        description = self._description
        return Capacity(
            slots=description.slots,
            lanes=description.lanes,
            rows=description.jobs,
            forwards_messages=description.forwards_messages,
            aggregator=self.name,
        )

    def _install(self, events: DriverEvents, stub: Any, config: JobConfig) -> None:
        incarnation = self._description.incarnation
        try:
            terms = terms_message(terms_of(config, self._description.lanes))
            stub.Install(pb.InstallRequest(terms=terms, incarnation=incarnation), timeout=CALL_TIMEOUT_S)
        except AggregatorRefused as error:
            events.install_failed(config.job, config.epoch, str(error))
            return
        except grpc.RpcError as error:
            if _code(error) not in REFUSALS:
                raise
            events.install_failed(config.job, config.epoch, reason_of(error))
            return
        self._installed[config.job] = config
        self._rows[config.job] = config.row
        events.installed(config.job, config.epoch)

    def _remove(self, stub: Any, job: int) -> None:
        request = pb.RemoveRequest(job=job, incarnation=self._description.incarnation)
        stub.Remove(request, timeout=CALL_TIMEOUT_S)


def terms_of(config: JobConfig, lanes: int) -> JobTerms:
    """A job as the controller's core gives it, in an aggregator's terms. Raises AggregatorRefused."""
    children = tuple(
        ChildTerms(
            number,
            number,
            child.port,
            child.host_mac,
            child.host_ip,
            child.zero_checksum_allowed,
            child.bit_mask if child.workers else 0,
        )
        for child in config.children
        for number in child.numbers
    )
    return JobTerms(
        job=config.job,
        epoch=config.epoch,
        base=config.base,
        window_log2=config.window.bit_length() - 1,
        first_slot=config.first_slot,
        lanes=lanes,
        children=children,
        aggregator_mac=config.switch_mac,
        aggregator_ip=config.switch_ip,
        no_data_short=config.short_allowed,
        service=config.service,
        spread=config.spread,
        parent=_parent_terms(config.parent) if config.parent is not None else None,
    )


def _parent_terms(parent: Parent) -> ParentTerms:
    ends = parent.port, parent.mac, parent.ip, parent.own_mac, parent.own_ip
    return ParentTerms(*ends, parent.zero_checksum_allowed, parent.workers)


def read_statistics(address: str, timeout_s: float) -> Mapping[str, Any]:
    """The statistics of the aggregator (PsPIN switch or rack server) at HOST:PORT. Raises AggregatorUnavailable."""
    try:
        with grpc.insecure_channel(address) as channel:
            stub: Any = AggregatorStub(channel)  # type: ignore[no-untyped-call]  # generated
            answer: dict[str, Any] = json.loads(stub.Statistics(pb.StatisticsRequest(), timeout=timeout_s).json)
            return answer
    except grpc.RpcError as error:
        raise AggregatorUnavailable(f"{SCHEME}://{address}: {reason_of(error)}") from error


def _code(error: grpc.RpcError) -> Any:
    return error.code() if isinstance(error, grpc.Call | grpc.aio.AioRpcError) else None
