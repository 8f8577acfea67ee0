"""Which elements the frames of an exact float SUM carry, and in which form. The same arithmetic on every rank.

A SUM in *one round* (``ONE_ROUND``) is sent in the form that holds the type's whole range, so that no exponents are
needed; its frames take as many elements as fit. All ranks choose it by type, count, lanes and workers: it is every
SUM of floats that fits ``ONE_ROUND_FRAMES`` frames.

Any other exact SUM (``BY_RANGE``) is cut into blocks of B elements, and these into groups of G. R(g) carries, for each
block of group g, the largest and the least exponent and whether there is a NaN or an infinity; from these follow the
block's form and its number of frames. The numbers are R(0), R(1), D(0), R(2), D(1), ..., as for ``plan``, but D(g) has
a length only when the result of R(g) has come, so D(g) and R(g + 2) are numbered then.

Scratch memory: 8 bytes for each block, its unit (int16), its form (int16) and the data frames before it (int32).
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_i16, load_i32, store_i16, store_i32
from hostagent.protocol.quantizer.exact import whole_range_form, width_of
from hostagent.protocol.quantizer.formats import unit_exponent_of
from hostagent.protocol.worker.plan import LARGEST_GROUP

ROUNDED, BY_RANGE, ONE_ROUND = 0, 1, 2
"""How a SUM of floats is encoded: block floating point; exactly, after its exponents; exactly, without exponents."""

ONE_ROUND_FRAMES = 4
"""The most frames for which the exponents are left out."""

RANGE_LANES = 3
"""Lanes in R(g) for each block."""
BLOCK_BYTES = 8
FULL_WIDTHS = 8
"""A block is as large as the elements that fit in m frames of m lanes an element, for every m up to this."""


@njit
def block_elements(lanes: int) -> int:
    """B: elements of a block. With up to 8 lanes an element it fills that number of frames, the last but a little."""
    least = lanes
    for width in range(2, min(FULL_WIDTHS, lanes) + 1):
        least = min(least, lanes // width * width)
    return least


@njit
def group_blocks(lanes: int) -> Any:
    """G: blocks whose ranges one frame carries."""
    return min(lanes // RANGE_LANES, LARGEST_GROUP)


@njit
def one_round_elements(dtype: int, lanes: int, workers: int, workers_log2: int) -> Any:
    """Elements in a frame without exponents."""
    return lanes // width_of(dtype, whole_range_form(dtype, workers, workers_log2), workers)


@njit
def frame_elements(core: Any, operation: Any, form: int) -> Any:
    """Elements in one data frame of a form."""
    return core.lanes // width_of(operation.dtype, form, core.workers)


@njit
def unit_of_block(operation: Any, block: int) -> Any:
    """The exponent of a block's unit."""
    return load_i16(operation.scratch_address + BLOCK_BYTES * block, 0)


@njit
def form_of_block(operation: Any, block: int) -> Any:
    """A block's form."""
    return load_i16(operation.scratch_address + BLOCK_BYTES * block, 1)


@njit
def frames_before(operation: Any, block: int) -> Any:
    """Data frames of the blocks before one that is numbered, or the first that is not."""
    return load_i32(operation.scratch_address + BLOCK_BYTES * block, 1)


@njit
def note_frames_before(operation: Any, block: int, frames: int) -> None:
    """Write what ``frames_before`` reads."""
    store_i32(operation.scratch_address + BLOCK_BYTES * block, 1, frames)


@njit
def pack_block(operation: Any, block: int, unit: int, form: int) -> None:
    """Note what the ranges of a block said."""
    store_i16(operation.scratch_address + BLOCK_BYTES * block, 0, unit)
    store_i16(operation.scratch_address + BLOCK_BYTES * block, 1, form)


@njit
def block_span(operation: Any, block: int) -> tuple[int, int]:
    """(first element, count) of a block."""
    first = block * operation.per_chunk
    return first, min(operation.per_chunk, operation.elements - first)


@njit
def frames_of_block(core: Any, operation: Any, block: int) -> Any:
    """Data frames of a block whose form is known."""
    per_frame = frame_elements(core, operation, form_of_block(operation, block))
    return (block_span(operation, block)[1] + per_frame - 1) // per_frame


@njit
def number_group(core: Any, operation: Any) -> Any:
    """Number the next group's data frames, and R of the group after the next; returns how many numbers that takes."""
    first = operation.numbered_groups * operation.group_chunks
    end = min(first + operation.group_chunks, operation.chunks)
    frames = operation.data_frames
    for block in range(first, end):
        note_frames_before(operation, block, frames)
        frames += frames_of_block(core, operation, block)
    if end < operation.chunks:
        note_frames_before(operation, end, frames)
    added = frames - operation.data_frames
    if operation.numbered_groups + 2 < operation.groups:
        added += 1
    operation.data_frames = frames
    operation.numbered_groups += 1
    operation.count += added
    return added


@njit
def range_position(operation: Any, group: int) -> Any:
    """Position of R(group), which is numbered."""
    if group < 2:
        return group
    return group + frames_before(operation, (group - 1) * operation.group_chunks)


@njit
def block_position(operation: Any, block: int) -> Any:
    """Position of a numbered block's first data frame."""
    return min(block // operation.group_chunks + 2, operation.groups) + frames_before(operation, block)


@njit
def exact_part(operation: Any, position: int) -> tuple[bool, int]:
    """(is it data, number of the data frame or of the group) of a numbered position."""
    if position < min(2, operation.groups):
        return False, position
    low, high = 0, min(operation.numbered_groups * operation.group_chunks, operation.chunks) - 1
    while low < high:  # the last block that begins at or before the position
        middle = (low + high + 1) // 2
        if block_position(operation, middle) <= position:
            low = middle
        else:
            high = middle - 1
    group = low // operation.group_chunks
    is_last = low == min((group + 1) * operation.group_chunks, operation.chunks) - 1
    if is_last and group + 2 < operation.groups and range_position(operation, group + 2) == position:
        return False, group + 2
    return True, position - min(group + 2, operation.groups)


@njit
def block_of_frame(operation: Any, frame: int) -> Any:
    """The block of a numbered data frame."""
    low, high = 0, min(operation.numbered_groups * operation.group_chunks, operation.chunks) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if frames_before(operation, middle) <= frame:
            low = middle
        else:
            high = middle - 1
    return low


@njit
def data_frame(core: Any, operation: Any, index: int) -> Any:
    """(first element, count, form, unit) of a data frame."""
    if operation.exact == ONE_ROUND:
        first = index * operation.per_chunk
        form = whole_range_form(operation.dtype, core.workers, core.workers_log2)
        count = min(operation.per_chunk, operation.elements - first)
        return first, count, form, unit_exponent_of(operation.dtype)
    block = block_of_frame(operation, index)
    form = form_of_block(operation, block)
    begin, length = block_span(operation, block)
    per_frame = frame_elements(core, operation, form)
    offset = (index - frames_before(operation, block)) * per_frame
    return begin + offset, min(per_frame, length - offset), form, unit_of_block(operation, block)
