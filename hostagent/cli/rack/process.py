"""A rack server in a process of its own: `RunningAggregator` with tenants, metrics and a report."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostagent.cli.aggregators.cores import CoreOptions
from hostagent.cli.aggregators.process import AggregatorOptions, RunningAggregator, run_aggregator
from hostagent.cli.rack.report import print_report
from hostagent.cli.rack.tenants_file import TenantsFileError, declare_all
from hostagent.rackserver.core import RackServer, default_memory_bytes
from hostagent.rackserver.crew import Crew
from hostagent.rackserver.metrics import MetricsEndpoint, MetricsError
from hostagent.rackserver.report import Figures, figures_of
from hostagent.rackserver.tenants import Registry


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a rack server is told besides what every aggregator is."""

    common: AggregatorOptions
    cores: int = 1
    memory_bytes: int = 0
    """That services may use together; 0: half of the machine's."""
    services: Path | None = None
    """File of declared services: nobody else is let in then."""
    metrics: str | None = None
    """Where Prometheus finds them; None: nowhere."""
    report: bool = False
    """Print one at the end."""
    as_json: bool = False


class RunningServer(RunningAggregator):
    """Also declares services, and serves metrics."""

    def __init__(self, options: ServerOptions) -> None:
        self.registry = Registry(options.memory_bytes or default_memory_bytes(), closed=options.services is not None)
        drawn = declare_all(options.services, self.registry) if options.services is not None else {}
        super().__init__(options.common, lambda given: self._make(options, given))
        try:
            self.metrics = MetricsEndpoint(options.metrics, self._figures) if options.metrics is not None else None
        except BaseException:
            self._stack.close()
            raise
        if self.metrics is not None:
            self._stack.callback(self.metrics.close)
        if options.cores > 1:
            crew = Crew(self.rack, pin=True)
            self._stack.callback(self._dismiss, crew)
        for name, nonce in drawn.items():
            print(f"service {name!r}: its nonce is {nonce.hex()}; it is told once", file=sys.stderr, flush=True)

    def _make(self, options: ServerOptions, given: CoreOptions) -> RackServer:
        self.rack = RackServer(
            given.lanes, slots=given.slots, cores=options.cores, ports=given.ports, registry=self.registry
        )
        return self.rack

    def _dismiss(self, crew: Crew) -> None:
        """End the other cores' threads between two batches."""
        with self.runner.paused():
            crew.stop()

    def _figures(self) -> Figures:
        with self.runner.paused():
            return figures_of(self.rack, self.ports)

    def ready_line(self) -> dict[str, Any]:
        """See `RunningAggregator`."""
        told = {**super().ready_line(), "cores": self.rack.cores}
        metrics = getattr(self, "metrics", None)
        return told if metrics is None else {**told, "metrics": f"http://{metrics.address}/metrics"}

    def statistics(self) -> dict[str, Any]:
        """See `RunningAggregator`; asked for while the loop stands still."""
        return {**super().statistics(), "report": figures_of(self.rack, self.ports).as_json()}

    def report(self) -> dict[str, Any]:
        """For the end, when nobody asks for statistics any more."""
        with self.runner.paused():
            return figures_of(self.rack, self.ports).as_json()


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
        errors=(MetricsError, TenantsFileError),
    )
