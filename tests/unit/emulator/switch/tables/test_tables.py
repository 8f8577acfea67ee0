"""Tables against a naive model: exact, lpm, ternary, wide keys, under random insertions and deletions."""

from __future__ import annotations

import random

import pytest

from emulator.p4 import ir
from emulator.switch.control import Code, ControlError, Exact, TableEntry, Ternary
from tests.programs.keyed_table import NOTHING, SET, frame, match, table_program
from tests.programs.p4_programs import NO_ACTION, Rig, const, header_type, make_program, ref, run_both, send_to, var


class Model:
    """All entries in a list; the best match by priority (or prefix length), then by age."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, int, int, int]] = []
        """(value, mask, port, priority, parameter), oldest first."""

    def look_up(self, key: int, port: int) -> int | None:
        found = [e for e in self.entries if key & e[1] == e[0] and port == e[2]]
        return max(found, key=lambda e: e[3])[4] if found else None


@pytest.mark.parametrize("engine", ["llvm", "interpreter"])
@pytest.mark.parametrize(
    ("kind", "width"), [("exact", 32), ("exact", 200), ("lpm", 32), ("lpm", 128), ("ternary", 16), ("ternary", 96)]
)
def test_against_a_naive_model(kind: str, width: int, engine: str) -> None:
    source = random.Random(f"{kind}{width}")
    rig, model = Rig(table_program(kind, width), engine, ports=[1], cells=64), Model()
    assert rig.switch.program is not None
    table = rig.switch.program.view.tables[0].id
    ones = (1 << width) - 1
    pool = [source.getrandbits(width) for _ in range(12)] + [i for i in range(12)]
    for step in range(300):
        value, port = source.choice(pool), source.randrange(2)
        mask = {"exact": ones, "lpm": ones ^ ones >> source.choice([0, 1, 7, 8, width // 2, width]),
                "ternary": source.choice([ones, ones >> 3, ones & ~0xFF, 0xF0, 0])}[kind]  # fmt: skip
        # distinct priorities: ties between entries go by handle, which deletions reuse
        priority = step + 1 if kind == "ternary" else 0
        key = (value & mask, mask, port)
        present = [e for e in model.entries if e[:3] == key]
        if present and source.random() < 0.6:
            gone = source.choice(present)
            entry = TableEntry(match(kind, value, mask, width, port), gone[3] if kind == "ternary" else 0, NOTHING, ())
            rig.switch.delete_entry(table, entry)
            model.entries.remove(gone)
        elif not present or kind == "ternary":
            parameter = source.getrandbits(33)
            rig.switch.insert_entry(
                table, TableEntry(match(kind, value, mask, width, port), priority, SET, (parameter,))
            )
            model.entries.append((*key, priority if kind == "ternary" else mask.bit_count(), parameter))
        if step % 10 == 0:
            check(rig, model, pool, width)
    check(rig, model, pool, width)
    assert len(list(rig.switch.entries(table))) == len(model.entries)


def check(rig: Rig, model: Model, pool: list[int], width: int) -> None:
    questions = [(key, port) for key in pool for port in (0, 1)]
    answers = rig.run(*(frame(k, p, width) for k, p in questions))[1]
    for (key, port), answer in zip(questions, answers, strict=True):
        parameter = model.look_up(key, port)
        assert answer[-6] == (parameter is not None)
        assert int.from_bytes(answer[-5:], "big") == (parameter or 0)


def test_equal_priorities_go_to_the_oldest_place() -> None:
    def prepare(switch) -> None:
        for value, mask, parameter in ((0x10, 0xF0, 1), (0x01, 0x0F, 2), (0x11, 0xFF, 3)):
            switch.insert_entry(1, TableEntry((Ternary(1, value, mask), Exact(2, 0)), 7, SET, (parameter,)))
        switch.delete_entry(1, TableEntry((Ternary(1, 0x10, 0xF0), Exact(2, 0)), 7, 0, ()))
        switch.insert_entry(1, TableEntry((Ternary(1, 0x10, 0x10), Exact(2, 0)), 7, SET, (4,)))

    result = run_both(table_program("ternary", 8), [frame(0x11, 0, 8)], prepare=prepare)
    assert result.frames[0][1][0][-1] == 4  # the freed place is the first again
    assert [e.counter.packets for e in result.direct["Ingress.t"]] == [1, 0, 0]


def test_same_match_at_two_priorities() -> None:
    def entry(priority: int, parameter: int) -> TableEntry:
        return TableEntry((Ternary(1, 5, 0xFF), Exact(2, 0)), priority, SET, (parameter,))

    def prepare(switch) -> None:
        switch.insert_entry(1, entry(1, 10))
        switch.insert_entry(1, entry(9, 20))
        switch.insert_entry(1, entry(5, 30))
        switch.delete_entry(1, entry(9, 0))

    result = run_both(table_program("ternary", 8), [frame(5, 0, 8)], prepare=prepare)
    assert result.frames[0][1][0][-1] == 30


def test_entries_of_the_program() -> None:
    def entry(value: int, mask: int, parameter: int, priority: int) -> ir.TableEntry:
        keysets = (ir.Masked(value, mask), ir.Masked(0, 0xFF))
        return ir.TableEntry(keysets, ir.ActionCall("Ingress.set", (parameter,)), priority)

    program = table_program("ternary", 8, entries=(entry(1, 0xFF, 11, 3), entry(0, 1, 12, 2), entry(0, 0, 13, 1)))
    result = run_both(program, [frame(key, 0, 8) for key in (1, 2, 3)])
    assert [f[-1] for f in result.frames[0][1]] == [11, 12, 13]


def test_which_entries_of_the_program_can_be_changed() -> None:
    """None of const entries; of others those that are not const themselves (P4Runtime, "Preinitialized tables")."""

    def first(*, is_const: bool) -> ir.TableEntry:
        call = ir.ActionCall("Ingress.set", (11,))
        return ir.TableEntry((ir.Masked(1, 0xFF), ir.Masked(0, 0xFF)), call, 3, is_const)

    fresh = TableEntry((Exact(2, 0),), 5, SET, (1,))
    known = TableEntry((Ternary(1, 1, 0xFF), Exact(2, 0)), 3, SET, (12,))
    for all_const, is_const in ((True, False), (False, True), (False, False)):
        program = table_program("ternary", 8, entries=(first(is_const=is_const),), entries_are_const=all_const)
        switch = Rig(program).switch
        changes = [
            (lambda: switch.insert_entry(1, fresh), not all_const),  # noqa: B023 (called at once)
            (lambda: switch.modify_entry(1, known), not all_const and not is_const),  # noqa: B023
            (lambda: switch.delete_entry(1, known), not all_const and not is_const),  # noqa: B023
        ]
        for change, may in changes:
            if may:
                change()
                continue
            with pytest.raises(ControlError, match="constant") as refused:
                change()
            assert refused.value.code is Code.PERMISSION_DENIED


def test_refusals_change_nothing() -> None:
    rig = Rig(table_program("exact", 32, size=2))
    switch = rig.switch

    def entry(key: int, action: int = SET, params: tuple[int, ...] = (1,)) -> TableEntry:
        return TableEntry((Exact(1, key), Exact(2, 0)), 0, action, params)

    switch.insert_entry(1, entry(1))
    for wrong, code in (
        (lambda: switch.insert_entry(1, entry(1)), Code.ALREADY_EXISTS),
        (lambda: switch.delete_entry(1, entry(2)), Code.NOT_FOUND),
        (lambda: switch.modify_entry(1, entry(2)), Code.NOT_FOUND),
        (lambda: switch.insert_entry(1, entry(2, action=99)), Code.INVALID_ARGUMENT),
        (lambda: switch.insert_entry(1, entry(2, params=(1 << 33,))), Code.INVALID_ARGUMENT),
        (lambda: switch.insert_entry(9, entry(2)), Code.NOT_FOUND),
    ):
        with pytest.raises(ControlError) as refused:
            wrong()
        assert refused.value.code is code
    switch.insert_entry(1, entry(2))
    with pytest.raises(ControlError, match="full") as refused:
        switch.insert_entry(1, entry(3))
    assert refused.value.code is Code.RESOURCE_EXHAUSTED
    assert [e.match[0].value for e in switch.entries(1)] == [1, 2]  # type: ignore[union-attr]


def test_default_action_can_be_set_and_reset() -> None:
    def prepare(switch) -> None:
        switch.set_default_entry(1, TableEntry((), 0, SET, (77,)))

    result = run_both(table_program("exact", 8), [frame(1, 1, 8)], prepare=prepare)
    assert (result.frames[0][1][0][-6], result.frames[0][1][0][-1]) == (0, 77)
    rig = Rig(table_program("exact", 8))
    prepare(rig.switch)
    assert rig.switch.default_entry(1).params == (77,)
    rig.switch.reset_default_entry(1)
    assert rig.switch.default_entry(1).params == ()


def test_direct_counters_count_hits_only_and_can_be_written() -> None:
    for engine in ("llvm", "interpreter"):
        rig = Rig(table_program("exact", 8), engine)
        entry = TableEntry((Exact(1, 3), Exact(2, 0)), 0, NOTHING, ())
        rig.switch.insert_entry(1, entry)
        rig.run(frame(3, 0, 8), frame(3, 0, 8), frame(4, 0, 8))
        (found,) = rig.switch.entries(1)
        assert (found.counter.packets, found.counter.bytes) == (2, 16)  # type: ignore[union-attr]
        rig.switch.modify_entry(1, TableEntry(entry.match, 0, SET, (9,), type(found.counter)(5, 50)))  # type: ignore[misc]
        (answer,) = rig.run(frame(3, 0, 8))[1]
        assert answer[-1] == 9
        (found,) = rig.switch.entries(1)
        assert (found.counter.packets, found.counter.bytes) == (6, 58)  # type: ignore[union-attr]


def test_key_of_an_invalid_header_is_zero() -> None:
    head = ir.Header("hdr.h", header_type("h_t", ("key", 8)))
    value = var("value", 8)
    out = ir.Header("hdr.o", header_type("o_t", ("value", 8)))
    action = ir.Action("Ingress.set", (value,), (ir.Assign(ref(out, "value"), value),))
    table = ir.Table(
        "Ingress.t",
        (ir.TableKey("key", ref(head, "key"), "exact"),),
        (ir.TableAction("NoAction"), ir.TableAction("Ingress.set")),
        ir.ActionCall("NoAction"),
        False,
        16,
        (ir.TableEntry((ir.Masked(0, 255),), ir.ActionCall("Ingress.set", (42,)), 0),),
        True,
    )
    body = (
        ir.SetValidity(out, True),
        ir.SetValidity(head, False),
        ir.ApplyTable("Ingress.t"),
        send_to(ir.Cast(const(1, 8), ir.Bits(9))),
    )
    program = make_program([head, out], body, actions=[action], tables=[table], parser=ir.Parser(
        "P", (ir.State("start", (ir.Extract(head),), ir.Goto("accept")),)))  # fmt: skip
    assert run_both(program, [b"\x07"]).frames[0][1] == [b"\x2a"]
    assert NO_ACTION.name == "NoAction"
