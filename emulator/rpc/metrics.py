"""Counters for Prometheus: an HTTP endpoint whose figures are taken when they are scraped; between scrapes nothing
runs. prometheus_client is imported with the first endpoint: most processes have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Families = Iterable[Any]
"""Metric families of prometheus_client."""


class MetricsError(Exception):
    """The endpoint can't be had; the text names the address."""


class MetricsEndpoint:
    """Serves /metrics until it is closed."""

    def __init__(self, address: str, collect: Callable[[], Families]) -> None:
        """``address``: HOST:PORT, port 0 for any; ``collect`` is called once a scrape, from the endpoint's thread.
        Raises MetricsError."""
        from prometheus_client import start_http_server

        host, colon, port = address.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise MetricsError(f"metrics at {address!r}: write HOST:PORT, for example 127.0.0.1:9464")
        try:
            self._server, self._thread = start_http_server(int(port), host.strip("[]"), registry_of(collect))
        except OSError as error:
            raise MetricsError(f"metrics at {address}: {error.strerror or error}; choose another address") from error
        self.address = f"{host}:{self._server.server_port}"

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def registry_of(collect: Callable[[], Families]) -> Any:
    """A CollectorRegistry of what ``collect`` returns at each scrape."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector

    class Collected(Collector):
        def collect(self) -> Families:
            return collect()

    registry = CollectorRegistry()
    registry.register(Collected())
    return registry


class Metrics:
    """Families of one scrape: `counter` and `gauge` add a value to the family of that name."""

    def __init__(self, prefix: str) -> None:
        """``prefix`` begins all names, as ``netsum_switch_``."""
        self._prefix = prefix
        self._families: dict[str, Any] = {}

    def counter(self, name: str, says: str, value: float, **labels: object) -> None:
        """A total; its name gets the suffix ``_total``."""
        from prometheus_client.core import CounterMetricFamily

        self._add(CounterMetricFamily, name, says, value, labels)

    def gauge(self, name: str, says: str, value: float, **labels: object) -> None:
        """A value that may fall."""
        from prometheus_client.core import GaugeMetricFamily

        self._add(GaugeMetricFamily, name, says, value, labels)

    def _add(self, kind: Any, name: str, says: str, value: float, labels: dict[str, object]) -> None:
        if name not in self._families:
            self._families[name] = kind(self._prefix + name, says, labels=list(labels))
        self._families[name].add_metric([str(label) for label in labels.values()], value)

    def histogram(self, name: str, says: str, buckets: list[tuple[str, int]], **labels: object) -> None:
        """Cumulative counts by upper bound, the last one "+Inf"; the sum is not known."""
        from prometheus_client.core import HistogramMetricFamily

        if name not in self._families:
            self._families[name] = HistogramMetricFamily(self._prefix + name, says, labels=list(labels))
        self._families[name].add_metric([str(label) for label in labels.values()], buckets, sum_value=None)

    def families(self) -> Families:
        """All of them, in the order of their first value."""
        return self._families.values()
