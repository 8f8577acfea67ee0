"""The memory a compiled program runs on: context, scratch, registers, counters, tables, multicast groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.p4.layout import TABLE_WORDS, cell_bytes
from emulator.ports.batch import MAX_PORTS, TxPortTable, address_of, aligned_bytes
from emulator.switch.control import CounterValue, Replicas
from emulator.v1model.layout import PipelineLayout, RegisterLayout, Word
from emulator.v1model.metadata import Drop, Fault

MULTICAST_GROUPS = 65_536
"""mcast_grp has 16 bits."""


class Memory:
    """Allocated for one program; freed with this object. Untouched parts cost no memory."""

    def __init__(self, layout: PipelineLayout, ports: TxPortTable) -> None:
        self.layout = layout
        self.context = np.zeros(layout.context_words, np.uint64)
        self._kept: list[NDArray[np.uint8]] = []
        self._arrays: dict[int, NDArray[np.uint8]] = {}
        self._registers = {r.name: r for r in layout.registers}
        self._counters = {c.name: c for c in layout.counters}
        self._allocate(Word.ZERO, layout.scratch.zero_bytes)
        self._allocate(Word.INGRESS_SCRATCH, layout.scratch.size_bytes)
        self._allocate(Word.EGRESS_SCRATCH, layout.scratch.size_bytes)
        self.drops = self._allocate(Word.DROPS, 8 * len(Drop)).view(np.uint64)
        self.faults = self._allocate(Word.FAULTS, 8 * len(Fault)).view(np.uint64)
        self.rx_counters = self._allocate(Word.RX_COUNTERS, 16 * MAX_PORTS).view(np.uint64).reshape(-1, 2)
        self._multicast = self._allocate(Word.MULTICAST, 16 * MULTICAST_GROUPS).view(np.uint64).reshape(-1, 2)
        self._replicas: dict[int, NDArray[np.uint32]] = {}
        tables = self._allocate(Word.TABLES, 8 * TABLE_WORDS * max(1, len(layout.tables)))
        self.tables = tables.view(np.uint64).reshape(-1, TABLE_WORDS)
        self._allocate(Word.HASH_BUFFER, layout.hash_buffer_bytes)
        for array in layout.arrays:
            self._arrays[array.word] = self._allocate(array.word, array.size_bytes)
        self.context[Word.TX_PORTS] = ports.address
        self.address = address_of(self.context)

    def _allocate(self, word: int, size_bytes: int) -> NDArray[np.uint8]:
        memory = aligned_bytes(max(size_bytes, 8))
        self._kept.append(memory)
        self.context[word] = address_of(memory)
        return memory

    # --- Registers and counters, by name; the caller has checked the index -----------------------------------------

    def _cell(self, register: RegisterLayout, index: int) -> NDArray[np.uint8]:
        start = index * register.row_bytes + register.offset_bytes
        return self._arrays[register.word][start : start + cell_bytes(register.width_bits)]

    def read_register(self, name: str, index: int) -> int:
        return int.from_bytes(self._cell(self._registers[name], index).tobytes(), "little")

    def write_register(self, name: str, index: int, value: int) -> None:
        cell = self._cell(self._registers[name], index)
        cell[:] = np.frombuffer(value.to_bytes(len(cell), "little"), np.uint8)

    def _counter(self, name: str, index: int) -> NDArray[np.uint64]:
        return self._arrays[self._counters[name].word][16 * index : 16 * index + 16].view(np.uint64)

    def read_counter(self, name: str, index: int) -> CounterValue:
        packets, size = self._counter(name, index)
        return CounterValue(int(packets), int(size))

    def write_counter(self, name: str, index: int, value: CounterValue) -> None:
        self._counter(name, index)[:] = (value.packets, value.bytes)

    # --- Multicast --------------------------------------------------------------------------------------------------

    def set_multicast(self, group: int, replicas: Replicas) -> None:
        """An empty tuple removes the group."""
        pairs = np.array(replicas, np.uint32).reshape(-1, 2)
        self._multicast[group] = (address_of(pairs) if replicas else 0, len(pairs))
        self._replicas[group] = pairs
