"""The queue of events: a binary heap of integers in which the order of everything that happens is written.

A key is cycle << 24 | kind << 18 | subject. Events of one cycle therefore come in the order of their kinds, events of
one kind in the order of their subjects, and no two keys that matter are equal: runs repeat to the cycle.
"""

from __future__ import annotations

from numba.core import types

from emulator.native.jit import njit
from pspin_model.machine.layout import G_EVENTS, State
from pspin_model.machine.state import state_type

KIND_SHIFT, CYCLE_SHIFT = 18, 24
SUBJECTS = (1 << KIND_SHIFT) - 1
LAST_CYCLE = (1 << 39) - (1 << 35)
"""The machine's clock ends here, 515 s from its start: a key holds 2**39 cycles, and no event is 2**35 ahead."""

# In the order in which a cycle's events happen. The scheduler goes by what it knew at the end of the cycle before; else
# what gives back resources comes before what takes them.
(E_TASK, E_BURST, E_COMMAND_DONE, E_FEEDBACK, E_COPIED, E_FETCH, E_LINES, E_RESUME, E_DOORBELL, E_COLLECT, E_DISPATCH,
 E_GATHER, E_ISSUE, E_PATH, E_ENGINE, E_REQUEST, E_ACCEPT, E_PORT, E_ARRIVE, E_WRITTEN, E_RELEASE,
 E_WATCH) = range(22)  # fmt: skip


@njit
def push(s: State, cycle: int, kind: int, subject: int) -> None:
    """Have an event happen."""
    heap, place = s.heap, s.g[G_EVENTS]
    s.g[G_EVENTS] = place + 1
    key = (cycle << CYCLE_SHIFT) | (kind << KIND_SHIFT) | subject
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key


push.compile((state_type, types.int64, types.int64, types.int64))
push.disable_compile()


@njit
def pop(s: State) -> int:
    """Take the first event's key; there must be one."""
    heap = s.heap
    first = heap[0]
    size = s.g[G_EVENTS] - 1
    s.g[G_EVENTS] = size
    key = heap[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key
    return int(first)
