"""Values of counters and meters, direct or not, between messages and the switch's control interface."""

from __future__ import annotations

from typing import Any

from emulator.p4runtime.errors import invalid
from emulator.switch.control import CounterValue, MeterConfig, MeterCounts, Rate

COLOURS = "green", "yellow", "red"

PER_SECOND = 1e6
"""The switch's rates are per microsecond."""


def counter_from_proto(data: Any, where: str) -> CounterValue:
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid(f"{where}: a counter cannot be negative")
    return CounterValue(data.packet_count, data.byte_count)


def fill_counter(message: Any, value: CounterValue) -> None:
    """Into a CounterData."""
    # The data plane counts modulo 2**64; the message has int64, so a counter set close to 2**63 may read negative.
    message.packet_count = value.packets - (1 << 64) if value.packets >= 1 << 63 else value.packets
    message.byte_count = value.bytes - (1 << 64) if value.bytes >= 1 << 63 else value.bytes


def meter_from_proto(config: Any, where: str) -> MeterConfig:
    """A two-rate three-colour MeterConfig; other types of meters are set by the same fields."""
    if min(config.cir, config.cburst, config.pir, config.pburst) < 0:
        raise invalid(f"{where}: rates and bursts of a meter cannot be negative")
    if getattr(config, "eburst", 0):  # came with P4Runtime 1.4
        raise invalid(f"{where}: eburst belongs to single-rate meters, and this one has two rates")
    if config.pir < config.cir:
        raise invalid(f"{where}: the peak rate {config.pir} is below the committed rate {config.cir}")
    return MeterConfig(
        Rate.per_second(config.cir, config.cburst),
        Rate.per_second(config.pir, config.pburst),
    )


def fill_meter(message: Any, config: MeterConfig) -> None:
    """Into a MeterConfig. Rates come back as they were given, up to 2**53 or so."""
    message.cir, message.cburst = round(config.committed.per_us * PER_SECOND), config.committed.burst
    message.pir, message.pburst = round(config.peak.per_us * PER_SECOND), config.peak.burst


def counts_from_proto(data: Any, where: str) -> MeterCounts:
    """The counts of a MeterCounterData."""
    return tuple(counter_from_proto(getattr(data, colour), where) for colour in COLOURS)  # type: ignore[return-value]


def fill_counts(message: Any, counts: MeterCounts) -> None:
    """Into a MeterCounterData."""
    for colour, count in zip(COLOURS, counts, strict=True):
        getattr(message, colour).SetInParent()
        fill_counter(getattr(message, colour), count)
