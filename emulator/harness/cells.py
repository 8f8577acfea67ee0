"""Registers, counters and meters as sequences: ``switch.register("sums")[3]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from emulator.harness.errors import WrongTest
from emulator.harness.meters import Meter, config_of, meter_of
from emulator.harness.values import number
from emulator.switch.control import Control, CounterValue
from emulator.v1model.view import ArrayView

T = TypeVar("T")


@dataclass(slots=True)
class Cells(Generic[T]):
    view: ArrayView
    control: Control

    def __len__(self) -> int:
        return self.view.size

    def _index(self, index: int) -> int:
        if not 0 <= index < self.view.size:
            raise WrongTest(f"{self.view.name} has the indices 0 .. {self.view.size - 1}, not {index}")
        return index


class Register(Cells[int]):
    """Unsigned numbers."""

    def __getitem__(self, index: int) -> int:
        return self.control.read_register(self.view.id, self._index(index))

    def __setitem__(self, index: int, value: Any) -> None:
        bits = number(f"register {self.view.name}", value, self.view.width_bits)
        self.control.write_register(self.view.id, self._index(index), bits)


class Counter(Cells[CounterValue]):
    """``[i].packets``, ``[i].bytes``; whichever the program does not ask for counts too."""

    def __getitem__(self, index: int) -> CounterValue:
        return self.control.read_counter(self.view.id, self._index(index))

    def __setitem__(self, index: int, value: CounterValue | tuple[int, int]) -> None:
        packets, size = (value.packets, value.bytes) if isinstance(value, CounterValue) else value
        self.control.write_counter(self.view.id, self._index(index), CounterValue(packets, size))


class MeterArray(Cells[Meter]):
    """``[i] = Meter(committed=(1000, 10), peak=(2000, 20))``; None makes it say green."""

    def __getitem__(self, index: int) -> Meter | None:
        config = self.control.read_meter(self.view.id, self._index(index))
        return None if config is None else meter_of(config)

    def __setitem__(self, index: int, meter: Meter | None) -> None:
        config = None if meter is None else config_of(meter)
        self.control.write_meter(self.view.id, self._index(index), config)
