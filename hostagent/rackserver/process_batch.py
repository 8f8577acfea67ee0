"""The machine code that a live loop calls for each batch."""

from __future__ import annotations

from emulator.native.jit import njit
from hostagent.rackserver.frames.loops import finish, serve
from hostagent.rackserver.frames.tx_slots import close_runs
from hostagent.rackserver.records import server_at
from hostagent.rackserver.tenants.fair_queueing import set_allowances
from hostagent.rackserver.thread_pool import FEW_FRAMES, serve_together

NEVER = -1


@njit
def process(address: int, addresses: int, lengths: int, ports: int, frames: int, now_ns: int) -> int:
    """Every core's part of a batch, at once or one after the other; when to be called at the latest, or NEVER."""
    server = server_at(address)
    if server.thread_pool and frames > FEW_FRAMES:
        serve_together(server.thread_pool, addresses, lengths, ports, frames)
    else:
        for core in range(server.cores):
            serve(address, core, addresses, lengths, ports, frames)
    if server.release:
        for core in range(server.cores):
            finish(address, core)
        server.release = 0
    if server.cores > 1:
        close_runs(address)
    if server.fair_queues:
        set_allowances(server.fair_queues)
    return NEVER
