"""Answers, written straight into the cells of the ports they leave by (see ``cells``)."""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, store_be32, store_u8, zero_bytes
from emulator.ports.sockets.ecn import mark_frame
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, LANES_AT, Kind
from hostagent.protocol.worker.header import (
    CHUNK_AT,
    FLAGS_AT,
    KIND_AT,
    OPERATION_AT,
    OPERATOR_AT,
    write_checksum,
)
from hostagent.rackserver.compiled_calls import (
    CORE_SHIFT,
    IS_ASKED_SHORT,
    IS_MARKED,
    NO_LANES,
    OPERATOR_SHIFT,
    RECEIVER_SHIFT,
    TO_ALL,
)
from hostagent.rackserver.frames.tx_slots import take_tx_slot
from hostagent.rackserver.records import (
    CHILD_BYTES,
    HEADER_STRIDE,
    MAX_CHILDREN,
    SHORT_HEADER_AT,
    child_at,
    job_at,
    server_at,
)

RESULT, WAITING, ERROR = int(Kind.RESULT), int(Kind.WAITING), int(Kind.ERROR)


@njit(forceinline=True)
def begin_answer(server: Any, job: Any, bit: int, what: int, about: int, is_short: bool) -> Any:
    """Take a cell of the child's port and write everything before the lanes; the cell's address, or 0."""
    place = job.row * MAX_CHILDREN + bit
    port = child_at(server.children + place * CHILD_BYTES).port
    length = LANES_AT if is_short else LANES_AT + 4 * server.lanes
    cell = take_tx_slot(server, what >> CORE_SHIFT, port, length)
    if cell == 0:
        return 0
    copy_bytes(cell, server.headers + place * HEADER_STRIDE + (SHORT_HEADER_AT if is_short else 0), LANES_AT)
    if what & IS_MARKED:
        mark_frame(cell)
    store_u8(cell + KIND_AT, 0, what & 0xFF)
    store_u8(cell + OPERATOR_AT, 0, what >> OPERATOR_SHIFT & 0xFF)
    store_be32(cell + CHUNK_AT, about)
    store_be32(cell + OPERATION_AT, about >> 32)
    return cell


@njit(forceinline=True)
def answer_child(server: Any, job: Any, bit: int, what: int, about: int, payload: int) -> None:
    """One answer. ``what`` and ``about`` as in ``answer``."""
    is_asked_short = what & IS_ASKED_SHORT != 0
    is_short = is_asked_short or (what & NO_LANES != 0 and job.short_allowed != 0 and job.elsewhere == 0)
    cell = begin_answer(server, job, bit, what, about, is_short)
    if cell == 0:
        return
    if is_asked_short:
        store_u8(cell + FLAGS_AT, 0, FLAG_SHORT_RESULT)
    elif not is_short and what & NO_LANES:
        store_u8(cell + FLAGS_AT, 0, FLAG_NO_DATA)
    end_answer(server, job, bit, cell, is_short, payload)


@njit(forceinline=True)
def end_answer(server: Any, job: Any, bit: int, cell: int, is_short: bool, payload: int) -> None:
    """Write the lanes of a frame that is complete up to there, and its checksum."""
    if not is_short:
        if payload == 0:
            zero_bytes(cell + LANES_AT, 4 * server.lanes)
        else:
            copy_bytes(cell + LANES_AT, payload, 4 * server.lanes)
    if child_at(server.children + (job.row * MAX_CHILDREN + bit) * CHILD_BYTES).zero_checksum_allowed == 0:
        write_checksum(cell, LANES_AT if is_short else LANES_AT + 4 * server.lanes)


@njit
def answer(server_address: int, job_address: int, what: int, about: int, payload: int) -> int:
    """Answer one child, or all. Called through ``compiled_calls.answer``, which packs ``what`` and ``about``.

    ``payload`` is the address of the lanes in network byte order; 0 for zeros.
    """
    server, job = server_at(server_address), job_at(job_address)
    if what >> RECEIVER_SHIFT & TO_ALL == 0:
        answer_child(server, job, what >> RECEIVER_SHIFT & 0x3F, what, about, payload)
        return 0
    left = job.copies
    while left != 0:
        answer_child(server, job, trailing_zeros(left), what, about, payload)
        left &= left - 1
    return 0
