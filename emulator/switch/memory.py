"""The memory a compiled program runs on: context, scratch, registers, counters, tables, multicast groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, reserved_bytes, table_bytes
from emulator.p4.layout import cell_bytes
from emulator.p4.table_layout import TABLE_WORDS
from emulator.ports.batch import TxPortTable
from emulator.switch.control import CloneSession, CounterValue, MeterConfig, MeterCounts, Replicas
from emulator.v1model.egress_queues import QueueSettings, empty_queues
from emulator.v1model.layout import (
    CLONE_SESSION_BYTES,
    CLONE_SESSIONS,
    DIGEST_HEADER_BYTES,
    DIGEST_SAMPLES,
    DIGEST_TAKEN,
    DIGEST_WRITTEN,
    DigestLayout,
    PipelineLayout,
    RegisterLayout,
    Word,
)
from emulator.v1model.messages import LOG_COUNT, LOG_HEADER_BYTES, Format, record_bytes
from emulator.v1model.metadata import Drop, Fault
from emulator.v1model.meters import (
    BUCKET_BURST,
    BUCKET_RATE,
    BUCKET_TOKENS,
    METER_BYTES,
    METER_COMMITTED,
    METER_CONFIGURED,
    METER_COUNTS,
    METER_LAST_US,
    METER_PEAK,
    Bucket,
    Meter,
)
from emulator.v1model.queue_layout import HEAP, PRIORITIES, QUEUE, QUEUES
from emulator.v1model.random_numbers import MASK

MULTICAST_GROUPS = 65_536
"""mcast_grp has 16 bits."""

SESSION = np.dtype([("replicas", np.uint64), ("count", np.uint32), ("packet_length", np.uint32)])


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
        self._multicast = self._allocate(Word.MULTICAST, 16 * MULTICAST_GROUPS).view(np.uint64).reshape(-1, 2)
        self._replicas: dict[int, NDArray[np.uint32]] = {}
        self._meters = {m.name: m for m in layout.meters}
        self._digests = {d.name: d for d in layout.digests}
        sessions = self._allocate(Word.CLONE_SESSIONS, CLONE_SESSION_BYTES * CLONE_SESSIONS)
        self._sessions = sessions.view(SESSION)
        self._session_replicas: dict[int, NDArray[np.uint32]] = {}
        tables = self._allocate(Word.TABLES, 8 * TABLE_WORDS * max(1, len(layout.tables) + len(layout.value_sets)))
        self.tables = tables.view(np.uint64).reshape(-1, TABLE_WORDS)
        self._allocate(Word.HASH_BUFFER, layout.hash_buffer_bytes)
        self.add_arrays(layout)
        self.context[Word.TX_PORTS] = ports.address
        self.address = address_of(self.context)

    def add_arrays(self, layout: PipelineLayout) -> None:
        """What the layout has in addition to the present one."""
        for array in layout.arrays:
            if array.word not in self._arrays:
                self._arrays[array.word] = self._allocate(array.word, array.size_bytes)

    def set_queues(self, settings: QueueSettings) -> None:
        """Write the settings of the egress queues into the memory of a program that has them."""
        area = self._arrays[Word.EGRESS_QUEUES]
        if not area[PRIORITIES : PRIORITIES + 8].any():
            area[QUEUES:HEAP].view(QUEUE)[:] = empty_queues()
        area[PRIORITIES : PRIORITIES + 8].view(np.int64)[0] = settings.priorities
        settings.write(area[QUEUES:HEAP].view(QUEUE))

    def _allocate(self, word: int, size_bytes: int) -> NDArray[np.uint8]:
        memory = (reserved_bytes if word == Word.EGRESS_QUEUES else table_bytes)(max(size_bytes, 8))
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

    # --- Meters and digests -----------------------------------------------------------------------------------------

    def set_meter(self, name: str, index: int, config: MeterConfig | None) -> None:
        configure_meter(self.meter_cell(name, index), config)

    def read_meter_counts(self, name: str, index: int) -> MeterCounts:
        return counts_in(self.meter_cell(name, index))

    def write_meter_counts(self, name: str, index: int, counts: MeterCounts) -> None:
        set_counts_in(self.meter_cell(name, index), counts)

    def meter_cell(self, name: str, index: int) -> NDArray[np.uint8]:
        """See ``emulator.v1model.meters``."""
        return self._arrays[self._meters[name].word][METER_BYTES * index : METER_BYTES * (index + 1)]

    def has_digests(self, name: str) -> bool:
        """May be asked while the program runs."""
        counts = self._arrays[self._digests[name].word][:DIGEST_HEADER_BYTES].view(np.uint64)
        return bool(counts[DIGEST_WRITTEN // 8] != counts[DIGEST_TAKEN // 8])

    def take_digests(self, name: str, limit: int) -> list[tuple[int, ...]]:
        layout = self._digests[name]
        memory = self._arrays[layout.word]
        counts = memory[:DIGEST_HEADER_BYTES].view(np.uint64)
        written, taken = (int(counts[offset // 8]) for offset in (DIGEST_WRITTEN, DIGEST_TAKEN))
        numbers = range(taken, min(written, taken + limit))
        counts[DIGEST_TAKEN // 8] = taken + len(numbers)
        return [self._sample(layout, memory, number) for number in numbers]

    def take_messages(self) -> list[str]:
        """What log_msg said since the last time, oldest first."""
        if not self.has_messages():
            return []
        formats, log = self.layout.messages, self._arrays[Word.LOG]
        count, size = log[:LOG_HEADER_BYTES].view(np.uint64)[LOG_COUNT // 8 :], record_bytes(formats)
        records = log[LOG_HEADER_BYTES : LOG_HEADER_BYTES + int(count[0]) * size].reshape(-1, size)
        count[0] = 0
        return [_message(formats, record.tobytes()) for record in records]

    def has_messages(self) -> bool:
        """May be asked while the program runs."""
        return bool(self.layout.messages) and bool(self._arrays[Word.LOG].view(np.uint64)[LOG_COUNT // 8])

    def seed(self, value: int) -> None:
        """Seed the program's random numbers."""
        self._arrays[Word.RANDOM].view(np.uint64)[0] = value & MASK

    def random_state(self) -> int:
        """State of ``emulator.v1model.random_numbers``."""
        return int(self._arrays[Word.RANDOM].view(np.uint64)[0])

    def _sample(self, layout: DigestLayout, memory: NDArray[np.uint8], number: int) -> tuple[int, ...]:
        start = DIGEST_HEADER_BYTES + number % DIGEST_SAMPLES * layout.sample_bytes
        record = memory[start : start + layout.sample_bytes].tobytes()
        return tuple(
            int.from_bytes(record[c.offset_bytes : c.offset_bytes + c.size_bytes], "little") for c in layout.cells
        )

    # --- Multicast --------------------------------------------------------------------------------------------------

    def set_multicast(self, group: int, replicas: Replicas) -> None:
        """An empty tuple removes the group."""
        pairs = np.array(replicas, np.uint32).reshape(-1, 2)
        self._multicast[group] = (address_of(pairs) if replicas else 0, len(pairs))
        self._replicas[group] = pairs

    def set_session(self, session: CloneSession) -> None:
        """A clone session; without replicas it is gone."""
        pairs = np.array(session.replicas, np.uint32).reshape(-1, 2)
        address = address_of(pairs) if session.replicas else 0
        self._sessions[session.session_id] = (address, len(pairs), session.packet_length_bytes)
        self._session_replicas[session.session_id] = pairs


def configure_meter(cell: NDArray[np.uint8], config: MeterConfig | None) -> None:
    """Into a meter's cell (``emulator.v1model.meters``), buckets full; the counts stay."""
    cell[:METER_COUNTS] = 0
    if config is None:
        return
    words, numbers = cell.view(np.uint64), cell.view(np.float64)
    words[METER_CONFIGURED // 8] = 1
    for bucket, rate in ((METER_PEAK, config.peak), (METER_COMMITTED, config.committed)):
        numbers[(bucket + BUCKET_RATE) // 8] = rate.per_us
        words[(bucket + BUCKET_BURST) // 8] = words[(bucket + BUCKET_TOKENS) // 8] = rate.burst


def counts_in(cell: NDArray[np.uint8]) -> MeterCounts:
    green, yellow, red = cell[METER_COUNTS:METER_BYTES].view(np.uint64).reshape(-1, 2).tolist()
    return CounterValue(*green), CounterValue(*yellow), CounterValue(*red)


def set_counts_in(cell: NDArray[np.uint8], counts: MeterCounts) -> None:
    cell[METER_COUNTS:METER_BYTES].view(np.uint64)[:] = [each for c in counts for each in (c.packets, c.bytes)]


def meter_of(cell: NDArray[np.uint8]) -> Meter:
    """What a meter's cell holds, for the interpreter."""
    meter = Meter()
    words, numbers = cell.view(np.uint64), cell.view(np.float64)
    if words[METER_CONFIGURED // 8]:
        meter.last_us = int(words[METER_LAST_US // 8])
        meter.peak, meter.committed = (
            Bucket(
                float(numbers[(start + BUCKET_RATE) // 8]),
                int(words[(start + BUCKET_BURST) // 8]),
                int(words[(start + BUCKET_TOKENS) // 8]),
            )
            for start in (METER_PEAK, METER_COMMITTED)
        )
    return meter


def _message(formats: tuple[Format, ...], record: bytes) -> str:
    message = formats[int.from_bytes(record[:8], "little")]
    cells = (record[c.offset_bytes : c.offset_bytes + c.size_bytes] for c in message.cells)
    return message.render(tuple(int.from_bytes(cell, "little") for cell in cells))
