"""One exploration from beginning to end: runs machines where the search needs a step, grows its tables, and tells what
was found as a readable sequence of events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
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


class Exploration:
    """A scenario, its machines, and the tables of the search."""

    def __init__(self, scenario: Scenario) -> None:
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
        strides = [bounds.index(tuple(int(i == j) for j in range(4))) if table[:, i].any() else 0 for i in range(4)]
        below = np.zeros(len(bounds), np.uint64)
        for number, mine in enumerate(bounds):
            covered = [other for other, theirs in enumerate(bounds) if all(np.array(theirs) <= mine)]
            below[number] = np.uint64(sum(1 << other for other in covered))
        small = 1 << 12
        return Tables(
            np.array([scenario.workers, len(scenario.switches), scenario.chunks], np.int64),
            np.zeros(16, np.int64),
            np.full(small, -1, np.int64),
            *(np.zeros(small, np.int32) for _ in range(3)),
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
        )

    def _grow(self, *names: str) -> None:
        """Twice as much room."""
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(self.tables, name)
            axis = 1 if name == "views" else 0
            changed[name] = np.concatenate([old, np.zeros_like(old)], axis)
        self.tables = self.tables._replace(**changed)

    def _make_room(self) -> None:
        """For the successors of one more entry, and many more."""
        counts, most = self.tables.counts, search.MOST_SUCCESSORS
        tables = self.tables
        if counts[search.STATES] + most >= len(tables.rows):
            self._grow("rows", "covered")
        if 2 * (counts[search.STATES] + most) >= len(tables.slots):
            slots = np.full(2 * len(tables.slots), -1, np.int32)
            self.tables = self.tables._replace(slots=slots)
            search.fill_slots(self.tables)
        if counts[search.ENTRIES] + most >= len(tables.entry_state):
            self._grow("entry_state", "entry_left", "entry_parent")
        if counts[search.BAGS] + most >= len(tables.bag_first):
            self._grow("bag_first", "bag_size")
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
                self._grow("views")
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
                self._grow("frame_to")
            self.tables.frame_to[number] = key[0]
        return number

    def _run(self, key: int) -> None:
        """A step that the search needs."""
        machine, state, event = key >> 56, (key >> 26) & ((1 << 30) - 1), key & ((1 << 26) - 1)
        kind, argument = event >> ARGUMENT_BITS, event & ((1 << ARGUMENT_BITS) - 1)
        frame = self.frames[argument][1:] if kind == DELIVER else (0, b"")
        step = self.machines[machine].step(self.state_bytes[machine][state], kind, argument, frame)
        sent = [self._number_frame(machine, port, data) for port, data in step.frames]
        number = self._number_state(machine, step)
        if self.sent + len(sent) > len(self.tables.sent):
            self._grow("sent")
        self.tables.sent[self.sent : self.sent + len(sent)] = sent
        if 2 * (self.steps + 1) > len(self.tables.step_keys):
            self._grow_steps()
        search.put_step(self.tables, key, number, self.sent, len(sent))
        self.steps += 1
        self.sent += len(sent)

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
        for machine, each in enumerate(self.machines):
            step = each.first()
            row[machine] = self._number_state(machine, step)
            sent += [self._number_frame(machine, port, frame) for port, frame in step.frames]
        row[-2] = 1 << search.EPOCH_AT
        self._make_room()
        self.sent_first = sent
        everything = len(self.tables.bounds) - 1
        for lost in range(1 << len(sent)):
            losses = lost.bit_count()
            if losses <= self.scenario.bounds.losses:
                items = np.array(sorted(f for i, f in enumerate(sent) if not lost >> i & 1), np.int32)
                row[-1] = search.bag_number(self.tables, items, len(items))
                left = everything - losses * int(self.tables.strides[search.LOSSES])
                search.add_entry(self.tables, row, left, -1 - lost)

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
            self._check_hope(outcome, began, told)
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

    def _check_hope(self, outcome: Outcome, began: float, told: Callable[[Outcome], None]) -> None:
        """From every state the end must be within reach, without a further fault."""
        hopeful = np.zeros(outcome.states, np.uint8)
        while search.mark_hopeful(self.tables, self.scratch, hopeful):
            outcome.passes += 1
            self._make_room()
            told(outcome)
        outcome.seconds = time.monotonic() - began
        hopeless = np.flatnonzero(hopeful == 0)
        if len(hopeless):
            states = self.tables.entry_state[: outcome.expanded]
            entry = int(np.flatnonzero(states == hopeless[0])[0])
            outcome.problem = (
                f"a hang: from here on the workers are never all done, whatever is delivered and whosever timer runs "
                f"out ({len(hopeless)} such states)"
            )
            outcome.events = self._events(entry)

    # --- What was found ---------------------------------------------------------------------------------------------

    def _tell_problem(self, outcome: Outcome, entry: int) -> None:
        row = self.tables.rows[self.tables.entry_state[entry]]
        worker = search.problem_machine(self.tables, row)
        outcome.problem = self.problems[worker, int(row[worker])]
        outcome.events = self._events(entry)

    def _way(self, entry: int) -> list[int]:
        """Entries from the first one on; each was reached from the one before."""
        way = [entry]
        while (entry := int(self.tables.entry_parent[entry])) >= 0:
            way.append(entry)
        return way[::-1]

    def _events(self, entry: int) -> list[Event]:
        way = self._way(entry)
        events = [Event.begin(-1 - int(self.tables.entry_parent[way[0]]))]
        for before, after in zip(way, way[1:], strict=False):
            events.append(self._event(before, after))
        return events

    def _event(self, before: int, after: int) -> Event:
        """The event that led from one entry to another."""
        tables = self.tables
        search.find_successors(tables, self.scratch, tables.entry_state[before], tables.entry_left[before])
        wanted, left = tables.rows[tables.entry_state[after]], tables.entry_left[after]
        for at in range(self.scratch.counts[0]):
            if self.scratch.left[at] == left and (self.scratch.rows[at] == wanted).all():
                return Event.unpacked(int(self.scratch.what[at]), self.frames)
        raise AssertionError("an entry is no successor of its parent")


def packed_view(view: WorkerView) -> int:
    flags = IS_DONE * view.is_done | HAS_ALARM * view.has_alarm | HAS_PROBLEM * bool(view.problem)
    return flags | max(view.lowest, 0) << search.LOWEST_AT | view.in_flight << search.IN_FLIGHT_AT
