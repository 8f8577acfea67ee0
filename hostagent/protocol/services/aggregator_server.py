"""The gRPC service in front of a core: calls from the controller, put between two batches of the core's thread."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import grpc

from hostagent.protocol.services import aggregator_pb2 as pb
from hostagent.protocol.services.aggregator import Aggregator, AggregatorRefused, JobCounters, RefusalCode
from hostagent.protocol.services.aggregator_messages import counters_message, counts, terms_from
from hostagent.protocol.services.aggregator_pb2_grpc import add_AggregatorServicer_to_server

STATUS = {
    RefusalCode.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    RefusalCode.EXHAUSTED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    RefusalCode.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    RefusalCode.UNKNOWN: grpc.StatusCode.NOT_FOUND,
    RefusalCode.STALE: grpc.StatusCode.FAILED_PRECONDITION,
}
"""What a refusal is on the wire."""

MOST_WATCHERS = 8
"""Concurrent Watch calls, each of which occupies a thread: a controller, and tools."""

ENDED_KEPT = 64
"""Removed jobs with counters that can still be read: as many as a controller reports."""

STOP_TIMEOUT_S = 1.0

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second aggregator on the same address must fail, not share its connections
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),  # controllers ping every 10 s
    ("grpc.http2.max_ping_strikes", 0),
)


class AggregatorServerError(Exception):
    """The address can't be listened on; the text names it."""


class AggregatorServer:
    """Serves one core. `paused` suspends the core's thread between two batches; `statistics` returns the statistics of
    the process, including the core's."""

    def __init__(
        self,
        core: Aggregator,
        paused: Callable[[], AbstractContextManager[None]],
        address: str,
        statistics: Callable[[], Mapping[str, object]] | None = None,
        place: pb.Place | None = None,
        ports: Sequence[int] = (),
        extra_handlers: tuple[Any, ...] = (),
    ) -> None:
        """Listens at once. ``place``: among servers of other racks; ``ports``: by which children may come;
        ``extra_handlers``: of further services at the same address. Raises AggregatorServerError."""
        self.incarnation = secrets.randbits(63) + 1
        self._core = core
        self._paused = paused
        self._statistics = statistics or core.statistics
        self._place, self._ports = place, ports
        self._changed = threading.Condition()
        self._version = 0
        self._watchers = 0
        self._stopping = False
        self._known: dict[int, int] = {}
        """Job -> epoch, as reported by Watch; guarded by `_changed`."""
        self._ended: OrderedDict[int, JobCounters] = OrderedDict()
        self._calls = threading.Lock()
        """One change at a time."""
        self._server = grpc.server(ThreadPoolExecutor(MOST_WATCHERS + 4, "netsum-aggregator"), options=_OPTIONS)
        self._server.add_generic_rpc_handlers(extra_handlers)
        add_AggregatorServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]  # generated
        self.address = self._listen(address)

    def _listen(self, address: str) -> str:
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise AggregatorServerError(f"can't listen on {address}: {error}") from None
        if not port:
            raise AggregatorServerError(f"can't listen on {address}; is another aggregator running there?")
        return f"{address.rpartition(':')[0]}:{port}"

    def start(self) -> None:
        """Answer calls; those that came before wait."""
        self._server.start()

    def stop(self) -> None:
        """End all streams and calls."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._server.stop(STOP_TIMEOUT_S).wait()

    # --- the service ---

    def Watch(self, request: pb.WatchRequest, context: Any) -> Iterator[pb.Description]:
        """See aggregator.proto."""
        self._enter_watch(context)
        seen = -1
        try:
            while True:
                with self._changed:
                    while self._version == seen and context.is_active() and not self._stopping:
                        self._changed.wait()
                    if self._stopping or not context.is_active():
                        return
                    seen, description = self._version, self._description()
                yield description
        finally:
            with self._changed:
                self._watchers -= 1

    def _enter_watch(self, context: Any) -> None:
        with self._changed:
            if self._watchers == MOST_WATCHERS:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_WATCHERS} controllers watch already")
            self._watchers += 1
        context.add_callback(self._wake)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def Install(self, request: pb.InstallRequest, context: Any) -> pb.InstallReply:
        """See aggregator.proto."""
        with self._refusing(context):
            self._check_incarnation(request.incarnation)
            terms = terms_from(request.terms)
            if terms.lanes != self._core.capacity.lanes:
                raise AggregatorRefused(
                    f"job {terms.job} requests {terms.lanes} lanes per frame, "
                    f"but this aggregator has {self._core.capacity.lanes}"
                )
            if terms.spread is not None and self._place is None:
                raise AggregatorRefused(f"job {terms.job} spans several racks; use `netsum server --rack`")
            if terms.parent is not None and not self._core.capacity.serves_parents:
                raise AggregatorRefused(
                    f"job {terms.job}: an aggregator of kind {self._core.kind} is no leaf of a tree"
                )
            with self._calls, self._paused():
                self._core.install(terms)
                self._ended.pop(terms.job, None)
                self._learn()
        return pb.InstallReply()

    def Remove(self, request: pb.RemoveRequest, context: Any) -> pb.RemoveReply:
        """See aggregator.proto."""
        with self._refusing(context):
            self._check_incarnation(request.incarnation)
            with self._calls, self._paused():
                self._remove(request.job)
                self._learn()
        return pb.RemoveReply()

    def _remove(self, job: int) -> None:
        if job not in self._core.installed():
            return
        self._ended[job] = self._core.counters(job)
        while len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        self._core.remove(job)

    def Counters(self, request: pb.CountersRequest, context: Any) -> pb.CountersReply:
        """See aggregator.proto."""
        with self._calls, self._paused():
            jobs = {**self._ended, **{job: self._core.counters(job) for job in self._core.installed()}}
            drops = dict(self._core.drops())
        return pb.CountersReply(jobs=[counters_message(*each) for each in jobs.items()], drops=counts(drops))

    def Statistics(self, request: pb.StatisticsRequest, context: Any) -> pb.StatisticsReply:
        """See aggregator.proto."""
        with self._calls, self._paused():
            statistics = dict(self._statistics())
        return pb.StatisticsReply(json=json.dumps(statistics))

    # --- inside ---

    def _learn(self) -> None:
        with self._changed:
            self._known = dict(self._core.installed())
            self._version += 1
            self._changed.notify_all()

    def _description(self) -> pb.Description:
        capacity = self._core.capacity
        return pb.Description(
            kind=self._core.kind,
            incarnation=self.incarnation,
            slots=capacity.slots,
            lanes=capacity.lanes,
            jobs=capacity.jobs,
            known=[pb.KnownJob(job=job, epoch=epoch) for job, epoch in self._known.items()],
            place=self._place,
            ports=self._ports,
            forwards_messages=capacity.forwards_messages,
        )

    def _check_incarnation(self, meant: int) -> None:
        if meant != self.incarnation:
            raise AggregatorRefused(
                "addressed to an earlier aggregator at this address; Watch gives the identity of this one",
                RefusalCode.STALE,
            )

    def _refusing(self, context: Any) -> _Refusing:
        return _Refusing(context)


class _Refusing(AbstractContextManager[None]):
    """Turns AggregatorRefused into the call's status."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, AggregatorRefused):
            self._context.abort(STATUS[error.code], error.reason)
