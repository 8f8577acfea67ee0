"""P4Info of externs, annotations, digests, value sets and controller headers, by p4c's rules."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

from typing import Any

import pytest

from emulator.p4.errors import CompileError, Kind
from emulator.p4.p4info.ids import ACTION_PROFILE, CONTROLLER_HEADER, DIGEST, name_hash
from emulator.rpc.p4protos import p4info_pb2
from tests.programs.text import PARSER, compile_text, program

DECLARATIONS = """
enum kind_t { x, y }
enum bit<8> code_t { P = 1, Q = 2 }
@mine("of the type") @p4runtime_translation("example.org/t", string) type bit<7> text_t;
type bit<9> port_t;
@controller_header("packet_in") header packet_in_header_t { bit<9> port; @padding bit<7> pad; port_t other; @hidden bit<7> no; }
@name("learnt") struct learn_t { bit<48> mac; port_t port; text_t text; kind_t kind; code_t code; bool flag; error e; int<4> small; }
struct set_t { bit<8> a; @match(ternary) @id(7) bit<16> b; }
"""
LOCAL = """
direct_meter<bit<2>>(MeterType.bytes) dm;
direct_counter(CounterType.packets) dc;
direct_counter(CounterType.bytes) unused;
@name("rate") meter(100, MeterType.packets) m1;
@max_group_size(16) @selector_size_semantics("Sum_of_Members") @max_member_weight(4095)
action_selector(HashAlgorithm.crc16, 128, 10) sel;
@selector_size_semantics("sum_of_weights") action_selector(HashAlgorithm.crc16, 64, 10) sel2;
action_profile(32) prof;
@foo[1, "x", true] @bar[a = 1, b = "q"] @baz[] @sel("x" , y.z, 0x1F) @noWarn("a" ++ "b")
action a1(@brief("the p") @description("long") bit<3> p, bool b, @mine[7 + 1] kind_t e, code_t c) { }
table t1 {
    key = { meta.m8: range @mine(x); meta.m16: optional; meta.m32: selector; hdr.one.isValid(): exact; hdr.one.a[3:0]: ternary; meta.e: exact; }
    actions = { a1; @tableonly @x(1) NoAction; }
    meters = dm; counters = dc; support_timeout = true; implementation = sel;
}
table t2 { key = { meta.m32: selector; meta.m8: exact; } actions = { NoAction; } implementation = sel2; }
table t0 { key = { meta.m8: exact; } actions = { NoAction; } implementation = prof; }
table t4 { key = { meta.m8: exact; } actions = { NoAction; } const entries = { } }
table t5 { key = { meta.m8: exact; } actions = { NoAction; } entries = { 1: NoAction(); } }
table t3 { key = { meta.m8: exact; } actions = { NoAction; } @name("anonymous") implementation = action_profile(8); }
"""
APPLY = """t1.apply(); t2.apply(); t0.apply(); t3.apply(); t4.apply(); t5.apply(); bit<2> c; m1.execute_meter(1, c); dm.read(c);
digest<learn_t>(1, { 0, (port_t)1, (text_t)2, kind_t.x, code_t.P, true, error.NoError, 1 });
digest<tuple<bit<8>>>(1, { meta.m8 });
"""
PARSER_WITH_SETS = PARSER.replace(
    "state start {",
    "value_set<bit<8>>(4) v1; @mine(x) value_set<set_t>(5) v2; value_set<port_t>(6) v3; value_set<code_t>(7) v4; state start {",
)
MAIN = '@pkginfo(name = "n", version = "1", contact = "c") @brief("short") @platform_property(multicast_group_table_size = 5) @foo V1Switch(P(),'


@pytest.fixture(scope="module")
def info() -> Any:
    text = program(declarations=DECLARATIONS, local=LOCAL, apply=APPLY, parser=PARSER_WITH_SETS)
    return compile_text(text.replace("V1Switch(P(),", MAIN)).p4info


def test_package(info: Any) -> None:
    package = info.pkg_info
    assert (package.name, package.version, package.contact, package.arch) == ("n", "1", "c", "v1model")
    assert package.doc.brief == "short"
    assert package.platform_properties.multicast_group_table_size == 5
    assert list(package.annotations) == ["@foo"]


def test_match_fields_leave_selector_keys_out_and_count_them(info: Any) -> None:
    kinds = p4info_pb2.MatchField
    assert [(f.id, f.name, f.match_type) for f in info.tables[0].match_fields] == [
        (1, "meta.m8", kinds.RANGE), (2, "meta.m16", kinds.OPTIONAL), (4, "hdr.one.$valid$", kinds.EXACT),
        (5, "hdr.one.a[3:0]", kinds.TERNARY), (6, "meta.e", kinds.EXACT),
    ]  # fmt: skip
    assert info.tables[0].match_fields[4].bitwidth == 0
    assert list(info.tables[0].match_fields[0].annotations) == ["@mine(x)"]


def test_tables(info: Any) -> None:
    assert [t.preamble.alias for t in info.tables] == ["t1", "t2", "t0", "t4", "t5", "t3"]
    first, _, _, const, filled, _ = info.tables
    assert first.idle_timeout_behavior == p4info_pb2.Table.NOTIFY_CONTROL
    assert list(first.direct_resource_ids) == [info.direct_counters[0].preamble.id, info.direct_meters[0].preamble.id]
    assert (const.is_const_table, const.has_initial_entries) == (True, False)
    assert (filled.is_const_table, filled.has_initial_entries) == (False, True)


def test_profiles(info: Any) -> None:
    profiles = {p.preamble.name: p for p in info.action_profiles}
    assert list(profiles) == ["I.sel", "I.sel2", "I.prof", "anonymous"]
    assert [t.implementation_id for t in info.tables if t.implementation_id] == [
        profiles[name].preamble.id for name in ("I.sel", "I.sel2", "I.prof", "anonymous")
    ]
    members, weights, plain = (profiles[name] for name in ("I.sel", "I.sel2", "I.prof"))
    assert (members.with_selector, members.size, members.max_group_size) == (True, 128, 16)
    assert members.sum_of_members.max_member_weight == 4095
    assert weights.HasField("sum_of_weights")
    assert (plain.with_selector, plain.size, plain.WhichOneof("selector_size_semantics")) == (False, 32, None)
    assert list(members.preamble.annotations) == []
    assert members.preamble.id == ACTION_PROFILE << 24 | name_hash("I.sel") & 0xFFFFFF
    assert list(members.table_ids) == [info.tables[0].preamble.id]


def test_meters_and_direct_resources(info: Any) -> None:
    (meter,), (direct,) = info.meters, info.direct_meters
    assert (meter.preamble.name, meter.size, meter.spec.unit) == ("I.rate", 100, p4info_pb2.MeterSpec.PACKETS)
    assert (direct.spec.unit, direct.direct_table_id) == (p4info_pb2.MeterSpec.BYTES, info.tables[0].preamble.id)
    assert [c.preamble.alias for c in info.direct_counters] == ["dc"], "one that no table has is not told"


def test_annotations(info: Any) -> None:
    action = next(a for a in info.actions if a.preamble.alias == "a1")
    assert list(action.preamble.annotations) == ['@sel("x" , y . z , 0x1F)', '@noWarn("ab")']
    values, pairs, empty = action.preamble.structured_annotations
    assert [(v.int64_value, v.string_value, v.bool_value) for v in values.expression_list.expressions] == [
        (1, "", False), (0, "x", False), (0, "", True),
    ]  # fmt: skip
    assert [(p.key, p.value.int64_value, p.value.string_value) for p in pairs.kv_pair_list.kv_pairs] == [
        ("a", 1, ""), ("b", 0, "q"),
    ]  # fmt: skip
    assert empty.HasField("expression_list")
    first, flag, kind, code = action.params
    assert (first.doc.brief, first.doc.description, list(first.annotations)) == ("the p", "long", [])
    assert kind.structured_annotations[0].expression_list.expressions[0].int64_value == 8
    assert (flag.bitwidth, kind.bitwidth, kind.type_name.name, code.bitwidth, code.type_name.name) == (
        1,
        0,
        "kind_t",
        8,
        "",
    )


def test_digests(info: Any) -> None:
    assert [d.preamble.name for d in info.digests] == ["learnt", "digest_0"]
    learnt, unnamed = info.digests
    assert learnt.preamble.id == DIGEST << 24 | name_hash("learnt") & 0xFFFFFF
    assert learnt.type_spec.struct.name == "learnt"
    assert unnamed.type_spec.tuple.members[0].bitstring.bit.bitwidth == 8


def test_types(info: Any) -> None:
    types = info.type_info
    assert {m.name: m.type_spec.WhichOneof("type_spec") for m in types.structs["learnt"].members} == {
        "mac": "bitstring", "port": "new_type", "text": "new_type", "kind": "enum", "code": "serializable_enum",
        "flag": "bool", "e": "error", "small": "bitstring",
    }  # fmt: skip
    assert types.new_types["text_t"].translated_type.HasField("sdn_string")
    assert list(types.new_types["text_t"].annotations) == ['@mine("of the type")']
    assert types.new_types["port_t"].original_type.bitstring.bit.bitwidth == 9
    assert [(m.name, m.value) for m in types.serializable_enums["code_t"].members] == [("P", b"\1"), ("Q", b"\2")]
    assert [m.name for m in types.enums["kind_t"].members] == ["x", "y"]
    assert types.error.members[0] == "NoError"


def test_value_sets(info: Any) -> None:
    kinds = p4info_pb2.MatchField
    plain, struct, new, enum = info.value_sets
    assert (plain.preamble.name, plain.size, list(struct.preamble.annotations)) == ("P.v1", 4, ["@mine(x)"])
    assert [(m.id, m.name, m.bitwidth, m.match_type) for m in plain.match] == [(1, "", 8, kinds.EXACT)]
    assert [(m.id, m.name, m.match_type) for m in struct.match] == [(1, "a", kinds.EXACT), (7, "b", kinds.TERNARY)]
    assert new.match[0].type_name.name == "port_t"
    assert [m.name for m in enum.match] == ["P", "Q"]


def test_controller_headers(info: Any) -> None:
    (header,) = info.controller_packet_metadata
    assert header.preamble.id == CONTROLLER_HEADER << 24 | name_hash("packet_in_header_t") & 0xFFFFFF == 81826293
    assert (header.preamble.name, header.preamble.alias) == ("packet_in", "packet_in")
    assert list(header.preamble.annotations) == ['@controller_header("packet_in")']
    assert [(f.id, f.name, f.bitwidth, f.type_name.name) for f in header.metadata] == [
        (1, "port", 9, ""), (2, "pad", 7, ""), (3, "other", 9, "port_t"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "local"),
    [
        (Kind.TYPE, "wrong 8-bit prefix", "@id(0x03000001) table t { actions = { NoAction; } }"),
        (
            Kind.DUPLICATE,
            "used twice",
            "@id(5) action a() { } @id(5) action b() { } table t { actions = { a; b; NoAction; } }",
        ),
        (Kind.CONSTANT, "cannot be 0", "action a(@id(0) bit<8> x) { } table t { actions = { a; NoAction; } }"),
        (
            Kind.DUPLICATE,
            "used twice here",
            "action a(@id(3) bit<8> x, @id(3) bit<8> y) { } table t { actions = { a; NoAction; } }",
        ),
        (Kind.CONSTANT, "64 bits", "@x[0xffffffffffffffffff] table t { actions = { NoAction; } }"),
        (
            Kind.DUPLICATE,
            "have the control-plane name",
            '@name("a") counter(1, CounterType.bytes) x; @name("a") counter(1, CounterType.bytes) y; table t { actions = { NoAction; } }',
        ),
        (
            Kind.DUPLICATE,
            "the control-plane name 'x' and not the same data",
            '@name(".x") action a(bit<8> v) { } @name(".x") action b(bit<16> v) { } table t { actions = { a; NoAction; } } table u { actions = { b; NoAction; } }',
        ),
        (
            Kind.DUPLICATE,
            "lists two actions called 'x'",
            '@name(".x") action a() { } @name(".x") action b() { } table t { actions = { a; b; NoAction; } }',
        ),
        (
            Kind.TARGET,
            "belongs to table",
            "direct_counter(CounterType.bytes) c; table t { actions = { NoAction; } counters = c; } table u { actions = { NoAction; } counters = c; }",
        ),
    ],
)
def test_what_p4info_cannot_say(kind: Kind, text: str, local: str) -> None:
    apply = "t.apply();" + (" u.apply();" if "table u" in local else "")
    with pytest.raises(CompileError) as caught:
        compile_text(program(local=local, apply=apply))
    found = caught.value.diagnostics[0]
    assert (found.kind, text in found.message) == (kind, True), found


def test_instances_of_direct_applications_come_first() -> None:
    declarations = "control Sub(inout meta_t m) { table s { key = { m.m8: exact; } actions = { NoAction; } } apply { s.apply(); } }"
    local = "table t { actions = { NoAction; } }"
    info = compile_text(program(declarations=declarations, local=local, apply="t.apply(); Sub.apply(meta);")).p4info
    assert [t.preamble.name for t in info.tables] == ["I.Sub.s", "I.t"]


@pytest.mark.parametrize(
    ("local", "apply", "expected"),
    [
        ("", "meta.m8 = 1;", False),
        ("", "mark_to_drop(sm);", True),
        ("action a() { mark_to_drop(sm); }", "", False),
        ("direct_counter(CounterType.bytes) c;", "", True),
        ("table t { actions = { NoAction; } }", "", False),
        ("table t { actions = { NoAction; } }", "t.apply();", True),
    ],
)
def test_when_there_is_type_information(local: str, apply: str, expected: bool) -> None:
    assert compile_text(program(local=local, apply=apply)).p4info.HasField("type_info") is expected
