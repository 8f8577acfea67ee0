"""The endpoint for Prometheus, and families made of values."""

from __future__ import annotations

import urllib.request

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from emulator.rpc.metrics import Families, Metrics, MetricsEndpoint, MetricsError, registry_of


def some() -> Families:
    metrics = Metrics("netsum_x_")
    for port in (1, 2):
        metrics.counter("sent_bytes", "Bytes.", 10 * port, port=port)
    metrics.gauge("slots", "Slots.", 7)
    metrics.histogram("wait_seconds", "Waits.", [("0.5", 1), ("+Inf", 3)], job="a")
    return metrics.families()


def test_the_endpoint_takes_figures_when_it_is_asked() -> None:
    taken = []

    def take() -> Families:
        taken.append(1)
        return some()

    endpoint = MetricsEndpoint("127.0.0.1:0", take)
    before = len(taken)
    with urllib.request.urlopen(f"http://{endpoint.address}/metrics", timeout=10) as answer:
        assert b"netsum_x_sent_bytes_total" in answer.read()
    assert len(taken) == before + 1
    with pytest.raises(MetricsError, match="choose another address"):
        MetricsEndpoint(endpoint.address, take)
    endpoint.close()
    with pytest.raises(MetricsError, match="write HOST:PORT"):
        MetricsEndpoint("9464", take)


def test_values_of_one_name_are_one_family() -> None:
    text = generate_latest(registry_of(some)).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert set(families) == {"netsum_x_sent_bytes", "netsum_x_slots", "netsum_x_wait_seconds"}
    sent = families["netsum_x_sent_bytes"]
    assert sent.type == "counter"
    assert [(s.name, s.labels, s.value) for s in sent.samples] == [
        ("netsum_x_sent_bytes_total", {"port": "1"}, 10.0),
        ("netsum_x_sent_bytes_total", {"port": "2"}, 20.0),
    ]
    waits = families["netsum_x_wait_seconds"]
    assert (waits.type, [s.labels["le"] for s in waits.samples if s.name.endswith("_bucket")]) == (
        "histogram",
        ["0.5", "+Inf"],
    )
