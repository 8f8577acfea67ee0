"""A switch's counters for Prometheus (``netsum switch --metrics``): those of its statistics, by port and reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.rpc.metrics import Families, Metrics

PREFIX = "netsum_switch_"


def collect(statistics: Mapping[str, Any]) -> Families:
    """Families of one scrape. ``statistics``: see ``emulator.rpc.statistics``."""
    metrics = Metrics(PREFIX)
    program = statistics["program"] or ""
    metrics.gauge(
        "info",
        "Program and engine of the switch; always 1.",
        1,
        device_id=statistics["device_id"],
        program=program,
        engine=statistics["engine"],
    )
    for number, port in statistics["ports"].items():
        counter, gauge = metrics.counter, metrics.gauge
        counter("port_received_frames", "Frames received by a port.", port["frames_in"], port=number)
        counter("port_received_bytes", "Their bytes, without FCS.", port["bytes_in"], port=number)
        counter("port_sent_frames", "Frames sent by a port.", port["frames_out"], port=number)
        counter("port_sent_bytes", "Their bytes, without FCS.", port["bytes_out"], port=number)
        counter("port_wakeups", "System calls made to wake the other end.", port["bells_rung"], port=number)
        gauge("port_queued_frames", "Frames that the other end has not taken.", port["queued_out"], port=number)
        for reason, count in port["drops"].items():
            counter("port_dropped_frames", "Frames dropped by a port, by reason.", count, port=number, reason=reason)
    for reason, count in statistics["drops"].items():
        metrics.counter("dropped_packets", "Packets that left by no port, by reason.", count, reason=reason)
    for kind, count in statistics["faults"].items():
        metrics.counter("faults", "Steps of the program without effect, by kind.", count, kind=kind)
    loop = statistics["loop"]
    metrics.counter("loop_turns", "Turns of the live loop.", loop["turns"])
    metrics.counter("loop_frames", "Frames given to the program.", loop["frames"])
    metrics.counter("loop_sleeps", "Times that the live loop slept.", loop["sleeps"])
    return metrics.families()
