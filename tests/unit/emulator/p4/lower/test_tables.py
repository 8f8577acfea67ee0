"""What becomes of tables: keys of every kind, priorities of entries, properties, bound arguments."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4 import ir
from emulator.p4.frontend import Checked, compile_source
from emulator.p4.ir.verify import verify
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.text import WHOLE, program


def compiled(local: str, apply: str = "t.apply();", **pieces: str) -> Checked:
    found = compile_source(program(local=local, apply=apply, **pieces), architecture=WHOLE)
    verify(found.program, V1MODEL_TARGET)
    return found


def table(local: str, apply: str = "t.apply();", **pieces: str) -> ir.Table:
    return compiled(local, apply, **pieces).program.tables[0]


def entries(
    text: str, keys: str = "meta.m8: ternary;", properties: str = ""
) -> list[tuple[tuple[ir.KeySet, ...], int]]:
    found = table(f"table t {{ key = {{ {keys} }} actions = {{ NoAction; }} {properties} {text} }}")
    return [(e.keysets, e.priority) for e in found.entries]


PRIORITIES = {
    "const entries go by their order": ("const entries = { 1: NoAction(); 2: NoAction(); 3: NoAction(); }", "", [3, 2, 1]),
    "so do others without priorities": ("entries = { 1: NoAction(); 2: NoAction(); 3: NoAction(); }", "", [3, 2, 1]),
    "a delta": ("entries = { 1: NoAction(); 2: NoAction(); }", "priority_delta = 10;", [11, 1]),
    "one without has the delta less": (
        "entries = { priority = 30: 1: NoAction(); 2: NoAction(); priority = 40: 3: NoAction(); 4: NoAction(); }",
        "priority_delta = 5;", [30, 25, 40, 35]),
    "the smallest wins": (
        "entries = { priority = 10: 1: NoAction(); 2: NoAction(); priority = 3: 3: NoAction(); }",
        "largest_priority_wins = false;", [4, 3, 11]),
    "the smallest wins, without priorities": (
        "entries = { 1: NoAction(); 2: NoAction(); }", "largest_priority_wins = false; priority_delta = 4;", [5, 1]),
    "bmv2's annotation": (
        "const entries = { 1: NoAction() @priority(7); 2: NoAction(); 3: NoAction() @priority(1); }", "", [1, 6, 7]),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIORITIES)
def test_priorities(name: str) -> None:
    text, properties, found = PRIORITIES[name]
    assert [priority for _, priority in entries(text, properties=properties)] == found


def test_keysets_of_each_match_kind() -> None:
    keys = "meta.m8: range; meta.m16: optional; meta.m32: ternary; meta.s8: lpm; hdr.one.a: exact;"
    found = entries(
        "const entries = { (1 .. 5, 7, 0xf0 &&& 0xff, -1, 3): NoAction(); (9, _, 5, -128 &&& 0xf0, 3): NoAction(); "
        "(_, _, _, _, 4): NoAction(); }", keys)  # fmt: skip
    masked, between = ir.Masked, ir.Between
    ones16, ones32 = 0xFFFF, 0xFFFFFFFF
    assert [k for k, _ in found] == [
        (between(1, 5), masked(7, ones16), masked(0xF0, 0xFF), masked(0xFF, 0xFF), masked(3, 0xFF)),
        (between(9, 9), masked(0, 0), masked(5, ones32), masked(0x80, 0xF0), masked(3, 0xFF)),
        (between(0, 255), masked(0, 0), masked(0, 0), masked(0, 0), masked(4, 0xFF)),
    ]


def test_an_entry_that_can_never_match_is_left_out_with_a_warning() -> None:
    """Two equal keys are an error; here they are only known to be equal when the control is instantiated."""
    table = "table t { key = { x: exact; } actions = { a; } default_action = a(0);" \
        " const entries = { 1: a(1); 2: a(2); k: a(3); } }"  # fmt: skip
    body = f"action a(bit<8> y) {{ x = y; }} {table} apply {{ t.apply(); }}"
    declarations = f"control Sub(inout bit<8> x)(bit<8> k) {{ {body} }}\n"
    found = compiled("Sub(1) sub;", "sub.apply(meta.m8);", declarations=declarations)
    assert [e.call.arguments for e in found.program.tables[0].entries] == [(1,), (2,)]
    assert any("never match" in str(w) for w in found.warnings)


PROPERTIES = """
direct_counter(CounterType.bytes) dc;
direct_meter<bit<8>>(MeterType.packets) dm;
action_selector(HashAlgorithm.crc16, 32w16, 32w8) sel;
action a(bit<8> x) { dm.read(meta.m8); }
@name("renamed") table t {
    key = { meta.m8: exact @name("first"); meta.m16: selector; meta.m32: selector; hdr.one.a: optional; meta.flag: exact; }
    actions = { a; @tableonly NoAction; }
    const default_action = a(3);
    size = 5 + 7;
    implementation = sel;
    counters = dc;
    meters = dm;
    support_timeout = true;
    somebody_elses = 17;
}
"""


def test_properties() -> None:
    found = compiled(PROPERTIES)
    made = found.program.tables[0]
    assert [(k.name, k.match_kind) for k in made.keys] == [
        ("first", "exact"), ("meta.m16", "selector"), ("meta.m32", "selector"), ("hdr.one.a", "optional"),
        ("meta.flag", "exact"),
    ]  # fmt: skip
    assert (made.name, made.size, made.support_timeout, made.default_is_const) == ("I.renamed", 12, True, True)
    assert [(e.name, e.extern, e.arguments) for e in made.attached] == [
        ("I.sel", "action_selector", ("crc16", 16, 8)),
        ("I.dc", "direct_counter", ("bytes",)),
        ("I.dm", "direct_meter", ("packets",)),
    ]
    assert [a.scope for a in made.actions] == [ir.ActionScope.TABLE_AND_DEFAULT, ir.ActionScope.TABLE_ONLY]
    assert any("somebody_elses" in str(w) for w in found.warnings)


def test_an_instance_made_in_a_property_is_called_by_its_annotation() -> None:
    local = """table t { key = { meta.m8: exact; } actions = { NoAction; }
        @name("my_profile") implementation = action_profile(32w64); }"""
    found = compiled(local)
    assert [(e.name, e.extern, e.arguments) for e in found.program.tables[0].attached] == [
        ("my_profile", "action_profile", (64,))
    ]
    assert [p.preamble.name for p in found.p4info.action_profiles] == ["my_profile"]


def test_a_size_and_entries_that_a_constructor_decides() -> None:
    declarations = """control Sub(inout bit<8> v)(bit<32> n, bit<8> first) {
        action a(bit<8> x) { v = x; }
        table t { key = { v: exact; } actions = { a; } default_action = a(first + 1); size = n;
                  const entries = { first: a(first); } }
        apply { t.apply(); }
    }
    """
    found = table("Sub(40, 9) s;", "s.apply(meta.m8);", declarations=declarations)
    assert (found.size, found.default_action.arguments) == (40, (10,))
    assert (found.entries[0].keysets, found.entries[0].call.arguments) == ((ir.Masked(9, 0xFF),), (9,))


def test_variants_of_an_action_are_one_to_the_control_plane() -> None:
    local = """action put(inout bit<8> to, bit<8> v) { to = v; }
    table t { key = { meta.m16: exact; } actions = { put(meta.m8); } default_action = put(meta.m8, 1); }
    table u { key = { meta.m16: exact; } actions = { put(hdr.one.a); NoAction; } }"""
    found = compiled(local, "t.apply(); u.apply();")
    names = [a.name for a in found.program.actions]
    assert names == ["I.put", "I.put #2", "NoAction"]
    assert {ir.control_plane_action(name) for name in names} == {"I.put", "NoAction"}
    assert sorted(a.preamble.name for a in found.p4info.actions) == ["I.put", "NoAction"]
    one, other = found.p4info.tables
    assert one.action_refs[0].id == other.action_refs[0].id != 0


def test_names() -> None:
    declarations = """control Sub(inout bit<8> v) {
        @name("x") action a() { } @name(".y") action b() { } @name("p.q") action c() { }
        @name(".top") table t { actions = { a; b; c; } default_action = a(); }
        @name("r") register<bit<8>>(4) reg;
        apply { t.apply(); reg.write(0, v); }
    }
    @name("glob") action everywhere() { }
    """
    local = '@name("inst") Sub() s; table u { actions = { everywhere; } default_action = everywhere(); }'
    found = compiled(local, "s.apply(meta.m8); u.apply();", declarations=declarations).program
    assert [t.name for t in found.tables] == ["top", "I.u"]
    assert [a.name for a in found.actions] == ["I.inst.x", "y", "I.inst.p.q", "glob"]
    assert [e.name for e in found.externs] == ["I.inst.r"]


def test_annotations_are_carried() -> None:
    local = """@a @b(1, "x") @c[k = 1] @hidden action act(@d bit<8> x) { }
    @e table t { key = { meta.m8: exact @f("g"); } actions = { @h act; } default_action = act(0); }
    @i register<bit<8>>(4) r;"""
    found = compiled(local, "t.apply(); r.write(0, 1);").program
    note = ir.Annotation
    assert found.actions[0].annotations == (note("a"), note("b", '1 , "x"'), note("c", "k = 1"), note("hidden"))
    assert found.tables[0].annotations == (note("e"),)
    assert found.tables[0].keys[0].annotations == (note("f", '"g"'),)
    assert found.tables[0].actions[0].annotations == (note("h"),)
    assert found.externs[0].annotations == (note("i"),)
