"""One exploration from beginning to end: runs machines where the search needs a step, grows its tables, and tells what
was found as a readable sequence of events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tests.explore import search
from tests.explore.machines import ARGUMENT_BITS, DELIVER, Machine, Step, WorkerView, make_machines
from tests.explore.scenario import Scenario
from tests.explore.search import (
    ALL_EXPLORED,
    ENOUGH,
    FOUND_PROBLEM,
    HAS_ALARM,
    HAS_PROBLEM,
    IS_DONE,
    NEEDS_ROOM,
    NEEDS_STEPS,
    Scratch,
    Tables,
)
from tests.explore.trace import Event

ROUND = 20_000
"""Entries between two looks at the clock."""
MOST_BOUNDS = 64
MOST_EVENTS_TO_SILENCE = 30


@dataclass(slots=True)
class Outcome:
    """What an exploration has found out."""

    scenario: Scenario
    states: int = 0
    """Different ones of the whole network."""
    expanded: int = 0
    """Of these with bounds that no earlier visit covered: each is expanded once."""
    transitions: int = 0
    depth: int = 0
    """Events in the longest of the shortest ways to a state."""
    machine_states: list[int] = field(default_factory=list)
    machine_steps: int = 0
    """Steps run as machine code."""
    most_in_flight: int = 0
    ends: int = 0
    """Expanded states in which all workers are done."""
    seconds: float = 0.0
    is_complete: bool = False
    passes: int = 0
    """Over all states, until none was left from which the end is reached."""
    problem: str = ""
    events: list[Event] = field(default_factory=list)
    """That lead to the problem."""

    @property
    def states_per_s(self) -> float:
        return self.states / self.seconds if self.seconds else 0.0


class SymmetryBroken(Exception):
    """A machine does something else than its image under new numbers of the machines."""


class Exploration:
    """A scenario, its machines, and the tables of the search."""

    def __init__(self, scenario: Scenario, *, symmetric: bool = True) -> None:
        self.scenario = scenario
        self.machines: list[Machine] = [*make_machines(scenario)]
        count = len(self.machines)
        self.width = count + 2
        self.state_bytes: list[list[bytes]] = [[] for _ in range(count)]
        self.state_numbers: list[dict[bytes, int]] = [{} for _ in range(count)]
        self.problems: dict[tuple[int, int], str] = {}
        self.frames: list[tuple[int, int, bytes]] = []
        """Machine and port that each is on its way to, and its bytes."""
        self.frame_numbers: dict[tuple[int, int, bytes], int] = {}
        self.steps = 0
        self.sent = 0
        self.symmetries = scenario.symmetries if symmetric else scenario.symmetries[:1]
        self.tables = self._make_tables()
        self.scratch: Scratch = search.make_scratch(self.width)
        self._begin()

    # --- Tables -----------------------------------------------------------------------------------------------------

    def _make_tables(self) -> Tables:
        scenario = self.scenario
        bounds = scenario.bounds.all()
        if len(bounds) > MOST_BOUNDS:
            raise ValueError(f"bounds {scenario.bounds} have {len(bounds)} combinations, at most {MOST_BOUNDS}")
        table = np.array(bounds, np.int64)
        strides = [int(np.prod(table[-1, i + 1 :] + 1)) for i in range(4)]
        below = np.zeros(len(bounds), np.uint64)
        for number, mine in enumerate(bounds):
            covered = [other for other, theirs in enumerate(bounds) if all(np.array(theirs) <= mine)]
            below[number] = np.uint64(sum(1 << other for other in covered))
        small = 1 << 12
        images = len(self.symmetries) - 1
        return Tables(
            np.array([scenario.workers, len(scenario.switches), scenario.chunks], np.int64),
            np.zeros(16, np.int64),
            np.full(small, -1, np.int64),
            np.zeros(small, np.int32),
            np.zeros(small, np.int32),
            np.zeros(small, np.int32),
            np.zeros(small, np.int32),
            np.zeros((len(self.machines), small), np.int64),
            np.zeros(small, np.int32),
            np.full(2 * small, -1, np.int32),
            np.zeros(small, np.int64),
            np.zeros(small, np.int32),
            np.zeros(small, np.int32),
            np.full(2 * small, -1, np.int32),
            np.zeros((small, self.width), np.int32),
            np.zeros(small, np.uint64),
            np.zeros(small, np.int32),
            np.zeros(small, np.uint8),
            np.zeros(small, np.int32),
            table,
            np.array(strides, np.int64),
            below,
            np.array(self.symmetries[1:], np.int64).reshape(images, len(self.machines)),
            np.full((images, len(self.machines), small), -1, np.int32),
            np.full((images, small), -1, np.int32),
            np.full((images, small), -1, np.int32),
        )

    def _grow(self, *names: str) -> None:
        """Twice as much room."""
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(self.tables, name)
            axis = 0 if name in ("rows", "sent", "frame_to") else old.ndim - 1
            changed[name] = np.concatenate([old, np.full_like(old, -1 if name.endswith("_image") else 0)], axis)
        self.tables = self.tables._replace(**changed)

    def _make_room(self) -> None:
        """For the successors of one more entry, and many more."""
        tables = self.tables
        counts, most = tables.counts, search.MOST_SUCCESSORS * (1 + len(self.symmetries))
        if counts[search.STATES] + most >= len(tables.rows):
            self._grow("rows", "covered")
        if 2 * (counts[search.STATES] + most) >= len(tables.slots):
            slots = np.full(2 * len(tables.slots), -1, np.int32)
            self.tables = self.tables._replace(slots=slots)
            search.fill_slots(self.tables)
        if counts[search.ENTRIES] + most >= len(tables.entry_state):
            self._grow("entry_state", "entry_left", "entry_parent")
        if counts[search.BAGS] + most >= len(tables.bag_first):
            self._grow("bag_first", "bag_size", "bag_image")
        if 2 * (counts[search.BAGS] + most) >= len(tables.bag_slots):
            slots = np.full(2 * len(tables.bag_slots), -1, np.int32)
            self.tables = self.tables._replace(bag_slots=slots)
            search.fill_bag_slots(self.tables)
        if counts[search.ITEMS] + most * 32 >= len(tables.bag_items):
            self._grow("bag_items")

    # --- Steps of machines ------------------------------------------------------------------------------------------

    def _number_state(self, machine: int, step: Step) -> int:
        numbers = self.state_numbers[machine]
        number = numbers.get(step.state)
        if number is None:
            number = numbers[step.state] = len(numbers)
            self.state_bytes[machine].append(step.state)
            if number >= self.tables.views.shape[1]:
                self._grow("views", "state_image")
            self.tables.views[machine, number] = packed_view(step.view)
            if step.view.problem:
                self.problems[machine, number] = step.view.problem
        return number

    def _number_frame(self, machine: int, port: int, frame: bytes) -> int:
        """Of a frame that leaves a machine by a port."""
        key = (*self.scenario.cables[machine, port], frame)
        number = self.frame_numbers.get(key)
        if number is None:
            number = self.frame_numbers[key] = len(self.frames)
            self.frames.append(key)
            if number >= len(self.tables.frame_to):
                self._grow("frame_to", "frame_image")
            self.tables.frame_to[number] = key[0]
        return number

    def _run(self, key: int) -> None:
        """A step that the search needs, and its images under all symmetries: they must be the same but for the numbers
        of machines, else `SymmetryBroken`."""
        machine, state, event = key >> 56, (key >> 26) & ((1 << 30) - 1), key & ((1 << 26) - 1)
        made = [self._run_one(*self._image_of(number, machine, state, event)) for number in range(len(self.symmetries))]
        self._pair(made)

    def _image_of(self, symmetry: int, machine: int, state: int, event: int) -> tuple[int, int, int]:
        """A step under new numbers of the machines; symmetry 0 changes nothing."""
        if symmetry == 0:
            return machine, state, event
        tables = self.tables
        if event >> ARGUMENT_BITS == DELIVER:
            event = int(tables.frame_image[symmetry - 1, event])
        return self.symmetries[symmetry][machine], int(tables.state_image[symmetry - 1, machine, state]), event

    def _run_one(self, machine: int, state: int, event: int) -> tuple[int, int, list[int]]:
        """Machine, its state after the step, and the frames that it sends; from the table if they are there."""
        place = search.step_place(self.tables, machine, state, event)
        if place >= 0:
            first, count = int(self.tables.step_first[place]), int(self.tables.step_count[place])
            return machine, int(self.tables.step_state[place]), self.tables.sent[first : first + count].tolist()
        kind, argument = event >> ARGUMENT_BITS, event & ((1 << ARGUMENT_BITS) - 1)
        frame = self.frames[argument][1:] if kind == DELIVER else (0, b"")
        step = self.machines[machine].step(self.state_bytes[machine][state], kind, argument, frame)
        sent = self._number_sent(machine, step)
        number = self._number_state(machine, step)
        if self.sent + len(sent) > len(self.tables.sent):
            self._grow("sent")
        self.tables.sent[self.sent : self.sent + len(sent)] = sent
        if 2 * (self.steps + 1) > len(self.tables.step_keys):
            self._grow_steps()
        search.put_step(self.tables, (machine << 56) | (state << 26) | event, number, self.sent, len(sent))
        self.steps += 1
        self.sent += len(sent)
        return machine, number, sent

    def _number_sent(self, machine: int, step: Step) -> list[int]:
        """What a broken program sends by a port without a cable is lost."""
        sent = [(port, frame) for port, frame in step.frames if (machine, port) in self.scenario.cables]
        return [self._number_frame(machine, port, frame) for port, frame in sent]

    def _pair(self, made: list[tuple[int, int, list[int]]]) -> None:
        """Note which states and frames are images of which; ``made`` has one step's by symmetry. Frames are paired by
        the machine they are on their way to, and in the order in which they were sent there."""
        for number, (machine, state, sent) in enumerate(made):
            for symmetry, renumbered in enumerate(self.symmetries[1:]):
                place = self.symmetries.index(tuple(renumbered[each] for each in self.symmetries[number]))
                _, other_state, other_sent = made[place]
                self._note_image(self.tables.state_image[symmetry, machine], state, other_state)
                if len(sent) != len(other_sent):
                    raise SymmetryBroken(f"{self.scenario.machine_name(machine)} sends another number of frames")
                to = self.tables.frame_to
                mine = sorted(range(len(sent)), key=lambda at: renumbered[to[sent[at]]])
                theirs = sorted(range(len(sent)), key=lambda at: to[other_sent[at]])
                for one, other in zip(mine, theirs, strict=True):
                    if renumbered[to[sent[one]]] != to[other_sent[other]]:
                        raise SymmetryBroken(f"{self.scenario.machine_name(machine)} sends a frame elsewhere")
                    self._note_image(self.tables.frame_image[symmetry], sent[one], other_sent[other])

    def _note_image(self, images: Any, one: int, other: int) -> None:
        if images[one] not in (-1, other):
            raise SymmetryBroken("machines with other numbers do something else")
        images[one] = other

    def _grow_steps(self) -> None:
        old = self.tables
        size = 2 * len(old.step_keys)
        keys, rest = np.full(size, -1, np.int64), [np.zeros(size, np.int32) for _ in range(3)]
        self.tables = old._replace(step_keys=keys, step_state=rest[0], step_first=rest[1], step_count=rest[2])
        for place in np.flatnonzero(old.step_keys != -1):
            values = (old.step_state[place], old.step_first[place], old.step_count[place])
            search.put_step(self.tables, int(old.step_keys[place]), *map(int, values))

    def _begin(self) -> None:
        """All workers have sent what they may; any of these frames may be lost."""
        row, sent = np.zeros(self.width, np.int32), []
        made = []
        for machine, each in enumerate(self.machines):
            step = each.first()
            made.append((machine, self._number_state(machine, step), self._number_sent(machine, step)))
            sent += made[-1][2]
        for machine in range(len(made)):
            self._pair([made[renumbered[machine]] for renumbered in self.symmetries])
        row[-2] = 1 << search.EPOCH_AT
        self._make_room()
        self.sent_first = sent
        everything = len(self.tables.bounds) - 1
        for lost in range(1 << len(sent)):
            losses = lost.bit_count()
            if losses <= self.scenario.bounds.losses:
                self._first_row(row, lost)
                left = everything - losses * int(self.tables.strides[search.LOSSES])
                least = row.copy()
                search.make_least(self.tables, self.scratch, least)
                search.add_entry(self.tables, least, left, -1 - lost)

    def _first_row(self, row: Any, lost: int) -> None:
        """Put the frames into a first state that were not lost."""
        items = np.array(sorted(f for i, f in enumerate(self.sent_first) if not lost >> i & 1), np.int32)
        row[-1] = search.bag_number(self.tables, items, len(items))

    # --- The search -------------------------------------------------------------------------------------------------

    def run(
        self, most_seconds: float = 1e9, most_states: int = 1 << 30, told: Callable[[Outcome], None] = lambda _: None
    ) -> Outcome:
        """Explore everything, or as much as the limits allow, or up to the first problem."""
        outcome, began = Outcome(self.scenario), time.monotonic()
        counts = self.tables.counts
        while True:
            what = search.explore(self.tables, self.scratch, ROUND)
            if what == NEEDS_STEPS:
                self._run_missing()
            elif what == NEEDS_ROOM:
                self._make_room()
            elif what == FOUND_PROBLEM:
                self._tell_problem(outcome, int(counts[search.PROBLEM]))
                break
            elif what == ALL_EXPLORED:
                outcome.is_complete = True
                break
            else:
                assert what == ENOUGH
                self._count(outcome, began)
                told(outcome)
                if outcome.seconds > most_seconds or outcome.states > most_states:
                    break
        self._count(outcome, began)
        if outcome.is_complete:
            self._check_hope(outcome, began, most_seconds, told)
        return outcome

    def _run_missing(self) -> None:
        for key in set(self.scratch.missing[: self.scratch.counts[1]].tolist()):
            self._run(key)

    def _count(self, outcome: Outcome, began: float) -> None:
        counts = self.tables.counts
        outcome.states = int(counts[search.STATES])
        outcome.expanded = int(counts[search.NEXT])
        outcome.transitions = int(counts[search.TRANSITIONS])
        outcome.ends = int(counts[search.DONE])
        outcome.most_in_flight = int(counts[search.DEEPEST_BAG])
        outcome.machine_states = [len(each) for each in self.state_bytes]
        outcome.machine_steps = self.steps
        outcome.seconds = time.monotonic() - began
        if outcome.expanded:
            outcome.depth = len(self._way(outcome.expanded - 1)) - 1

    def _check_hope(self, outcome: Outcome, began: float, most_seconds: float, told: Callable[[Outcome], None]) -> None:
        """From every state the end must be within reach, without a further fault."""
        hopeful, found = np.zeros(outcome.states, np.uint8), 1
        while found:
            found = 0
            for end in range(outcome.states, 0, -ROUND):
                first = max(0, end - ROUND)
                found += search.mark_hopeful(self.tables, self.scratch, hopeful, first, end)
                outcome.seconds = time.monotonic() - began
                told(outcome)
                if outcome.seconds > most_seconds:
                    outcome.is_complete = False
                    return
            outcome.passes += 1
        outcome.seconds = time.monotonic() - began
        hopeless = np.flatnonzero(hopeful == 0)
        if len(hopeless):
            states = self.tables.entry_state[: outcome.expanded]
            entry = int(np.flatnonzero(states == hopeless[0])[0])
            outcome.problem = (
                f"a hang: from here on the workers are never all done, whatever is delivered and whosever timer runs "
                f"out ({len(hopeless)} such states)"
            )
            outcome.events = self._to_silence(entry)

    # --- What was found ---------------------------------------------------------------------------------------------

    def _tell_problem(self, outcome: Outcome, entry: int) -> None:
        outcome.events, row = self._walk(entry)
        worker = search.problem_machine(self.tables, row)
        outcome.problem = self.problems[worker, int(row[worker])]

    def _way(self, entry: int) -> list[int]:
        """Entries from the first one on; each was reached from the one before."""
        way = [entry]
        while (entry := int(self.tables.entry_parent[entry])) >= 0:
            way.append(entry)
        return way[::-1]

    def events_to(self, entry: int) -> list[Event]:
        """That lead to an entry."""
        return self._walk(entry)[0]

    def _to_silence(self, entry: int) -> list[Event]:
        """That lead to an entry, and on without a fault, as a hang is seen best when nothing is in flight any more."""
        events, row = self._walk(entry)
        scratch, tables = self.scratch, self.tables
        for _ in range(MOST_EVENTS_TO_SILENCE):
            search.find_successors(tables, scratch, row, 0)
            if tables.bag_size[row[-1]] == 0 or scratch.counts[0] == 0:
                break
            events.append(Event.unpacked(int(scratch.what[0]), self.frames))
            row = scratch.rows[0].copy()
        return events

    def machine_states_after(self, entry: int) -> list[bytes]:
        """States of all machines after these events, without addresses."""
        row = self._walk(entry)[1]
        for number, machine in enumerate(self.machines):
            machine.restore(self.state_bytes[number][int(row[number])])
        return [machine.portable() for machine in self.machines]

    def _walk(self, entry: int) -> tuple[list[Event], Any]:
        """The events that lead to an entry, and the state that they make, of which the entry's is the least image."""
        way, tables = self._way(entry), self.tables
        lost = -1 - int(tables.entry_parent[way[0]])
        row = np.zeros(self.width, np.int32)
        row[-2] = 1 << search.EPOCH_AT
        self._first_row(row, lost)
        events = [Event.begin(lost)]
        for before, after in pairwise(way):
            what, row = self._follow(row, int(tables.entry_left[before]), after)
            events.append(Event.unpacked(what, self.frames))
        return events, row

    def _follow(self, row: Any, left: int, after: int) -> tuple[int, Any]:
        """The event that leads from a state to an image of an entry's."""
        tables, scratch = self.tables, self.scratch
        search.find_successors(tables, scratch, row, left)
        wanted, left_then = tables.rows[tables.entry_state[after]], tables.entry_left[after]
        for at in range(scratch.counts[0]):
            least = scratch.rows[at].copy()
            search.make_least(tables, scratch, least)
            if scratch.left[at] == left_then and (least == wanted).all():
                return int(scratch.what[at]), scratch.rows[at].copy()
        raise AssertionError("an entry is no successor of its parent")


def packed_view(view: WorkerView) -> int:
    flags = IS_DONE * view.is_done | HAS_ALARM * view.has_alarm | HAS_PROBLEM * bool(view.problem)
    return flags | max(view.lowest, 0) << search.LOWEST_AT | view.in_flight << search.IN_FLIGHT_AT
