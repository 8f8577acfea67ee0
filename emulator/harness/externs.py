"""Registers, counters and meters as sequences: ``switch.register("sums")[3]``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from emulator.harness.errors import WrongTest
from emulator.harness.values import number
from emulator.switch.control import Control, CounterValue, MeterConfig, Rate
from emulator.v1model.control_view import ArrayView


@dataclass(frozen=True, slots=True)
class Meter:
    """(per second, burst) of each bucket, in the meter's unit: packets or bytes. Above committed is yellow, above peak
    red; without a peak it is the committed one, so nothing is yellow."""

    committed: tuple[int, int]
    peak: tuple[int, int] | None = None


def config_of(meter: Meter) -> MeterConfig:
    """Raises `WrongTest`."""
    if not isinstance(meter, Meter) or not all(map(_is_rate, (meter.committed, meter.peak or meter.committed))):
        raise WrongTest(f"{meter!r} is not a rate: give Meter(committed=(per second, burst), peak=(per second, burst))")
    return MeterConfig(Rate.per_second(*meter.committed), Rate.per_second(*(meter.peak or meter.committed)))


def _is_rate(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(n, int | float) and n >= 0 for n in pair)


def meter_of(config: MeterConfig) -> Meter:
    def pair(rate: Rate) -> tuple[int, int]:
        return round(rate.per_us * 1e6), rate.burst

    return Meter(pair(config.committed), pair(config.peak))


T = TypeVar("T")


@dataclass(slots=True, repr=False)
class Cells(Generic[T]):
    """A sequence: numbers from 0, slices, iteration."""

    view: ArrayView
    control: Control

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.view.name}: {self.view.size} cells>"

    def __len__(self) -> int:
        return self.view.size

    def __iter__(self) -> Iterator[T]:
        return map(self._read, range(self.view.size))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._read(i) for i in range(*index.indices(self.view.size))]
        return self._read(self._index(index))

    def _read(self, index: int) -> T:
        raise NotImplementedError

    def _index(self, index: int) -> int:
        if not hasattr(index, "__index__") or not 0 <= index < self.view.size:
            raise WrongTest(f"{self.view.name} has the indices 0 .. {self.view.size - 1}, not {index!r}")
        return index


class Register(Cells[int]):
    """Unsigned numbers."""

    def _read(self, index: int) -> int:
        return self.control.read_register(self.view.id, index)

    def __setitem__(self, index: int, value: Any) -> None:
        bits = number(f"register {self.view.name}", value, self.view.width_bits)
        self.control.write_register(self.view.id, self._index(index), bits)


class Counter(Cells[CounterValue]):
    """``[i].packets``, ``[i].bytes``; whichever the program does not ask for counts too."""

    def _read(self, index: int) -> CounterValue:
        return self.control.read_counter(self.view.id, index)

    def __setitem__(self, index: int, value: CounterValue | tuple[int, int]) -> None:
        packets, size = (value.packets, value.bytes) if isinstance(value, CounterValue) else value
        self.control.write_counter(self.view.id, self._index(index), CounterValue(packets, size))


class MeterArray(Cells[Meter | None]):
    """``[i] = Meter(committed=(1000, 10), peak=(2000, 20))``; None makes it say green."""

    def _read(self, index: int) -> Meter | None:
        config = self.control.read_meter(self.view.id, index)
        return None if config is None else meter_of(config)

    def __setitem__(self, index: int, meter: Meter | None) -> None:
        config = None if meter is None else config_of(meter)
        self.control.write_meter(self.view.id, self._index(index), config)
