"""Action profiles and selectors: members, groups, weights, one-shot groups, and which member a packet takes."""

from __future__ import annotations

import random
import zlib

import pytest

from emulator.switch.control import (
    Code,
    ControlError,
    Exact,
    Group,
    GroupMember,
    Member,
    OneShot,
    TableEntry,
    Through,
    ToGroup,
    ToMember,
    WeightedAction,
)
from tests.programs.control_plane import ENGINES, ControlRig, frame, value_of


class Selector:
    """The selector table of ``control_plane.p4``: member m sets the value m."""

    def __init__(self, engine: str) -> None:
        self.rig = ControlRig(engine)
        self.id = self.rig.profiles["selector"]
        self.set_value, self.add_value = self.rig.actions["I.set_value"], self.rig.actions["I.add_value"]

    def member(self, number: int, value: int | None = None) -> Member:
        return Member(number, self.set_value, (number if value is None else value,))

    def add(self, *numbers: int) -> None:
        for number in numbers:
            self.rig.control.insert_member(self.id, self.member(number))

    def group(self, number: int, *members: int | tuple[int, int]) -> Group:
        pairs = [m if isinstance(m, tuple) else (m, 1) for m in members]
        return Group(number, tuple(GroupMember(member, weight) for member, weight in pairs))

    def lead(self, key: int, through: Through) -> TableEntry:
        return TableEntry((Exact(1, key),), 0, 0, (), through=through)

    def taken(self, key: int, flows: list[tuple[int, int]]) -> list[int]:
        return [value_of(a) for a in self.rig.send(*(frame(key, flow=f, other=o, value=999) for f, o in flows))]


def choose(values: list[int], flow: int, other: int) -> int:
    """bmv2: the hash's low 32 bits modulo the number of members."""
    return values[zlib.crc32(flow.to_bytes(4, "big") + other.to_bytes(2, "big")) % len(values)]


FLOWS = [(random.Random(4).getrandbits(32) ^ i * 7919, i * 31 % 65_536) for i in range(100)]


@pytest.mark.parametrize("engine", ENGINES)
def test_entries_lead_to_members_and_groups(engine: str) -> None:
    selector = Selector(engine)
    control = selector.rig.control
    selector.add(10, 20, 30)
    control.insert_group(selector.id, selector.group(1, 10, 20, 30))
    selector.rig.insert("choose", selector.lead(1, ToGroup(1)))
    selector.rig.insert("choose", selector.lead(2, ToMember(20)))
    assert selector.taken(1, FLOWS) == [choose([10, 20, 30], *f) for f in FLOWS]
    assert selector.taken(2, FLOWS[:3]) == [20] * 3
    assert selector.taken(3, FLOWS[:3]) == [999] * 3
    control.modify_member(selector.id, selector.member(20, 77))
    assert selector.taken(2, FLOWS[:1]) == [77]
    assert selector.taken(1, FLOWS) == [choose([10, 77, 30], *f) for f in FLOWS]
    control.modify_group(selector.id, selector.group(1, 30, 10))
    assert selector.taken(1, FLOWS) == [choose([10, 30], *f) for f in FLOWS]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_emptied_group_hits_and_runs_nothing(engine: str) -> None:
    selector = Selector(engine)
    selector.add(1)
    selector.rig.control.insert_group(selector.id, selector.group(1, 1))
    selector.rig.insert("choose", selector.lead(1, ToGroup(1)))
    selector.rig.control.modify_group(selector.id, selector.group(1))
    assert selector.taken(1, FLOWS[:2]) == [999, 999]


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_are_copies_in_order_of_handles(engine: str) -> None:
    """Member 5 has handle 0, 6 has 1; a weight of 3 takes handles 2 and 3 for 5's copies: 5, 6, 5, 5."""
    selector = Selector(engine)
    selector.add(5, 6)
    selector.rig.control.insert_group(selector.id, selector.group(1, (5, 3), 6))
    selector.rig.insert("choose", selector.lead(1, ToGroup(1)))
    assert selector.taken(1, FLOWS) == [choose([5, 6, 5, 5], *f) for f in FLOWS]
    selector.add(7)  # handle 4
    selector.rig.control.modify_group(selector.id, selector.group(1, 5, 6, 7))
    assert selector.taken(1, FLOWS) == [choose([5, 6, 7], *f) for f in FLOWS]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_shot_groups_live_with_their_entries(engine: str) -> None:
    selector = Selector(engine)
    control, table = selector.rig.control, selector.rig.tables["choose"].id

    def one_shot(*pairs: tuple[int, int]) -> OneShot:
        return OneShot(tuple(WeightedAction(selector.set_value, (value,), weight) for value, weight in pairs))

    selector.rig.insert("choose", selector.lead(1, one_shot((3, 1), (4, 2))))
    assert selector.taken(1, FLOWS) == [choose([3, 4, 4], *f) for f in FLOWS]
    control.modify_entry(table, selector.lead(1, one_shot((8, 1), (9, 1))))
    assert selector.taken(1, FLOWS) == [choose([8, 9], *f) for f in FLOWS]
    (entry,) = control.entries(table)
    assert entry.through == one_shot((8, 1), (9, 1))
    with pytest.raises(ControlError, match="don't mix"):
        selector.add(1)
    control.delete_entry(table, selector.lead(1, one_shot()))
    assert selector.taken(1, FLOWS[:1]) == [999]
    selector.add(1)


def test_random_groups_on_both_engines() -> None:
    """Members, groups and entries come and go; both engines choose alike all along."""
    source = random.Random(8)
    both = [Selector(engine) for engine in ENGINES]
    members: set[int] = set()
    groups: dict[int, set[int]] = {}
    for step in range(120):
        number = source.randrange(12)
        chosen = source.sample(sorted(members), source.randrange(len(members) + 1))
        weighted = [(m, source.randrange(1, 4)) for m in chosen]
        for selector in both:
            control = selector.rig.control
            if number not in members:
                control.insert_member(selector.id, selector.member(number))
            elif step % 3 == 0 and not any(number in group for group in groups.values()):
                control.delete_member(selector.id, number)
            elif number not in groups and weighted:
                control.insert_group(selector.id, selector.group(number, *weighted))
                selector.rig.insert("choose", selector.lead(number, ToGroup(number)))
            elif number in groups:
                control.modify_group(selector.id, selector.group(number, *weighted))
        if number not in members:
            members.add(number)
        elif step % 3 == 0 and not any(number in group for group in groups.values()):
            members.remove(number)
        elif number in groups or weighted:
            groups[number] = set(chosen)
        if step % 10 == 9:
            answers = [[s.taken(key, FLOWS[:10]) for key in groups] for s in both]
            assert answers[0] == answers[1]
            listed = [list(s.rig.control.groups(s.id)) for s in both]
            assert listed[0] == listed[1]
    assert len(groups) > 3


def test_refusals() -> None:
    selector = Selector("llvm")
    rig, control = selector.rig, selector.rig.control
    profile = rig.profiles["profile"]
    selector.add(1, 2)
    control.insert_group(selector.id, selector.group(1, 1))
    control.insert_group(selector.id, selector.group(2))
    rig.insert("choose", selector.lead(1, ToGroup(1)))
    nothing = rig.actions["I.nothing"]
    for i in range(8):
        control.insert_member(profile, Member(i, nothing, ()))
    for wrong, code in (
        (lambda: control.insert_member(selector.id, selector.member(1)), Code.ALREADY_EXISTS),
        (lambda: control.modify_member(selector.id, selector.member(9)), Code.NOT_FOUND),
        (lambda: control.delete_member(selector.id, 1), Code.FAILED_PRECONDITION),
        (lambda: control.delete_group(selector.id, 1), Code.FAILED_PRECONDITION),
        (lambda: control.insert_group(selector.id, selector.group(1, 1)), Code.ALREADY_EXISTS),
        (lambda: control.insert_group(selector.id, selector.group(3, 9)), Code.NOT_FOUND),
        (lambda: control.insert_group(selector.id, selector.group(3, (1, 0))), Code.INVALID_ARGUMENT),
        (lambda: control.insert_group(selector.id, Group(3, (GroupMember(1, 5),), 4)), Code.RESOURCE_EXHAUSTED),
        (lambda: control.insert_group(profile, Group(1, ())), Code.INVALID_ARGUMENT),
        (lambda: control.insert_member(profile, Member(9, nothing, ())), Code.RESOURCE_EXHAUSTED),
        (lambda: control.modify_member(profile, Member(1, selector.set_value, (1,))), Code.INVALID_ARGUMENT),
        (lambda: control.insert_member(99, selector.member(1)), Code.NOT_FOUND),
        (lambda: rig.insert("choose", selector.lead(2, ToGroup(2))), Code.FAILED_PRECONDITION),
        (lambda: rig.insert("choose", selector.lead(2, ToMember(9))), Code.NOT_FOUND),
        (lambda: rig.insert("single", selector.lead(2, ToGroup(1))), Code.INVALID_ARGUMENT),
        (lambda: rig.insert("choose", TableEntry((Exact(1, 2),), 0, selector.set_value, (1,))), Code.INVALID_ARGUMENT),
        (lambda: rig.insert("pace", TableEntry((), 1, nothing, (), through=ToMember(1))), Code.INVALID_ARGUMENT),
        (
            lambda: control.set_default_entry(rig.tables["choose"].id, TableEntry((), 0, selector.set_value, (1,))),
            Code.PERMISSION_DENIED,
        ),
    ):
        with pytest.raises(ControlError) as refused:
            wrong()
        assert refused.value.code is code
    assert [m.member_id for m in control.members(selector.id)] == [1, 2]
    assert [g.group_id for g in control.groups(selector.id)] == [1, 2]
    assert selector.taken(1, FLOWS[:1]) == [1]
