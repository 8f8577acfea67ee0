"""The search through the states of a whole network, compiled.

A state of the network is a row of small numbers: the state of every machine, what the controller is doing, and the bag
of frames in flight. What a machine does in a state of its own is looked up in a table (`Tables.step_keys`), which the
caller fills by running the machine; so every step of a machine is run once, and the search itself only combines them.
States are compared whole, number by number: no two different ones are ever taken for one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emulator.native.jit import njit
from tests.explore.machines import (
    ALARM,
    ARGUMENT_BITS,
    BASE_BITS,
    DELIVER,
    FREEZE,
    INSTALL,
    REPEAT,
    RESTART,
    RESUME,
)

Array = np.ndarray[Any, Any]

LOSSES, DUPLICATES, RESTARTS, EARLY = range(4)
"""Columns of a row of bounds."""
RUNNING, FREEZING, INSTALLING, RESUMING = range(4)
"""What the controller is doing: its number is phase | mask << 2 | base << 10 | epoch << 18, where the mask says which
machines have had their part in the phase."""
MASK_AT, BASE_AT, EPOCH_AT = 2, 10, 18
IS_DONE, HAS_ALARM, HAS_PROBLEM = 1, 2, 4
LOWEST_AT, IN_FLIGHT_AT = 8, 16
"""A machine's view: flags | lowest << 8 | chunks in flight << 16."""

STATES, ENTRIES, BAGS, ITEMS, TRANSITIONS, NEXT, DONE, PROBLEM, DEEPEST_BAG = range(9)
"""Counts."""
MOST_IN_FLIGHT = 120
MOST_SUCCESSORS = 1 << 12

# What happened, in 64 bits: kind | machines << 4 | argument << 16 | lost << 40 | duplicated << 52 | is a fault << 53.
MACHINE_AT, ARGUMENT_AT, LOST_AT, DUPLICATED_AT, FAULT_AT = 4, 16, 40, 52, 53


class Tables(NamedTuple):
    """Memory of a search; grown by the caller."""

    shape: Array
    """int64: workers, switches, chunks."""
    counts: Array
    step_keys: Array
    """int64, open addressing: machine << 56 | its state << 26 | event; -1: free."""
    step_state: Array
    step_first: Array
    step_count: Array
    """By the place of the key: the state afterwards, and where in ``sent`` the frames are."""
    sent: Array
    views: Array
    """int64 by machine and state."""
    frame_to: Array
    """int32: machine that a frame is on its way to."""
    bag_slots: Array
    bag_first: Array
    bag_size: Array
    bag_items: Array
    """Bags of frames: sorted, by number."""
    slots: Array
    rows: Array
    """int32: states of machines, controller, bag."""
    covered: Array
    """uint64 by state: which bounds it has been explored with, a bit for each."""
    entry_state: Array
    entry_left: Array
    entry_parent: Array
    """What has been explored, or will be: a state with what is left of the bounds, and from where it was reached."""
    bounds: Array
    """int64 by number of bounds: what is left."""
    strides: Array
    below: Array
    """uint64 by number of bounds: the bounds that these cover."""
    renumbered: Array
    """int64 by symmetry (but for the one that changes nothing) and machine: its new number."""
    state_image: Array
    frame_image: Array
    bag_image: Array
    """int32 by symmetry and (machine and state; frame; bag): the same under the new numbers. -1: not known yet."""


class Scratch(NamedTuple):
    """Successors of one state."""

    counts: Array
    """int64: successors, missing steps."""
    rows: Array
    left: Array
    what: Array
    missing: Array
    items: Array
    base: Array
    more: Array
    row: Array
    image: Array
    least: Array


def make_scratch(width: int) -> Scratch:
    return Scratch(
        np.zeros(2, np.int64),
        np.zeros((MOST_SUCCESSORS, width), np.int32),
        np.zeros(MOST_SUCCESSORS, np.int64),
        np.zeros(MOST_SUCCESSORS, np.int64),
        np.zeros(MOST_SUCCESSORS, np.int64),
        np.zeros(MOST_IN_FLIGHT, np.int32),
        np.zeros(MOST_IN_FLIGHT, np.int32),
        np.zeros(MOST_IN_FLIGHT, np.int32),
        *(np.zeros(width, np.int32) for _ in range(3)),
    )


@njit(internal=True)
def mixed(value: int) -> Any:
    """A number's bits, spread."""
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((x ^ (x >> np.uint64(32))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit
def step_place(tables: Any, machine: int, state: int, event: int) -> int:
    """Where a step is in the table; -1: it has not been run."""
    key = (machine << 56) | (state << 26) | event
    last = len(tables.step_keys) - 1
    place = mixed(key) & last
    while tables.step_keys[place] != -1:
        if tables.step_keys[place] == key:
            return place
        place = (place + 1) & last
    return -1


@njit
def put_step(tables: Any, key: int, state: int, first: int, count: int) -> None:
    """Enter a step that has been run."""
    last = len(tables.step_keys) - 1
    place = mixed(key) & last
    while tables.step_keys[place] != -1:
        place = (place + 1) & last
    tables.step_keys[place] = key
    tables.step_state[place] = state
    tables.step_first[place] = first
    tables.step_count[place] = count


@njit
def bag_number(tables: Any, items: Any, size: int) -> int:
    """The number of a bag of sorted frames, a new one if need be."""
    value = size
    for i in range(size):
        value = mixed(value * 31 + items[i] + 1)
    last = len(tables.bag_slots) - 1
    place = value & last
    while tables.bag_slots[place] != -1:
        bag = tables.bag_slots[place]
        if tables.bag_size[bag] == size:
            first, is_same = tables.bag_first[bag], True
            for i in range(size):
                if tables.bag_items[first + i] != items[i]:
                    is_same = False
                    break
            if is_same:
                return bag
        place = (place + 1) & last
    bag, first = tables.counts[BAGS], tables.counts[ITEMS]
    tables.bag_slots[place] = bag
    tables.bag_first[bag] = first
    tables.bag_size[bag] = size
    for i in range(size):
        tables.bag_items[first + i] = items[i]
    tables.counts[BAGS] = bag + 1
    tables.counts[ITEMS] = first + size
    tables.counts[DEEPEST_BAG] = max(tables.counts[DEEPEST_BAG], size)
    return bag


@njit(internal=True)
def place_of(tables: Any, row: Any) -> int:
    """Where a state is in ``slots``, or where it belongs."""
    value = 0
    for i in range(len(row)):
        value = mixed(value * 31 + row[i] + 1)
    last = len(tables.slots) - 1
    place = value & last
    while tables.slots[place] != -1:
        known, is_same = tables.slots[place], True
        for i in range(len(row)):
            if tables.rows[known, i] != row[i]:
                is_same = False
                break
        if is_same:
            return place
        place = (place + 1) & last
    return place


@njit
def add_entry(tables: Any, row: Any, left: int, parent: int) -> None:
    """A state to explore with what is left of the bounds, unless it has been with as much."""
    place = place_of(tables, row)
    state = tables.slots[place]
    if state == -1:
        state = tables.counts[STATES]
        tables.counts[STATES] = state + 1
        tables.slots[place] = state
        tables.rows[state, :] = row
        tables.covered[state] = np.uint64(0)
    if (tables.covered[state] >> np.uint64(left)) & np.uint64(1):
        return
    tables.covered[state] |= tables.below[left]
    entry = tables.counts[ENTRIES]
    tables.counts[ENTRIES] = entry + 1
    tables.entry_state[entry] = state
    tables.entry_left[entry] = left
    tables.entry_parent[entry] = parent


@njit(internal=True)
def is_done(tables: Any, row: Any) -> bool:
    """Have all workers everything?"""
    done = 0
    for worker in range(tables.shape[0]):
        done += tables.views[worker, row[worker]] & IS_DONE
    return done == tables.shape[0]


@njit
def problem_machine(tables: Any, row: Any) -> int:
    """A worker that is wrong, or -1."""
    for worker in range(tables.shape[0]):
        if tables.views[worker, row[worker]] & HAS_PROBLEM:
            return worker
    return -1


@njit(internal=True)
def put_successor(scratch: Any, row: Any, left: int, what: int) -> None:
    at = scratch.counts[0]
    if at == MOST_SUCCESSORS:
        raise OverflowError("too many things can happen in one state: raise MOST_SUCCESSORS")
    scratch.rows[at, :] = row
    scratch.left[at] = left
    scratch.what[at] = what
    scratch.counts[0] = at + 1


@njit(internal=True)
def insert_sorted(items: Any, size: int, frame: int) -> None:
    at = size
    while at > 0 and items[at - 1] > frame:
        items[at] = items[at - 1]
        at -= 1
    items[at] = frame


@njit(internal=True)
def ones(value: int) -> int:
    count = 0
    while value:
        value &= value - 1
        count += 1
    return count


@njit(internal=True)
def put_step_outcomes(
    tables: Any, scratch: Any, machine: int, event: int, size: int, control: int, left: int, what: int
) -> None:
    """Successors by one step of a machine, from ``scratch.row`` and the frames that stay in flight, ``scratch.base``:
    one for each choice of frames that are lost as they are sent."""
    row = scratch.row
    place = step_place(tables, machine, row[machine], event)
    if place == -1:
        scratch.missing[scratch.counts[1]] = (machine << 56) | (np.int64(row[machine]) << 26) | event
        scratch.counts[1] += 1
        return
    first, count = tables.step_first[place], tables.step_count[place]
    if size + count > MOST_IN_FLIGHT:
        raise OverflowError("too many frames are in flight: raise MOST_IN_FLIGHT")
    before, width = row[machine], len(row)
    row[machine] = tables.step_state[place]
    row[width - 2] = control
    for lost in range(1 << count):
        losses = ones(lost)
        if losses > tables.bounds[left, LOSSES]:
            continue
        scratch.more[:size] = scratch.base[:size]
        total = size
        for i in range(count):
            if not (lost >> i) & 1:
                insert_sorted(scratch.more, total, tables.sent[first + i])
                total += 1
        row[width - 1] = bag_number(tables, scratch.more, total)
        is_fault = 1 if losses else 0
        put_successor(
            scratch,
            row,
            left - losses * tables.strides[LOSSES],
            what | (lost << LOST_AT) | (is_fault << FAULT_AT),
        )
    row[machine] = before


@njit(internal=True)
def bag_under(tables: Any, scratch: Any, symmetry: int, bag: int) -> int:
    """A bag's frames under new numbers of the machines."""
    if tables.bag_image[symmetry, bag] == -1:
        first, size = tables.bag_first[bag], tables.bag_size[bag]
        for i in range(size):
            insert_sorted(scratch.more, i, tables.frame_image[symmetry, tables.bag_items[first + i]])
        tables.bag_image[symmetry, bag] = bag_number(tables, scratch.more, size)
    return tables.bag_image[symmetry, bag]


@njit(internal=True)
def control_under(tables: Any, symmetry: int, control: int) -> int:
    """What the controller is doing under new numbers of the machines."""
    mask = (control >> MASK_AT) & 0xFF
    if mask == 0:
        return control
    workers = tables.shape[0]
    first = workers if control & 3 == INSTALLING else 0
    moved = 0
    for number in range(8):
        if (mask >> number) & 1:
            moved |= 1 << (tables.renumbered[symmetry, first + number] - first)
    return control ^ ((mask ^ moved) << MASK_AT)


@njit
def make_least(tables: Any, scratch: Any, row: Any) -> None:
    """Take the least of a state's images for it: states that differ in the workers' numbers alone are explored once."""
    width = len(row)
    image, least = scratch.image, scratch.least
    least[:] = row
    for symmetry in range(len(tables.renumbered)):
        for machine in range(width - 2):
            image[tables.renumbered[symmetry, machine]] = tables.state_image[symmetry, machine, row[machine]]
        image[width - 2] = control_under(tables, symmetry, row[width - 2])
        image[width - 1] = -1
        # the bag is the last, and its image has to be looked up
        order = 0
        for i in range(width - 1):
            if image[i] != least[i]:
                order = -1 if image[i] < least[i] else 1
                break
        if order > 0:
            continue
        image[width - 1] = bag_under(tables, scratch, symmetry, row[width - 1])
        if order < 0 or image[width - 1] < least[width - 1]:
            least[:] = image
    row[:] = least


@njit
def find_successors(tables: Any, scratch: Any, current: Any, left: int) -> None:
    """Everything that can happen in a state with these bounds, into ``scratch``; what has to be run first, too."""
    workers, switches = tables.shape[0], tables.shape[1]
    row, width = scratch.row, workers + switches + 2
    row[:] = current
    scratch.counts[:] = 0
    control, bag = row[width - 2], row[width - 1]
    size, first = tables.bag_size[bag], tables.bag_first[bag]
    scratch.items[:size] = tables.bag_items[first : first + size]
    deliveries(tables, scratch, size, control, left)
    scratch.base[:size] = scratch.items[:size]
    row[:] = current
    timeouts(tables, scratch, size, control, left)
    row[:] = current
    if tables.bounds[left, RESTARTS] > 0:
        restarts(tables, scratch, left - tables.strides[RESTARTS])
    row[:] = current
    control_steps(tables, scratch, size, control, left)


@njit(internal=True)
def deliveries(tables: Any, scratch: Any, size: int, control: int, left: int) -> None:
    """Every frame in flight may be the next to arrive; a duplicate of it may stay in flight."""
    for at in range(size):
        frame = scratch.items[at]
        if at > 0 and scratch.items[at - 1] == frame:
            continue
        machine = tables.frame_to[frame]
        event = (DELIVER << ARGUMENT_BITS) | frame
        what = DELIVER | (machine << MACHINE_AT) | (np.int64(frame) << ARGUMENT_AT)
        rest = 0
        for other in range(size):
            if other != at:
                scratch.base[rest] = scratch.items[other]
                rest += 1
        put_step_outcomes(tables, scratch, machine, event, rest, control, left, what)
        if tables.bounds[left, DUPLICATES] > 0:
            scratch.base[:size] = scratch.items[:size]
            fewer = left - tables.strides[DUPLICATES]
            fault = (1 << DUPLICATED_AT) | (1 << FAULT_AT)
            put_step_outcomes(tables, scratch, machine, event, size, control, fewer, what | fault)


@njit(internal=True)
def timeouts(tables: Any, scratch: Any, size: int, control: int, left: int) -> None:
    """In silence any worker's clock may run to its next alarm. While something is in flight that is early, and so is
    any retransmission."""
    for worker in range(tables.shape[0]):
        view = tables.views[worker, scratch.row[worker]]
        what, event = ALARM | (worker << MACHINE_AT), ALARM << ARGUMENT_BITS
        has_early = tables.bounds[left, EARLY] > 0
        fewer = left - tables.strides[EARLY]
        if view & HAS_ALARM:
            if size == 0:
                put_step_outcomes(tables, scratch, worker, event, size, control, left, what)
            elif has_early:
                put_step_outcomes(tables, scratch, worker, event, size, control, fewer, what | (1 << FAULT_AT))
        if has_early:
            for chunk in range(tables.shape[2]):
                if (view >> (IN_FLIGHT_AT + chunk)) & 1:
                    what = REPEAT | (worker << MACHINE_AT) | (chunk << ARGUMENT_AT) | (1 << FAULT_AT)
                    event = (REPEAT << ARGUMENT_BITS) | chunk
                    put_step_outcomes(tables, scratch, worker, event, size, control, fewer, what)


@njit(internal=True)
def restarts(tables: Any, scratch: Any, left: int) -> None:
    """Any of the switches lose everything at once, and the controller begins a round."""
    workers, switches, row = tables.shape[0], tables.shape[1], scratch.row
    width, event = len(row), RESTART << ARGUMENT_BITS
    control = row[width - 2]
    for chosen in range(1, 1 << switches):
        is_known = True
        for switch in range(switches):
            machine = workers + switch
            if (chosen >> switch) & 1:
                place = step_place(tables, machine, row[machine], event)
                if place == -1:
                    is_known = False
                    if chosen == 1 << switch:
                        scratch.missing[scratch.counts[1]] = (machine << 56) | (np.int64(row[machine]) << 26) | event
                        scratch.counts[1] += 1
        if not is_known:
            continue
        at = scratch.counts[0]
        what = RESTART | (chosen << MACHINE_AT) | (1 << FAULT_AT)
        put_successor(scratch, row, left, what)
        for switch in range(switches):
            machine = workers + switch
            if (chosen >> switch) & 1:
                scratch.rows[at, machine] = tables.step_state[step_place(tables, machine, row[machine], event)]
        scratch.rows[at, width - 2] = (control >> EPOCH_AT << EPOCH_AT) | FREEZING


@njit(internal=True)
def control_steps(tables: Any, scratch: Any, size: int, control: int, left: int) -> None:
    """What the controller may do next in a round: one machine after another, in any order."""
    phase, mask = control & 3, (control >> MASK_AT) & 0xFF
    if phase == RUNNING:
        return
    base, epoch = (control >> BASE_AT) & 0xFF, control >> EPOCH_AT
    workers, switches = tables.shape[0], tables.shape[1]
    first, count = (workers, switches) if phase == INSTALLING else (0, workers)
    everyone, row = (1 << count) - 1, scratch.row
    argument = (epoch << BASE_BITS) | base
    kind = FREEZE if phase == FREEZING else INSTALL if phase == INSTALLING else RESUME
    if phase == FREEZING:
        argument = 0
    for number in range(count):
        if (mask >> number) & 1:
            continue
        machine, new_mask = first + number, mask | (1 << number)
        following, new_base, new_epoch = phase, base, epoch
        if new_mask == everyone:
            new_mask = 0
            following = (phase + 1) & 3
            if phase == FREEZING:
                new_epoch = epoch + 1
                new_base = lowest_of(tables, row)
        after = following | (new_mask << MASK_AT) | (new_base << BASE_AT) | (new_epoch << EPOCH_AT)
        what = kind | (machine << MACHINE_AT) | (argument << ARGUMENT_AT)
        put_step_outcomes(tables, scratch, machine, (kind << ARGUMENT_BITS) | argument, size, after, left, what)


@njit(internal=True)
def lowest_of(tables: Any, row: Any) -> int:
    """The lowest chunk that a worker lacks. Freezing does not change it."""
    lowest = 0xFF
    for worker in range(tables.shape[0]):
        lowest = min(lowest, (tables.views[worker, row[worker]] >> LOWEST_AT) & 0xFF)
    return lowest


@njit(internal=True)
def has_room(tables: Any) -> bool:
    """For the successors of one more entry."""
    counts, most = tables.counts, MOST_SUCCESSORS * (2 + len(tables.renumbered))
    return (
        counts[STATES] + most < len(tables.rows)
        and 2 * (counts[STATES] + most) < len(tables.slots)
        and counts[ENTRIES] + most < len(tables.entry_state)
        and counts[BAGS] + most < len(tables.bag_first)
        and 2 * (counts[BAGS] + most) < len(tables.bag_slots)
        and counts[ITEMS] + most * 32 < len(tables.bag_items)
    )


ALL_EXPLORED, NEEDS_STEPS, NEEDS_ROOM, FOUND_PROBLEM, ENOUGH = range(5)


@njit
def explore(tables: Any, scratch: Any, most: int) -> int:
    """Go on, breadth first, for at most so many entries."""
    counts = tables.counts
    end = counts[NEXT] + most
    while counts[NEXT] < counts[ENTRIES]:
        if counts[NEXT] >= end:
            return ENOUGH
        if not has_room(tables):
            return NEEDS_ROOM
        entry = counts[NEXT]
        state, left = tables.entry_state[entry], tables.entry_left[entry]
        if problem_machine(tables, tables.rows[state]) >= 0:
            counts[PROBLEM] = entry
            return FOUND_PROBLEM
        if is_done(tables, tables.rows[state]):
            counts[DONE] += 1
            counts[NEXT] = entry + 1
            continue
        find_successors(tables, scratch, tables.rows[state], left)
        if scratch.counts[1] > 0:
            return NEEDS_STEPS
        for at in range(scratch.counts[0]):
            make_least(tables, scratch, scratch.rows[at])
            add_entry(tables, scratch.rows[at], scratch.left[at], entry)
        counts[TRANSITIONS] += scratch.counts[0]
        counts[NEXT] = entry + 1
    return ALL_EXPLORED


@njit
def mark_hopeful(tables: Any, scratch: Any, hopeful: Any, first: int, end: int) -> int:
    """A pass over some states: those from which the end is reached without a further fault, by one more step; returns
    how many are new. Backwards, as most steps lead from states found earlier to states found later."""
    found = 0
    for state in range(end - 1, first - 1, -1):
        if hopeful[state]:
            continue
        if is_done(tables, tables.rows[state]):
            hopeful[state] = 1
            found += 1
            continue
        find_successors(tables, scratch, tables.rows[state], 0)
        for at in range(scratch.counts[0]):
            if (scratch.what[at] >> FAULT_AT) & 1:
                continue
            make_least(tables, scratch, scratch.rows[at])
            place = place_of(tables, scratch.rows[at])
            after = tables.slots[place]
            if after >= 0 and hopeful[after]:
                hopeful[state] = 1
                found += 1
                break
    return found


@njit
def fill_slots(tables: Any) -> None:
    """Enter all states into new, empty slots."""
    for state in range(tables.counts[STATES]):
        tables.slots[place_of(tables, tables.rows[state])] = state


@njit
def fill_bag_slots(tables: Any) -> None:
    """Enter all bags into new, empty slots."""
    last = len(tables.bag_slots) - 1
    for bag in range(tables.counts[BAGS]):
        value = np.int64(tables.bag_size[bag])
        for i in range(tables.bag_size[bag]):
            value = mixed(value * 31 + tables.bag_items[tables.bag_first[bag] + i] + 1)
        place = value & last
        while tables.bag_slots[place] != -1:
            place = (place + 1) & last
        tables.bag_slots[place] = bag
