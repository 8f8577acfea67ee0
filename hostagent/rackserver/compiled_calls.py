"""The server's large functions that are called by address, and a typed call for each.

numba compiles a function again into each of its callers, so these are compiled once and called through addresses in
the SERVER record, under the name of the call:

| call | function | compiled |
|---|---|---|
| ``answer`` | ``frames.answers.answer`` | with the server |
| ``combine`` | ``frames.lanes.combine`` | with the server |
| ``data_owner`` | ``services.served.data_owner`` | with the first service |
| ``complete_data`` | ``services.served.complete_data`` | with the first service |
| ``complete_control`` | ``services.served.complete_control`` | with the first service |
| ``release_core`` | ``services.served.release_core`` | with the first service |
| ``step_chunk`` | ``services.optimizer_step.step_chunk`` | with the first service |
| ``add_resync_state`` | ``services.served.add_resync_state`` | with the first service |
| ``add_transferred_state`` | ``services.served.add_transferred_state`` | with the first service |
| ``full_bitmap`` | ``hierarchy.loops.full_bitmap`` | with the first job of several racks |
| ``forward_full_set`` | ``hierarchy.loops.forward_full_set`` | with the first job of several racks |
| ``answer_duplicate`` | ``hierarchy.loops.answer_duplicate`` | with the first job of several racks |
| ``propagate_error`` | ``hierarchy.loops.propagate_error`` | with the first job of several racks |
| ``take_rack_frame`` | ``hierarchy.loops.take_rack_frame`` | with the first job of several racks |
| ``may_be_replaced`` | ``hierarchy.loops.may_be_replaced`` | with the first job of several racks |
| ``send_up`` | ``frames.leaf.send_up`` | with the first job with a parent |
| ``take_parent_frame`` | ``frames.leaf.take_parent_frame`` | with the first job with a parent |

``server`` and ``job`` are the records, ``index`` is a set's number, ``bit`` a child's. ``core.SERVICE_ENTRIES``,
``core.LEAF_ENTRIES`` and ``hierarchy.memory.TIER_ENTRIES`` bind names to functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.calls import call_compiled
from emulator.native.jit import njit

TO_ALL = 1 << 8
"""As the receiver of an answer, instead of a child's bit: all children of the job."""

OPERATOR_SHIFT, RECEIVER_SHIFT, NO_LANES, IS_MARKED, IS_ASKED_SHORT, CORE_SHIFT = 8, 16, 1 << 25, 1 << 26, 1 << 27, 32
"""How ``answer`` packs its arguments: kind | operator | receiver | NO_LANES | IS_MARKED | IS_ASKED_SHORT | core, and
chunk | operation << 32."""

HAS_DATA, IS_LAST, IS_MAXIMUM, COUNT_SHIFT = 1, 2, 4, 3
"""How ``combine`` packs its flags and count."""


@njit(forceinline=True)
def answer(
    server: Any,
    job: Any,
    core: int,
    kind: int,
    receiver: int,
    operator: int,
    chunk: int,
    operation: int,
    lanes: int,
    no_lanes: Any,
    is_marked: Any,
    is_asked_short: Any = False,
) -> None:
    """Send a frame to the child whose bit ``receiver`` is, or TO_ALL.

    ``lanes`` is the address of the lanes in network byte order, 0 for zeros. ``no_lanes``: without data, and without
    lanes where the job allows it. ``is_marked``: with a mark of congestion (ECN). ``is_asked_short``: without lanes, as
    the receiver needs none.
    """
    what = kind | np.int64(operator) << OPERATOR_SHIFT | receiver << RECEIVER_SHIFT | core << CORE_SHIFT
    if no_lanes:
        what |= NO_LANES
    if is_marked:
        what |= IS_MARKED
    if is_asked_short:
        what |= IS_ASKED_SHORT
    about = np.int64(chunk) | np.int64(operation) << 32
    call_compiled(server.answer, server.address, job.address, what, about, lanes)


@njit(forceinline=True)
def combine(server: Any, lanes: int, table: int, count: int, begun: Any, is_last: Any, is_maximum: Any) -> None:
    """Add the lanes at the ``count`` addresses in ``table`` to a set's ``lanes``, or take the maximum.

    ``begun``: the set holds numbers already. ``is_last``: afterwards its lanes are in network byte order.
    """
    how = (HAS_DATA if begun else 0) | (IS_LAST if is_last else 0) | (IS_MAXIMUM if is_maximum else 0)
    call_compiled(server.combine, lanes, table, how | count << COUNT_SHIFT, 0, server.lanes)


# --- services ---


@njit(forceinline=True)
def data_owner(server: Any, job: Any, frame: int) -> Any:
    """The core that owns a data frame of a service's job; -1 where no operation is known for it."""
    return call_compiled(server.data_owner, job.service, frame, job.tier)


@njit(forceinline=True)
def complete_data(server: Any, job: Any, index: int, core: int) -> Any:
    """A data chunk is complete; ANSWER or WITHHOLD."""
    return call_compiled(server.complete_data, server.address, job.address, index, core)


@njit(forceinline=True)
def complete_control(server: Any, job: Any, index: int, core: int) -> Any:
    """An announcement or a chunk of exponents is complete; ANSWER or WITHHOLD."""
    return call_compiled(server.complete_control, server.address, job.address, index, core)


@njit(forceinline=True)
def release_core(server: Any, job: Any, core: int) -> None:
    """Answer the withheld results in the blocks that a core owns."""
    call_compiled(server.release_core, server.address, job.address, core)


@njit(forceinline=True)
def step_chunk(server: Any, service: Any, key: int, part: int, gradient: int, count: int) -> Any:
    """Run the optimizer on chunk ``part`` of the KEY record at an address; the version that it wrote."""
    return call_compiled(server.step_chunk, service.address, key, part, gradient, count)


@njit(forceinline=True)
def add_resync_state(server: Any, job: Any, index: int) -> None:
    """Add this rack's resynchronization state to a full announcement."""
    call_compiled(server.add_resync_state, server.address, job.address, index)


@njit(forceinline=True)
def add_transferred_state(server: Any, job: Any, index: int) -> None:
    """Put weights or optimizer state into a full data chunk, where this rack sends them to others."""
    call_compiled(server.add_transferred_state, server.address, job.address, index)


# --- jobs of several racks ---


@njit(forceinline=True)
def full_bitmap(server: Any, job: Any, chunk: int) -> Any:
    """The bitmap of the chunk's set when it is full."""
    return call_compiled(server.full_bitmap, job.address, chunk)


@njit(forceinline=True)
def forward_full_set(server: Any, job: Any, index: int, core: int) -> None:
    """A set is full: send its partial sum to the rack above, or take it as the total."""
    call_compiled(server.forward_full_set, server.address, job.address, index, core)


@njit(forceinline=True)
def answer_duplicate(server: Any, job: Any, index: int, core: int, bit: int) -> None:
    """A duplicate contribution, of a child of this rack or of a rack below."""
    call_compiled(server.answer_duplicate, server.address, job.address, index, core, bit)


@njit(forceinline=True)
def propagate_error(server: Any, job: Any, index: int, core: int, sender: int) -> None:
    """A set has failed: send the error to the adjacent racks of its tree, except the one that reported it."""
    call_compiled(server.propagate_error, server.address, job.address, index, core, sender)


@njit(forceinline=True)
def take_rack_frame(server: Any, core: int, frame: int, length: int, bit: int) -> None:
    """A frame of another rack that is not a contribution."""
    call_compiled(server.take_rack_frame, server.address, core, frame, length, bit)


@njit(forceinline=True)
def may_be_replaced(server: Any, job: Any, index: int) -> Any:
    """Whether a complete MAX set may be reused for its successor's chunk."""
    return call_compiled(server.may_be_replaced, server.address, job.address, index) != 0


# --- leaves of a tree ---


@njit(forceinline=True)
def send_up(server: Any, job: Any, index: int, core: int, child: int, is_marked: Any) -> None:
    """Send a full set's sum to the parent, in the name of the worker with the number ``child``."""
    what = (IS_MARKED if is_marked else 0) | core << CORE_SHIFT
    call_compiled(server.send_up, server.address, job.address, index, what, child)


@njit(forceinline=True)
def take_parent_frame(server: Any, core: int, frame: int, length: int, bit: int) -> None:
    """A frame of the parent that is no message; ``bit`` is that of the worker that it names."""
    call_compiled(server.take_parent_frame, server.address, core, frame, length, bit)
