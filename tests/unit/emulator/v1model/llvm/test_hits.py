"""Action selectors and direct meters on both engines (simple_switch's rules)."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.switch.control import Exact, Group, GroupMember, Member, MeterConfig, Rate, TableEntry, ToGroup
from emulator.v1model.hashing import crc16
from tests.programs.p4_programs import const, make_program, ref, run_both, send_to, var
from tests.programs.reinjection import TAG, frame, set_field

HIT = ir.Variable("local.hit", ir.BOOL)
P = var("act.p", 16)
SET = ir.Action("set", (P,), (set_field("times", P),))


def table(attached: ir.ExternInstance, *keys: ir.TableKey) -> ir.Table:
    every = (ir.TableKey("k", ref(TAG, "kind"), "exact"), *keys)
    actions = (ir.TableAction("set"), ir.TableAction("NoAction"))
    return ir.Table("t", every, actions, ir.ActionCall("NoAction"), False, 16, attached=(attached,))


def program(attached: ir.ExternInstance, made: ir.Table, actions: tuple[ir.Action, ...] = (SET,)) -> ir.Program:
    after = ir.If(HIT, (set_field("note", const(1, 8)),))
    ingress = (ir.ApplyTable("t", HIT), after, send_to(1))
    return make_program([TAG], ingress, variables=[HIT], actions=actions, tables=[made], externs=[attached])


SELECTOR = ir.ExternInstance("sel", "action_selector", (), ("crc16", 16, 14))
SELECTED = program(SELECTOR, table(SELECTOR, ir.TableKey("s", ref(TAG, "times"), "selector")))


def fill(switch, members: tuple[GroupMember, ...]) -> None:
    profile, placed = switch.program.view.profiles[0], switch.program.view.tables[0]
    action = next(a for a in placed.actions if a.name == "set")
    for number in (1, 2, 3):
        switch.insert_member(profile.id, Member(number, action.id, (number,)))
    switch.insert_group(profile.id, Group(1, (GroupMember(1),)))
    switch.insert_entry(placed.id, TableEntry((Exact(placed.keys[0].id, 5),), 0, 0, (), through=ToGroup(1)))
    switch.modify_group(profile.id, Group(1, members))


def test_a_group_takes_the_member_that_the_hash_of_the_selector_keys_says() -> None:
    """4.6: the hash's low 32 bits modulo the number of members, in ascending order."""
    values = range(20)
    members = (GroupMember(1), GroupMember(2), GroupMember(3))
    result = run_both(SELECTED, [frame(5, times=v) for v in values], prepare=lambda switch: fill(switch, members))
    taken = [int.from_bytes(f[2:4], "big") for f in result.frames[0][1]]
    assert taken == [1 + crc16(v.to_bytes(2, "big")) % 3 for v in values]


def test_an_empty_group_is_a_hit_that_runs_nothing() -> None:
    """4.6: what follows is undefined in bmv2; here it is the code after the table."""
    result = run_both(SELECTED, [frame(5, times=9)], prepare=lambda switch: fill(switch, ()))
    assert result.frames[0][1] == [frame(5, 1, 9)]


METER = ir.ExternInstance("m", "direct_meter", (ir.Bits(16),), ("packets",))
METERED = program(
    METER,
    table(METER),
    (ir.Action("set", (P,), (ir.CallExtern("direct_meter.read", (ref(TAG, "times"),), METER),)),),
)


def test_a_direct_meter_works_at_each_hit_before_the_action() -> None:
    """4.7: whether the action reads it or not."""

    def prepare(switch) -> None:
        placed = switch.program.view.tables[0]
        actions = {a.name: a.id for a in placed.actions}
        config = MeterConfig(Rate(0.0, 1), Rate(0.0, 2))
        for value, action, params in ((5, "set", (0,)), (6, "NoAction", ())):
            entry = TableEntry((Exact(placed.keys[0].id, value),), 0, actions[action], params, meter=config)
            switch.insert_entry(placed.id, entry)

    frames = [frame(kind, times=9) for kind in (5, 5, 5, 6, 6, 7)]
    result = run_both(METERED, frames, prepare=prepare)
    assert [int.from_bytes(f[2:4], "big") for f in result.frames[0][1]] == [0, 1, 2, 0, 1, 9]
