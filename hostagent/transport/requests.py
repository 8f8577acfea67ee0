"""From the seam's operations to the worker core's records, hashes and settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.worker import CoreSettings, scratch_bytes
from hostagent.protocol.worker.core import tag_of
from hostagent.protocol.worker.operations import operation_hash
from hostagent.transport.channel import Kind, Operation
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.session.terms import Lease


def core_type(operation: Operation) -> tuple[DType, int]:
    """The element type as the core names it, and how many of those make one of ours; a type unknown to it is bytes."""
    try:
        return DType[operation.dtype.upper()], 1
    except KeyError:
        if operation.kind is not Kind.RAW:
            raise TransportError(f"{operation.dtype} cannot be calculated with", Cause.LOCAL) from None
        return DType.UINT8, operation.element_bytes


def scratch_memory(operation: Operation, lanes: int) -> NDArray[np.uint8] | None:
    """What the core needs beside the operation's own memory until it has finished. Mostly never touched."""
    dtype, factor = core_type(operation)
    size = scratch_bytes(int(operation.kind), int(dtype), operation.elements * factor, lanes)
    return np.empty(size, np.uint8) if size else None


def request_fields(operation: Operation, scratch: NDArray[Any] | None) -> tuple[int, ...]:
    """A REQUEST record's fields, in their order."""
    dtype, factor = core_type(operation)
    given, wanted = operation.input, operation.output
    return (
        *(int(operation.kind), int(dtype), operation.elements * factor, int(operation.average)),
        tag_of(operation.collective, operation.root, operation.served),
        operation.served.address if operation.served else 0,
        *(given.address, given.first * factor, given.count * factor),
        *(wanted.address, wanted.first * factor, wanted.count * factor),
        0 if scratch is None else address_of(scratch),
    )


def hash_of(operation: Operation, number: int) -> int:
    """What travels in the operation's frames."""
    dtype, factor = core_type(operation)
    tag = tag_of(operation.collective, operation.root, operation.served)
    kind, elements, average = int(operation.kind), operation.elements * factor, int(operation.average)
    return int(operation_hash(kind, int(dtype), elements, average, tag, number))


def core_settings(lease: Lease) -> CoreSettings:
    """The lease in the core's words."""
    return CoreSettings(
        job=lease.job,
        child=lease.child,
        workers=lease.children,
        epoch=lease.epoch,
        lanes=lease.lanes,
        window=lease.window,
        addresses=Addresses(lease.host_mac, lease.switch_mac, lease.host_ip, lease.switch_ip),
        base=lease.base,
        checksum=not lease.zero_checksum_allowed,
        short_no_data=lease.short_no_data,
    )
