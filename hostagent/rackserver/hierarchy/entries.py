"""What a rack's server adds to a full set of a service before it goes to the next rack; called through ``entries``."""

from __future__ import annotations

from emulator.native.jit import njit
from hostagent.rackserver.hierarchy.resync import add_state
from hostagent.rackserver.records import SET_BYTES, job_at, server_at, set_at
from hostagent.rackserver.services.describe import find
from hostagent.rackserver.services.optimizer_step import key_of, side_at
from hostagent.rackserver.services.records import GIVES, key_at, operation_at, service_at
from hostagent.rackserver.services.served import answer_chunk, place_of


@njit
def add_resync_state(server_address: int, job_address: int, index: int) -> int:
    """An announcement: this rack's resynchronization state."""
    server = server_at(server_address)
    add_state(service_at(job_at(job_address).service), server.sums + index * 4 * server.lanes)
    return 0


@njit
def add_transferred_state(server_address: int, job_address: int, index: int) -> int:
    """Data of a service that gives words to other racks: put them there, if the chunk is one of those."""
    server = server_at(server_address)
    service = service_at(job_at(job_address).service)
    held = set_at(server.sets + index * SET_BYTES)
    place = find(service, held.operation)
    if place == 0 or operation_at(place).part != GIVES:
        return 0
    operation = operation_at(place)
    key = key_at(key_of(service, operation.key))
    part = place_of(key, operation, held.chunk)[0]
    if part >= 0:
        lanes, count = server.sums + index * 4 * server.lanes, min(service.lanes, key.elements - part * service.lanes)
        answer_chunk(service, key, operation.buffer, side_at(key, part, service.step), part, held, lanes, count)
    return 0
