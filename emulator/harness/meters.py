"""Rates of meters as people write them."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.harness.errors import WrongTest
from emulator.switch.control import MeterConfig, Rate


@dataclass(frozen=True, slots=True)
class Meter:
    """(per second, burst) of each bucket, in the meter's unit: packets or bytes. Above committed is yellow, above peak
    red; without a peak it is the committed one, so nothing is yellow."""

    committed: tuple[int, int]
    peak: tuple[int, int] | None = None


def config_of(meter: Meter) -> MeterConfig:
    """Raises `WrongTest`."""
    if not isinstance(meter, Meter) or not all(map(_is_rate, (meter.committed, meter.peak or meter.committed))):
        raise WrongTest(f"{meter!r} is no rate: give Meter(committed=(per second, burst), peak=(per second, burst))")
    return MeterConfig(Rate.per_second(*meter.committed), Rate.per_second(*(meter.peak or meter.committed)))


def _is_rate(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(n, int | float) and n >= 0 for n in pair)


def meter_of(config: MeterConfig) -> Meter:
    def pair(rate: Rate) -> tuple[int, int]:
        return round(rate.per_us * 1e6), rate.burst

    return Meter(pair(config.committed), pair(config.peak))
