"""The controller with I/O: gRPC streams, heartbeats, timers and the driver, all on one asyncio loop around the core.

Everything that happens is handed to the core with the time, and what the core wants is performed at once and in order.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc

from hostagent.controller import reporting
from hostagent.controller.core.core import Controller
from hostagent.controller.core.effects import Disconnect, Effect, Install, Log, Remove, Save, Send
from hostagent.controller.core.model import SECOND_NS, Capacity
from hostagent.controller.drivers.driver import AggregatorCounters, AggregatorUnavailable, Driver
from hostagent.controller.drivers.silence import LOOK_S, PING_TIMEOUT_S, SILENT_S, SilenceWatch, advice
from hostagent.controller.persistence import write_state
from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.session_pb2_grpc import add_SessionServicer_to_server
from hostagent.transport.session.terms import HEARTBEAT, HEARTBEAT_MAGIC

LISTEN_ATTEMPTS = 20
"""Nearly always the first attempt gives a UDP port with a number that is free for TCP, too."""

COUNTER_TIMEOUT_S = 5.0
COLLECT_NS = SECOND_NS // 2
"""How long a report waits for the ranks' counters: a rank that computes answers at once, one that is stopped never."""
COLLECT_LOOK_S = 0.005

SHORTEST_TIMER_NS = 1_000_000
"""No bound here is finer; a deadline that stays in the past must not take a core."""

SERVER_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second controller on the same port must fail, not share its connections
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),  # ranks ping every 10 s
    ("grpc.http2.max_ping_strikes", 0),
)

AWAY_REPORTED_S = 10.0
"""An aggregator that does not answer for so long is reported to people; one that was started again is back before."""

log = logging.getLogger("netsum.controller")


class ListenError(Exception):
    """The address can't be listened on; the text names it."""


class ControllerServer:
    """One controller process' inside. Create and use it on a running event loop."""

    def __init__(
        self,
        core: Controller,
        driver: Driver,
        state_path: Path | None,
        report: Callable[[str], None] = lambda text: None,
    ):
        """``report``: called with messages for the operator."""
        self._core = core
        self._driver = driver
        self._state_path = state_path
        self._loop = asyncio.get_running_loop()
        self._streams: dict[int, asyncio.Queue[pb.ServerMessage | None]] = {}
        self._connections = itertools.count(1)
        self._timer: asyncio.TimerHandle | None = None
        self._report = report
        self._away: asyncio.TimerHandle | None = None
        """Timer from the loss of the aggregator to its return."""
        self._silence_task: asyncio.Task[None] | None = None
        self._server: Any = None
        self._heartbeats: asyncio.DatagramTransport | None = None
        self.port = 0
        """TCP for sessions and UDP for heartbeats: one number, so that ranks reconnect to a restarted controller."""
        self.first_report: asyncio.Future[str] = self._loop.create_future()
        """Done when the aggregator is ready (""), or has failed permanently (the reason)."""

    async def start(self, host: str, port: int) -> None:
        """Listens, and lets the driver connect. Raises ListenError."""
        await self._listen(host, port)
        await self._server.start()
        self._perform()
        self._driver.start(self, self._core.expected_entries())
        self._arm()
        self._silence_task = self._loop.create_task(self._watch_silence())

    async def stop(self) -> None:
        """Ends all streams; ranks take it for a controller that may come back."""
        for timer in (self._timer, self._away):
            if timer is not None:
                timer.cancel()
        if self._silence_task is not None:
            self._silence_task.cancel()
        await asyncio.to_thread(self._driver.stop)
        for queue in self._streams.values():
            queue.put_nowait(None)
        if self._server is not None:
            await self._server.stop(0.5)
        if self._heartbeats is not None:
            self._heartbeats.close()

    async def _listen(self, host: str, port: int) -> None:
        for _ in range(LISTEN_ATTEMPTS if port == 0 else 1):
            try:
                self._heartbeats, _ = await self._loop.create_datagram_endpoint(
                    lambda: HeartbeatReceiver(self._heartbeat), local_addr=(host.strip("[]"), port)
                )
                self.port = self._heartbeats.get_extra_info("sockname")[1]
                self._server = grpc.aio.server(options=SERVER_OPTIONS)
                add_SessionServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]  # generated
                if self._server.add_insecure_port(f"{host}:{self.port}"):
                    return
                why = "gRPC gave no reason"
            except (OSError, RuntimeError) as error:
                why = str(error)
            if self._heartbeats is not None:
                self._heartbeats.close()
        raise ListenError(f"can't listen on {host}:{port} (TCP and UDP): {why}; is another controller running there?")

    # --- what happens ---

    def _now(self) -> int:
        return time.monotonic_ns()

    def _heartbeat(self, token: int) -> None:
        """Only moves deadlines away, so the timer may stay as it is."""
        self._core.heartbeat(token, self._now())

    def _on_timer(self) -> None:
        self._core.timer(self._now())
        self._done()

    def _done(self) -> None:
        """After anything but a heartbeat: perform, and look at the clock again."""
        self._perform()
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay_s = max(SHORTEST_TIMER_NS, self._core.next_timer_ns() - self._now()) / 1e9
        self._timer = self._loop.call_later(delay_s, self._on_timer)

    async def Attach(self, requests: AsyncIterator[pb.ClientMessage], context: Any) -> AsyncIterator[pb.ServerMessage]:
        """A process' stream. Its end, for whatever reason, is an event of the core."""
        connection = next(self._connections)
        outgoing: asyncio.Queue[pb.ServerMessage | None] = asyncio.Queue()
        self._streams[connection] = outgoing
        outgoing.put_nowait(pb.ServerMessage(welcome=pb.Welcome(heartbeat_port=self.port)))
        reader = self._loop.create_task(self._read(connection, requests, outgoing))
        try:
            while (message := await outgoing.get()) is not None:
                yield message
        finally:
            reader.cancel()
            self._streams.pop(connection, None)
            self._core.disconnected(connection, self._now())
            self._done()

    async def _read(
        self,
        connection: int,
        requests: AsyncIterator[pb.ClientMessage],
        outgoing: asyncio.Queue[pb.ServerMessage | None],
    ) -> None:
        try:
            async for message in requests:
                self._core.client_message(connection, message, self._now())
                self._done()
        except Exception:
            log.exception("a session's stream ended badly")
        finally:
            outgoing.put_nowait(None)

    async def Status(self, request: pb.StatusRequest, context: Any) -> pb.StatusReply:
        """What `netsum status` shows."""
        return reporting.status(self._core.world, self._driver.name)

    async def Report(self, request: pb.ReportRequest, context: Any) -> pb.ReportReply:
        """Counters of the aggregator and of the ranks."""
        return await self._report_now()

    async def _report_now(self) -> pb.ReportReply:
        asked_ns = self._now()
        self._core.collect(asked_ns)
        self._done()
        problem, counters = self._core.world.silence, AggregatorCounters()
        if not problem:
            try:
                counters = await asyncio.to_thread(self._driver.counters, COUNTER_TIMEOUT_S)
            except AggregatorUnavailable as error:
                problem = str(error)
        while self._core.uncollected(asked_ns) and self._now() < asked_ns + COLLECT_NS:
            await asyncio.sleep(COLLECT_LOOK_S)
        report = reporting.report(self._core.world, counters, self._now())
        report.problem = problem
        return report

    def figures(self) -> tuple[pb.StatusReply, pb.ReportReply]:
        """Status and Report, from another thread."""

        async def take() -> tuple[pb.StatusReply, pb.ReportReply]:
            report = await self._report_now()
            return reporting.status(self._core.world, self._driver.name), report

        return asyncio.run_coroutine_threadsafe(take(), self._loop).result(2 * COUNTER_TIMEOUT_S)

    # --- what the driver says, from its own threads ---

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        """See DriverEvents."""

        def happen() -> None:
            self._core.aggregator_ready(capacity, state_lost, self._now())
            self._first_report("")
            self._is_back()

        self._later(happen)

    def lost(self, why: str, *, permanent: bool = False) -> None:
        """See DriverEvents."""

        def happen() -> None:
            self._core.aggregator_lost(why, self._now())
            if permanent:
                self._first_report(why)
            self._is_away(why)

        self._later(happen)

    def _is_away(self, why: str) -> None:
        if self._away is None and self.first_report.done():
            limit_s = self._core.world.settings.limits.aggregator_ns // SECOND_NS
            text = f"the aggregator has not answered for {AWAY_REPORTED_S:g} s; jobs wait {limit_s} s for it: {why}"
            self._away = self._loop.call_later(AWAY_REPORTED_S, self._report_away, text)

    def _report_away(self, text: str) -> None:
        if not self._core.world.silence:  # that has been reported
            self._report(text)

    def _is_back(self) -> None:
        if self._away is not None and self._away.when() <= self._loop.time():
            self._report("the aggregator answers again")
        elif self._away is not None:
            self._away.cancel()
        self._away = None

    async def _watch_silence(self) -> None:
        """Name aggregators that neither answer nor break the connection."""
        await asyncio.wait([self.first_report])
        watch, limit_s = SilenceWatch(), self._core.world.settings.limits.aggregator_ns // SECOND_NS
        while True:
            await asyncio.sleep(LOOK_S)
            began_s = self._loop.time()
            silent = await asyncio.to_thread(self._driver.silent, PING_TIMEOUT_S)
            if watch.look(silent, began_s):
                names = "; ".join(watch.silent)
                self._core.aggregators_silent(f"{names}: no answer for {SILENT_S:g} s" if names else "")
                self._report(advice(watch.silent, limit_s) if names else "the aggregator answers again")

    def installed(self, job: int, epoch: int) -> None:
        """See DriverEvents."""
        self._later(lambda: self._core.installed(job, epoch, self._now()))

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        """See DriverEvents."""
        self._later(lambda: self._core.install_failed(job, epoch, why, self._now()))

    def delivery_problem(self, job: int, why: str) -> None:
        """See DriverEvents."""
        self._later(lambda: self._core.delivery_problem(job, why))

    def _later(self, happen: Callable[[], object]) -> None:
        def on_loop() -> None:
            happen()
            self._done()

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(on_loop)

    def _first_report(self, why: str) -> None:
        if not self.first_report.done():
            self.first_report.set_result(why)

    # --- what the core wants ---

    def _perform(self) -> None:
        """Perform effects in order; of consecutive snapshots only the last is written."""
        unsaved: Save | None = None
        for effect in self._core.take_effects():
            if isinstance(effect, Save):
                unsaved = effect
                continue
            if not isinstance(effect, Log):
                self._write(unsaved)
                unsaved = None
            self._perform_one(effect)
        self._write(unsaved)

    def _write(self, save: Save | None) -> None:
        if save is None or self._state_path is None:
            return
        try:
            write_state(self._state_path, save.snapshot)
        except OSError as error:
            log.error("can't write %s: %s; a restart of the controller would lose its jobs", self._state_path, error)

    def _perform_one(self, effect: Effect) -> None:
        match effect:
            case Send(connection, message):
                if connection in self._streams:
                    self._streams[connection].put_nowait(message)
            case Disconnect(connection):
                if connection in self._streams:
                    self._streams[connection].put_nowait(None)
            case Install(config):
                self._driver.install(config)
            case Remove(job):
                self._driver.remove(job)
            case Log(text):
                log.info(text)


class HeartbeatReceiver(asyncio.DatagramProtocol):
    """Calls `heard(token)` for each heartbeat datagram of a rank; any other datagram is ignored."""

    def __init__(self, heard: Callable[[int], None]):
        self._heard = heard

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """A datagram from anyone."""
        if len(data) == HEARTBEAT.size:
            magic, token, _counter = HEARTBEAT.unpack(data)
            if magic == HEARTBEAT_MAGIC:
                self._heard(token)
