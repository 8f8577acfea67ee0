"""A rack server in a separate process: `RunningAggregator` with tenants, metrics and a report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from emulator.native.periodic import PeriodicThread
from emulator.ports.port import SwitchPort
from emulator.rpc.metrics import MetricsEndpoint, MetricsError
from hostagent.cli.aggregators.cores import CoreOptions
from hostagent.cli.aggregators.process import AggregatorOptions, RunningAggregator, report_problem, run_aggregator
from hostagent.cli.rack.checkpointing import Checkpointer, Pace
from hostagent.cli.rack.report import print_report
from hostagent.cli.rack.tenants_file import TenantsFileError, declare_all
from hostagent.protocol.services import aggregator_pb2 as pb
from hostagent.protocol.services.aggregator import peer_port
from hostagent.rackserver.core import SERVICE_ENTRIES, RackServer, compile_entries
from hostagent.rackserver.hierarchy.memory import TIER_ENTRIES
from hostagent.rackserver.hierarchy.routes import Peer, Place
from hostagent.rackserver.services.checkpoint import CheckpointError
from hostagent.rackserver.services.checkpoint_folder import CheckpointFolder
from hostagent.rackserver.tenants.metrics import RackCollector
from hostagent.rackserver.tenants.report import Figures, figures_of
from hostagent.rackserver.tenants.tenants import Registry
from hostagent.rackserver.thread_pool import ThreadPool

SAMPLE_S = 0.05
"""Sampling period of the queues."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a rack server, in addition to those of every aggregator."""

    common: AggregatorOptions
    cores: int = 1
    memory_bytes: int = 0
    """Memory limit for all services; 0: half of RAM."""
    services: Path | None = None
    """File of declared services; all others are rejected."""
    metrics: str | None = None
    """Listening address for Prometheus; None: no metrics."""
    report: bool = False
    """Print one at exit."""
    as_json: bool = False
    checkpoint: Path | None = None
    """Folder of the services' checkpoints; None: they end with the server."""
    pace: Pace = field(default_factory=Pace)
    restore: bool = True
    """Begin with what is in that folder."""
    rack: int | None = None
    """Number among several; None: the only one."""
    peers: tuple[tuple[int, str], ...] = ()
    """Other racks, and the cable to each: (number, SPEC)."""
    pin: bool = True
    """Several cores: each pinned to a CPU, if there are enough."""


class QueueWatch:
    """Samples the depths of the ports' transmit queues until `stop`, without pausing the loop."""

    def __init__(self, ports: Sequence[SwitchPort]) -> None:
        self._ports = ports
        self.deepest: dict[int, int] = {port.number: 0 for port in ports}
        """Maximum depth so far, by port."""
        self._thread = PeriodicThread(self.sample, SAMPLE_S, "queues")
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling, before the ports are closed."""
        self._thread.stop()

    def sample(self) -> None:
        """Take one sample."""
        for port in self._ports:
            self.deepest[port.number] = max(self.deepest[port.number], port.queued_out)


class RunningServer(RunningAggregator):
    """`RunningAggregator` that also declares services, serves metrics, and keeps checkpoints."""

    def __init__(self, options: ServerOptions) -> None:
        self.registry = Registry(options.memory_bytes, closed=options.services is not None)
        drawn = declare_all(options.services, self.registry) if options.services is not None else {}
        self.folder = CheckpointFolder(options.checkpoint) if options.checkpoint is not None else None
        self.checkpointer: Checkpointer | None = None
        self.thread_pool: ThreadPool | None = None
        self._rack, self._peers = options.rack, options.peers
        between = tuple(f"{peer_port(rack)}={spec}" for rack, spec in options.peers)
        common = replace(options.common, ports=(*options.common.ports, *between))
        try:
            self.found = self._recognize() if options.restore else {}
            super().__init__(common, lambda core_options: self._make(options, core_options))
        except BaseException:
            self._close_folder()
            raise
        try:
            self._add_parts(options)
        except BaseException:
            self.__exit__()
            raise
        for name, nonce in drawn.items():
            print(f"service {name!r}: nonce {nonce.decode()} (not printed again)", file=sys.stderr, flush=True)

    def _add_parts(self, options: ServerOptions) -> None:
        self.queues = QueueWatch(self.ports)
        self._stack.callback(self.queues.stop)
        self.metrics: MetricsEndpoint | None = None
        if options.metrics is not None:
            self.metrics = MetricsEndpoint(options.metrics, RackCollector(self._figures).collect)
            self._stack.callback(self.metrics.close)
        if options.cores > 1:
            self.thread_pool = ThreadPool(self.rack, pin=options.pin)
            self._stack.callback(self._dismiss, self.thread_pool)
        compile_entries(SERVICE_ENTRIES)  # else the first service's job would wait for it
        if options.rack is not None:
            compile_entries(TIER_ENTRIES)
        if self.folder is not None:
            self.checkpointer = Checkpointer(self.rack, self.runner.paused, self.folder, options.pace, report_problem)

    def _recognize(self) -> dict[str, int]:
        """Services that have a checkpoint, and its step."""
        if self.folder is None:
            return {}
        steps = {}
        for identity, step in self.folder.read_all().items():
            if self.registry.restore(*astuple(identity)):
                steps[identity.name] = step
            else:
                print(
                    f"service {identity.name!r} has a checkpoint but is not in --services; it is not restored",
                    file=sys.stderr,
                )
        return steps

    def __enter__(self) -> RunningServer:
        super().__enter__()
        if self.thread_pool is not None:
            self.thread_pool.pin_caller(self._loop.thread)
        if self.checkpointer is not None:
            self.checkpointer.start()
        return self

    def __exit__(self, *failure: object) -> None:
        """The loop ends first: whatever it has answered is in the last checkpoint."""
        try:
            if self.checkpointer is not None:
                self.checkpointer.stop()
                self._loop.stop()
                self.checkpointer.save_all()
            super().__exit__(*failure)
        finally:
            self._close_folder()

    def _close_folder(self) -> None:
        if self.folder is not None:
            self.folder.close()

    def place(self) -> pb.Place | None:
        """See `RunningAggregator`."""
        return None if self._rack is None else pb.Place(rack=self._rack, peers=[rack for rack, _ in self._peers])

    def _make(self, options: ServerOptions, core_options: CoreOptions) -> RackServer:
        peers = tuple(Peer(rack, peer_port(rack)) for rack, _ in options.peers)
        self.rack = RackServer(
            core_options.lanes,
            slots=core_options.slots,
            cores=options.cores,
            ports=core_options.ports,
            registry=self.registry,
            restore=self.folder.restore if self.folder is not None else None,
            place=Place(options.rack, peers) if options.rack is not None else None,
        )
        return self.rack

    def _dismiss(self, thread_pool: ThreadPool) -> None:
        """End the other cores' threads between two batches."""
        with self.runner.paused():
            thread_pool.stop()

    def _figures(self) -> Figures:
        with self.runner.paused():
            return self._figures_now()

    def _figures_now(self) -> Figures:
        return figures_of(self.rack, self.ports, self.queues.deepest)

    def ready_line(self) -> dict[str, Any]:
        """See `RunningAggregator`."""
        line = {**super().ready_line(), "cores": self.rack.cores}
        if self._rack is not None:
            line["rack"] = self._rack
        if self.thread_pool is not None:
            line["processors"] = self.thread_pool.processors
        metrics = getattr(self, "metrics", None)
        if metrics is not None:
            line["metrics"] = f"http://{metrics.address}/metrics"
        if self.folder is not None:
            line["checkpoint"] = {"folder": str(self.folder.path), "steps": self.found}
        return line

    def statistics(self) -> dict[str, Any]:
        """See `RunningAggregator`; called while the loop is paused."""
        return {**super().statistics(), "report": self._report_now()}

    def _report_now(self) -> dict[str, Any]:
        found = self._figures_now().as_json()
        return found if self.checkpointer is None else {**found, "checkpoints": self.checkpointer.as_json()}

    def report(self) -> dict[str, Any]:
        """Report at exit, when nobody asks for statistics any more."""
        with self.runner.paused():
            return self._report_now()


def run_server(options: ServerOptions) -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""

    def at_end(running: RunningAggregator) -> None:
        assert isinstance(running, RunningServer)
        if options.as_json:
            print(json.dumps({"report": running.report()}), flush=True)
        elif options.report:
            print_report(running.report(), sys.stderr)

    return run_aggregator(
        options.common,
        name="netsum server",
        start=lambda: RunningServer(options),
        at_end=at_end,
        errors=(MetricsError, TenantsFileError, CheckpointError),
    )
