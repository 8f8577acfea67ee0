"""P4Info: p4c's ids, names, aliases, order and type information."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

from typing import Any

import pytest

from emulator.p4.errors import CompileError, Kind
from emulator.p4.p4info.ids import ACTION, TABLE, aliases, assign_ids, name_hash
from emulator.p4.p4info.tables import inner_ids
from emulator.rpc.p4protos import p4info_pb2
from tests.programs.text import compile_text, program


def one_at_a_time(text: bytes) -> int:
    """Bob Jenkins' hash, written out from its description (32-bit, seed 0)."""
    value = 0
    for byte in text:
        value = (value + byte) % 2**32
        value = (value * 1025) % 2**32  # h += h << 10
        value ^= value >> 6
    value = (value * 9) % 2**32
    value ^= value >> 11
    return (value * 32769) % 2**32


RECORDED = {"NoAction": 21257015}
"""NoAction's id in every P4Info that p4c writes: 0x01 and the low 24 bits of the hash."""


def test_known_id() -> None:
    assert ACTION << 24 | name_hash("NoAction") & 0xFFFFFF == RECORDED["NoAction"]


@pytest.mark.parametrize("name", ["", "a", "Ingress.jobs", "MyIngress.ipv4_lpm", "\u00e9"])
def test_hash(name: str) -> None:
    assert name_hash(name) == one_at_a_time(name.encode())


def test_collisions_take_the_next_free_number() -> None:
    first = assign_ids({TABLE: ["t"]}, {})[TABLE, "t"]
    moved = assign_ids({TABLE: ["t"], ACTION: ["a"]}, {(TABLE, "other"): first})
    assert moved[TABLE, "t"] == first + 1


def test_aliases_are_the_shortest_suffixes_nobody_shares() -> None:
    found = aliases(["drop", "ingress.drop", "ingress.t", "egress.t", "a.b.c"])
    assert found == {
        "drop": "drop",
        "ingress.drop": "ingress.drop",
        "ingress.t": "ingress.t",
        "egress.t": "egress.t",
        "a.b.c": "c",
    }


def test_inner_ids() -> None:
    assert inner_ids([None, None]) == [1, 2]
    assert inner_ids([7, None, None]) == [7, 2, 3]
    assert inner_ids([2, None, None]) == [2, 3, 4]
    assert inner_ids([None, 1]) == [2, 1]


LOCAL = """
    direct_counter(CounterType.packets_and_bytes) hits;
    @brief("how many") counter(16, CounterType.bytes) sizes;
    register<bit<32>>(64) @name("cells") cells0;
    @mine(a, b) @hidden2 action set(@id(5) port_t p, bit<8> x, kind_t k) { meta.m8 = x; }
    action unused() { }
    action only_called(in bit<8> y) { meta.m8 = y; }
    @name("renamed") table t {
        key = { hdr.one.a: exact; meta.m16: lpm @name("route") @id(9); sm.ingress_port: ternary; meta.flag: exact; }
        actions = { set; @tableonly top; }
        default_action = set((port_t)3, 4, kind_t.B);
        counters = hits; size = 77;
        const entries = { (1, _, _, true): top(); }
    }
    table never { actions = { set; } }
    Sub() sub;
    @hidden table h { actions = { NoAction; } default_action = NoAction(); }
""".replace('register<bit<32>>(64) @name("cells") cells0', '@name("cells") register<bit<32>>(64) cells0')
DECLARATIONS = """
@p4runtime_translation("example.org/port", 32) type bit<9> port_t;
enum bit<8> kind_t { A = 1, B = 2 }
action top() { }
control Sub(inout meta_t m) { table t { key = { m.m8: exact; } actions = { NoAction; } const default_action = NoAction(); } apply { t.apply(); } }
"""
APPLY = "t.apply(); sub.apply(meta); only_called(1); h.apply();"


@pytest.fixture(scope="module")
def info() -> Any:
    return compile_text(program(declarations=DECLARATIONS, local=LOCAL, apply=APPLY)).p4info


def test_tables(info: Any) -> None:
    assert [t.preamble.name for t in info.tables] == ["I.renamed", "I.sub.t"]
    table, inner = info.tables
    assert table.preamble.id == TABLE << 24 | name_hash("I.renamed") & 0xFFFFFF
    assert (table.size, inner.size) == (77, 1024)
    fields = [(f.id, f.name, f.bitwidth, f.match_type) for f in table.match_fields]
    kinds = p4info_pb2.MatchField
    assert fields == [
        (1, "hdr.one.a", 8, kinds.EXACT), (9, "route", 16, kinds.LPM),
        (3, "sm.ingress_port", 9, kinds.TERNARY), (4, "meta.flag", 1, kinds.EXACT),
    ]  # fmt: skip
    assert [f.name for f in inner.match_fields] == ["m.m8"]
    assert table.is_const_table
    assert table.has_initial_entries
    assert not inner.has_initial_entries
    assert inner.const_default_action_id == RECORDED["NoAction"]
    assert table.const_default_action_id == 0


def test_default_action_arguments_are_padded(info: Any) -> None:
    call = info.tables[0].initial_default_action
    assert [(a.param_id, a.value) for a in call.arguments] == [(5, b"\x00\x03"), (2, b"\x04"), (3, b"\x02")]


def test_actions_in_order(info: Any) -> None:
    assert [a.preamble.name for a in info.actions] == ["top", "NoAction", "I.set", "I.only_called"]
    no_action, chosen = info.actions[1], info.actions[2]
    assert list(no_action.preamble.annotations) == ['@noWarn("unused")']
    assert list(chosen.preamble.annotations) == ["@mine(a , b)", "@hidden2"]
    assert [(p.id, p.name, p.bitwidth, p.type_name.name) for p in chosen.params] == [
        (5, "p", 32, "port_t"), (2, "x", 8, ""), (3, "k", 8, ""),
    ]  # fmt: skip


def test_called_actions_are_told_without_what_the_call_gives_them() -> None:
    declarations = """action top(inout bit<8> x) { x = 1; }
action second(bit<8> v) { }
control Sub(inout meta_t m) { action own() { m.m8 = 2; } apply { own(); } }"""
    local = """Sub() sub;
action inner() { } action called(bit<8> v) { inner(); } action unused() { called(1); } action dead() { }
action both(in bit<8> d, bit<8> v) { } table t { actions = { both(1); second; } default_action = both(1, 2); }"""
    apply = "if (false) { dead(); } both(1, 2); called(3); top(meta.m8); sub.apply(meta); t.apply();"
    info = compile_text(program(declarations=declarations, local=local, apply=apply)).p4info
    assert [(a.preamble.name, [p.name for p in a.params]) for a in info.actions] == [
        ("second", ["v"]), ("top", []), ("I.sub.own", []), ("I.called", []), ("I.both", ["v"]),
    ]  # fmt: skip


def test_what_stands_behind_a_return_is_not_told() -> None:
    local = """action before() { } action behind() { }
table t { key = { meta.m8: exact; } actions = { NoAction; } }"""
    apply = "before(); if (meta.m8 == 1) { return; behind(); } else if (true) { return; } t.apply();"
    info = compile_text(program(local=local, apply=apply)).p4info
    assert ([a.preamble.alias for a in info.actions], list(info.tables)) == (["before"], [])


def test_an_absolute_name_makes_one_action_of_those_of_all_instances() -> None:
    declarations = """control Sub(inout meta_t m) {
    @name(".both") action both(bit<8> v) { m.m8 = v; }
    table t { key = { m.m8: exact; } actions = { both; } default_action = both(1); }
    apply { t.apply(); }
}"""
    info = compile_text(
        program(declarations=declarations, local="Sub() s; Sub() u;", apply="s.apply(meta); u.apply(meta);")
    ).p4info
    assert [a.preamble.name for a in info.actions] == ["both"]
    assert [t.action_refs[0].id for t in info.tables] == [info.actions[0].preamble.id] * 2


def test_a_hidden_action_is_left_out_but_referred_to_by_its_id() -> None:
    local = "@hidden action own() { } table t { actions = { own; } default_action = own(); }"
    info = compile_text(program(local=local, apply="t.apply();")).p4info
    assert not info.actions
    (table,) = info.tables
    known = ACTION << 24 | name_hash("I.own") & 0xFFFFFF
    assert [r.id for r in table.action_refs] == [table.initial_default_action.action_id] == [known]


def test_a_parameter_has_the_name_that_it_is_given_for_the_control_plane() -> None:
    local = '@name("do") action own(@name("to") bit<8> p, bit<8> q) { } table t { actions = { own; } default_action = own(1, 2); }'
    info = compile_text(program(local=local, apply="t.apply();")).p4info
    assert [p.name for p in info.actions[0].params] == ["to", "q"]


def test_scopes(info: Any) -> None:
    scopes = [r.scope for r in info.tables[0].action_refs]
    assert scopes == [p4info_pb2.ActionRef.TABLE_AND_DEFAULT, p4info_pb2.ActionRef.TABLE_ONLY]
    assert list(info.tables[0].action_refs[1].annotations) == ["@tableonly"]


def test_counters_and_registers(info: Any) -> None:
    (counter,), (direct,), (register,) = info.counters, info.direct_counters, info.registers
    assert (counter.preamble.name, counter.size, counter.spec.unit) == ("I.sizes", 16, p4info_pb2.CounterSpec.BYTES)
    assert counter.preamble.doc.brief == "how many"
    assert direct.direct_table_id == info.tables[0].preamble.id
    assert list(info.tables[0].direct_resource_ids) == [direct.preamble.id]
    assert (register.preamble.name, register.size) == ("I.cells", 64)
    assert register.type_spec.bitstring.bit.bitwidth == 32


def test_type_info(info: Any) -> None:
    translated = info.type_info.new_types["port_t"].translated_type
    assert (translated.uri, translated.sdn_bitwidth) == ("example.org/port", 32)
    members = info.type_info.serializable_enums["kind_t"].members
    assert [(m.name, m.value) for m in members] == [("A", b"\x01"), ("B", b"\x02")]


def test_a_table_without_default_action_gets_no_action() -> None:
    found = compile_text(
        program(local="table t { key = { meta.m8: exact; } actions = { }  }", apply="t.apply();")
    ).p4info
    (table,) = found.tables
    assert [(r.id, r.scope) for r in table.action_refs] == [(RECORDED["NoAction"], p4info_pb2.ActionRef.DEFAULT_ONLY)]
    assert table.initial_default_action.action_id == RECORDED["NoAction"]
    assert table.const_default_action_id == 0


def test_explicit_ids() -> None:
    local = "@id(5) table t { actions = { NoAction; } } @id(0x02000007) table u { actions = { NoAction; } }"
    found = compile_text(program(local=local, apply="t.apply(); u.apply();")).p4info
    assert [t.preamble.id for t in found.tables] == [0x02000005, 0x02000007]


@pytest.mark.parametrize(
    ("local", "kind"),
    [
        ("@id(0x01000001) table t { actions = { NoAction; } } table u { actions = { NoAction; } }", Kind.TYPE),
        ("@id(1) table t { actions = { NoAction; } } @id(1) table u { actions = { NoAction; } }", Kind.DUPLICATE),
        ('table t { actions = { NoAction; } } @name("t") table u { actions = { NoAction; } }', Kind.DUPLICATE),
        ('action a() { } @name("a") action b(bit<8> x) { } table t { actions = { a; } } table u { actions = { b; } }', Kind.DUPLICATE),
    ],
)  # fmt: skip
def test_what_the_control_plane_could_not_tell_apart(local: str, kind: Kind) -> None:
    with pytest.raises(CompileError) as caught:
        compile_text(program(local=local, apply="t.apply(); u.apply();"))
    assert [d.kind for d in caught.value.diagnostics] == [kind]


def test_package_info() -> None:
    text = program().replace("V1Switch(", '@pkginfo(name="x", version="3") @other V1Switch(')
    found = compile_text(text).p4info.pkg_info
    assert (found.arch, found.name, found.version, list(found.annotations)) == ("v1model", "x", "3", ["@other"])
