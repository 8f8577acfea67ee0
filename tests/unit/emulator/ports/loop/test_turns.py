"""How many frames a turn takes from each port."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.loop.turns import PER_PORT, RUN, gather, hand_on
from emulator.ports.spec import MAX_PORTS, parse_port


def test_a_port_gives_as_many_frames_a_turn_as_it_is_allowed() -> None:
    table, allowances, batch = TxPortTable(), np.full(MAX_PORTS, PER_PORT, np.int32), FrameBatch(4 * PER_PORT)
    ports = [MemoryPort(parse_port(f"{number}=memory:lab"), table) for number in (1, 2, 7)]
    for port in ports:
        port.send([b"frame"] * (PER_PORT + 9))
    addresses = np.array([port.address for port in ports], np.int64)
    record: Any = aligned_bytes(RUN.itemsize).view(RUN)
    record["ports"], record["port_count"], record["batch"] = address_of(addresses), 3, batch.record_address
    record["allowances"] = address_of(allowances)
    allowances[[1, 2]] = 5, 1000
    taken = []
    for _ in range(2):
        gather(address_of(record), 0)
        taken.append(Counter(port for port, _ in batch.frames()))
        hand_on(address_of(record), 0)
    assert taken == [{1: 5, 2: PER_PORT, 7: PER_PORT}, {1: 5, 2: 9, 7: 9}]
