"""Creation of a process group in ``init_process_group("netsum")`` and ``new_group``: rendezvous on a name, and a
channel."""

from __future__ import annotations

import os
import uuid
from datetime import timedelta
from typing import Any

from torch._C._distributed_c10d import Store

from hostagent.torch_backend import roll_call
from hostagent.torch_backend.errors import NetsumError, RefusedError, as_torch_error
from hostagent.torch_backend.group import NetsumProcessGroup
from hostagent.torch_backend.options import (
    EXACT,
    PACKED,
    Options,
    precision_of,
    probes_order,
    quantizes_on_device,
    stragglers_of,
)
from hostagent.transport.channel import Channel
from hostagent.transport.errors import TransportError, listed
from hostagent.transport.loopback import local_channel

CONTROLLER_VARIABLE = "NETSUM_CONTROLLER"


def create_group(options: Any, backend_options: Any) -> NetsumProcessGroup:
    """torch's backend creator with the extended interface; raises if the controller is unknown or unreachable."""
    if not isinstance(backend_options, Options | None):
        raise RefusedError(
            f"netsum: pg_options must be None or hostagent.Options, got {type(backend_options).__name__}"
        )
    chosen = backend_options or Options()
    precision, on_device, stragglers = precision_of(chosen), quantizes_on_device(chosen), stragglers_of(chosen)
    if precision == PACKED and stragglers is not None and stragglers.proceeds:
        raise RefusedError("netsum: precision packed and stragglers proceed do not go together: choose one of them")
    reorders = probes_order(chosen)
    rank, size, timeout = options.group_rank, options.group_size, options.timeout
    joined = (options.store, options.group_id, rank, size, timeout)
    channel = local_channel() if size == 1 else _open_channel(chosen.controller, *joined)
    is_default = not options.global_ranks_in_group
    if size > 1 and is_default:
        try:
            _wait_for_all(options.store, rank, size, timeout.total_seconds())
        except NetsumError:
            channel.close()
            raise
    return NetsumProcessGroup(
        options.store,
        rank,
        size,
        timeout,
        channel,
        exact=precision == EXACT,
        packed=precision == PACKED,
        on_device=on_device,
        global_ranks=options.global_ranks_in_group,
        stragglers=stragglers,
        reorders=reorders,
    )


def controller_address(option: str = "") -> str:
    """HOST:PORT of the controller, from the option, else from the environment."""
    address = option or os.environ.get(CONTROLLER_VARIABLE, "")
    source = "the option controller" if option else CONTROLLER_VARIABLE
    host, separator, port = address.rpartition(":")
    if not address:
        raise NetsumError(
            "netsum: no controller. Start the script with `netsum run -n N SCRIPT`, "
            f"or start `netsum controller` and set {CONTROLLER_VARIABLE}=HOST:PORT"
        )
    if not (host and separator and port.isdigit()):
        raise NetsumError(f"netsum: {source} is {address!r}, expected HOST:PORT")
    return address


def agree_on_name(store: Store, group: str, rank: int) -> str:
    """A name for the job that all members of the group derive from the store, and no other job has.

    A store may outlive a group (torchrun's does) and torch then gives the next group of the same name the same keys: so
    each rank counts its own groups of the name, and the n-th of one rank meets the n-th of the others.
    """
    incarnation = store.add(f"netsum/incarnation of rank {rank}", 1)
    mine = f"{group}.{incarnation}.{uuid.uuid4().hex}"
    return str(store.compare_set(f"netsum/job {incarnation}", "", mine).decode())


def _wait_for_all(store: Store, rank: int, size: int, timeout_s: float) -> None:
    """``init_process_group`` returns when every rank has called it, as with gloo: programs ask others for work then,
    by RPC for one, which need the group. So this comes last. (A sub-group's members may come one after the other.)"""
    call = roll_call.next_call(store, "netsum/arrival", rank)
    roll_call.answer(store, call, rank)
    absent = roll_call.missing(store, call, range(size), timeout_s)
    if absent:
        raise NetsumError(
            f"netsum: Timed out: rank {rank} waited {timeout_s:g} s for {size} ranks to call init_process_group, and "
            f"rank {listed(absent)} did not"
        )


def _open_channel(controller: str, store: Store, group: str, rank: int, size: int, timeout: timedelta) -> Channel:
    address = controller_address(controller)
    from hostagent.transport.process import open_job

    name = agree_on_name(store, group, rank)
    try:
        return open_job(address, name, rank, size, timeout.total_seconds())
    except TransportError as error:
        raise as_torch_error(error, f"rank {rank} cannot join the process group") from None
