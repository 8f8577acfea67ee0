"""Stand-ins for a P4 program's machine code: numba cfuncs with process()'s signature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cfunc

from emulator.native.memory import load_i64, load_u8, load_u32, store_i64
from emulator.native.pages import address_of
from emulator.ports.batch import MAX_PORTS, TX_RING_BYTES, TxPortTable, tx_append

TABLE, CALLS, TORN, ROUTES = 0, 8, 16, 24
"""The context: address of the TX_RINGs, calls of process(), frames not whole, egress port per ingress port."""

SIGNATURE = "int64(int64, int64, int64, int64, int64, int64)"


@cfunc(SIGNATURE)
def _forward(context: int, addresses: int, lengths: int, ports: int, count: int, now_ns: int) -> int:
    store_i64(context + CALLS, load_i64(context + CALLS) + 1)
    for index in range(count):
        address = load_i64(addresses + 8 * index)
        length = load_u32(lengths + 4 * index)
        first = load_u8(address)
        for position in range(length):
            if load_u8(address + position) != first:
                store_i64(context + TORN, load_i64(context + TORN) + 1)
                break
        egress = load_i64(context + ROUTES + 8 * load_u32(ports + 4 * index))
        if egress >= 0:
            tx_append(load_i64(context + TABLE) + egress * TX_RING_BYTES, address, length)
    return -1


class Forwarder:
    """Sends what comes in at port p out at ``routes[p]`` (default p); counts frames of unequal bytes."""

    def __init__(self, routes: dict[int, int] | None = None) -> None:
        self.table = TxPortTable()
        self._context: Any = np.zeros(ROUTES // 8 + MAX_PORTS, np.int64)
        self._context[TABLE // 8] = self.table.address
        self._context[ROUTES // 8 :] = np.arange(MAX_PORTS)
        for ingress, egress in (routes or {}).items():
            self._context[ROUTES // 8 + ingress] = egress
        self.program_address = _forward.address or 0
        self.context_address = address_of(self._context)

    @property
    def calls(self) -> int:
        return int(self._context[CALLS // 8])

    @property
    def torn(self) -> int:
        return int(self._context[TORN // 8])
