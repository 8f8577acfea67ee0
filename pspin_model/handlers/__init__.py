"""What a handler may call, and how a function becomes one. The README lists the calls."""

from __future__ import annotations

from pspin_model.handlers.calls import (
    atomic_add,
    atomic_add_elements,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_swap,
    copy_from_host,
    copy_to_host,
    dma,
    dma_test,
    dma_wait,
    fail,
    lock,
    now,
    read_lock,
    read_unlock,
    send_packet,
    test,
    try_lock,
    unlock,
    wait,
    write_lock,
    write_to_host,
    write_unlock,
    yield_core,
)
from pspin_model.handlers.check.subset import register_machine_calls
from pspin_model.handlers.core import charge, charge_cycles, charge_elements
from pspin_model.handlers.decorator import Handler, HandlerError, handler, helper
from pspin_model.handlers.memory import (
    address_of,
    cluster,
    clusters,
    core,
    core_in_cluster,
    handler_memory,
    home_cluster,
    memory,
    message,
    packet,
    packet_bytes,
    packet_l2,
    scratchpad,
    source,
    tag,
)

__all__ = [
    "Handler", "HandlerError", "address_of", "atomic_add", "atomic_add_elements", "atomic_and", "atomic_max",
    "atomic_min", "atomic_or", "atomic_swap", "charge", "charge_cycles", "charge_elements", "cluster", "clusters",
    "copy_from_host", "copy_to_host", "core", "core_in_cluster", "dma", "dma_test", "dma_wait", "fail", "handler",
    "handler_memory", "helper", "home_cluster", "lock", "memory", "message", "now", "packet", "packet_bytes",
    "packet_l2", "read_lock", "read_unlock", "scratchpad", "send_packet", "source", "tag", "test", "try_lock",
    "unlock", "wait", "write_lock", "write_to_host", "write_unlock", "yield_core",
]  # fmt: skip

register_machine_calls((globals()[name] for name in __all__), coreless=(address_of,))
