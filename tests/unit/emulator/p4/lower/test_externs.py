"""Calls of v1model's externs, as they reach the engines; field lists; what may be called where."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4 import ir
from emulator.p4.errors import CompileError, Kind
from emulator.p4.frontend import compile_source
from emulator.p4.ir.printer import print_block
from tests.programs.text import HEAD, TYPES, WHOLE, line_of, program


def ingress(apply: str, **pieces: str) -> list[str]:
    found = compile_source(program(apply=apply, **pieces), architecture=WHOLE).program
    block = found.block("ig")
    assert isinstance(block, ir.Control)
    return print_block(block.body)


LOCAL = """meter(32w4, MeterType.bytes) m; counter(32w4, CounterType.packets) c; register<bit<8>>(4) r; direct_meter<bit<2>>(MeterType.packets) dm;
action color() { dm.read(meta.m8[1:0]); } table t { key = { meta.m8: exact; } actions = { color; NoAction; } meters = dm; }"""

CALLS = {
    "digest(32w1, { meta.m8, hdr.one });": ['digest("digest_0", 32w1, {meta.m8, hdr.one.a, hdr.one.b, hdr.one.c})'],
    "digest(1, meta.inner);": ['digest("inner_t", 32w1, {meta.inner.p, meta.inner.q})'],
    "digest<inner_t>(1, { 3, true });": ['digest("inner_t", 32w1, {8w3, true})'],
    'log_msg("here");': ['log_msg("here", {})'],
    'log_msg("{} and {}", { meta.m8, meta.flag });': ['log_msg("{} and {}", {meta.m8, meta.flag})'],
    'log_msg("x = {}", { meta.inner });': ['log_msg("x = (p:{},q:{})", {meta.inner.p, meta.inner.q})'],
    "assert(meta.m8 == 1);": ['assert((meta.m8 == 8w1), "<text>:15:1")'],
    "assume(meta.flag);": ['assume(meta.flag, "<text>:15:1")'],
    "clone(CloneType.I2E, 5);": ["clone(32w0, 32w5)"],
    "clone_preserving_field_list(CloneType.I2E, meta.m32, 8w3);": ["clone_preserving_field_list(32w0, meta.m32, 8w3)"],
    "resubmit_preserving_field_list(2);": ["resubmit_preserving_field_list(8w2)"],
    "truncate(64);": ["truncate(32w64)"],
    "random(meta.m16, 1, 9);": ["random(meta.m16, 16w1, 16w9)"],
    "random(meta.m16[7:0], 1, 9);": ["I.tmp = meta.m16[7:0]", "random(I.tmp, 8w1, 8w9)", "meta.m16 = (meta.m16[15:8] ++ I.tmp)"],
    "m.execute_meter(2, meta.m8);": ["I.m.execute_meter(32w2, meta.m8)"],
    "m.execute_meter<bit<2>>(meta.m32, meta.m8[3:2]);": ["I.tmp = meta.m8[3:2]", "I.m.execute_meter(meta.m32, I.tmp)", "meta.m8 = ((meta.m8[7:4] ++ I.tmp) ++ meta.m8[1:0])"],
    "c.count(3);": ["I.c.count(32w3)"],
    "mark_to_drop(sm);": ["standard_metadata.egress_spec = 9w511", "standard_metadata.mcast_grp = 16w0"],
    "mark_to_drop();": ["standard_metadata.egress_spec = 9w511", "standard_metadata.mcast_grp = 16w0"],
    "r.read(meta.m8, (bit<32>)meta.m8); r.write(1, meta.m8 + 1);": ["I.r.read(meta.m8, (bit<32>)meta.m8)", "I.r.write(32w1, (meta.m8 + 8w1))"],
    "hash(meta.m16, HashAlgorithm.crc16_custom, 16w0, { hdr.one.a, 4w3 }, 16w9);": ["hash(meta.m16, 32w3, 16w0, {hdr.one.a, 4w3}, 16w9)"],
    "hash(meta.m16, HashAlgorithm.xor16, 16w0, hdr.stack[0], 16w9);": ["hash(meta.m16, 32w7, 16w0, {hdr.stack[0].a, hdr.stack[0].b, hdr.stack[0].c}, 16w9)"],
}  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_calls(text: str) -> None:
    found = ingress(text, local=LOCAL)
    wanted = CALLS[text]
    assert found == wanted if wanted is not None else len(found) == 1


def test_a_digest_of_a_renamed_struct_and_the_numbers_of_nameless_ones() -> None:
    declarations = '@name("my_digest") struct d_t { bit<8> x; }\n'
    apply = "digest(1, { meta.m8 }); d_t d = { 4 }; digest(1, d); digest(1, { meta.m16 });"
    found = [line for line in ingress(apply, declarations=declarations) if line.startswith("digest")]
    assert [line.split('"')[1] for line in found] == ["digest_0", "my_digest", "digest_1"]


def test_a_direct_meter_writes_where_its_action_says() -> None:
    found = compile_source(program(local=LOCAL, apply="t.apply();"), architecture=WHOLE).program
    assert print_block(found.action("I.color").body)[0] == "I.dm.read(I.color.tmp)"


def test_field_lists() -> None:
    types = TYPES.replace(
        "struct meta_t { bit<8> m8; bit<16> m16;",
        "const bit<8> FL = 2; struct meta_t { @field_list(1, FL) bit<8> m8; @field_list(1) bit<16> m16;",
    ).replace("inner_t inner;", "@field_list(7) inner_t inner;")
    found = compile_source(program(types=types), architecture=WHOLE).program
    assert [(number, [v.name for v in variables]) for number, variables in found.field_lists] == [
        (1, ["meta.m8", "meta.m16"]), (2, ["meta.m8"]), (7, ["meta.inner.p", "meta.inner.q"]),
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["20180101", "20200408"])
def test_both_versions(version: str) -> None:
    index = "" if version == "20180101" else ", bit<8>"
    plain = "" if version == "20180101" else "<bit<8>>"
    local = f"register<bit<8>{index}>(4) r; counter{plain}(32w4, CounterType.packets) c; meter{plain}(32w4, MeterType.bytes) m;"
    number = "32w1" if version == "20180101" else "8w1"
    apply = f"r.read(meta.m8, {number}); c.count({number}); m.execute_meter({number}, meta.m8); meta.m16 = (bit<16>)sm.ingress_port;"
    text = f"#define V1MODEL_VERSION {version}\n" + program(local=local, apply=apply)
    assert compile_source(text, architecture=WHOLE).program.externs[0].extern == "register"


WRONG = [
    (Kind.TARGET, "clone(E2E) cannot be called in this block", "/*!*/clone(CloneType.E2E, 5);"),
    (Kind.TARGET, "recirculate_preserving_field_list", "/*!*/recirculate_preserving_field_list(1);"),
    (Kind.TARGET, "must be constant", "CloneType c = CloneType.I2E; if (meta.flag) { c = CloneType.E2E; } clone(/*!*/c, 5);"),
    (Kind.TARGET, "cannot be called in this block", "/*!*/verify_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16);"),
    (Kind.CONSTANT, "must be known at compile time", "resubmit_preserving_field_list(/*!*/meta.m8);"),
    (Kind.UNSUPPORTED, "the extern function mine()", "/*!*/mine(meta.m8);"),
    (Kind.UNSUPPORTED, "theirs.go()", "/*!*/x.go(1);"),
]  # fmt: skip
DECLARED = (
    "extern void mine(in bit<8> x); extern bit<8> other<T>(in T x); extern theirs { theirs(); void go(in bit<8> x); }\n"
)


@pytest.mark.parametrize(("kind", "text", "apply"), WRONG)
def test_wrong_calls(kind: Kind, text: str, apply: str) -> None:
    source = HEAD + DECLARED + program(apply=apply, local="theirs() x;" if "x.go" in apply else "").removeprefix(HEAD)
    with pytest.raises(CompileError) as caught:
        compile_source(source, architecture=WHOLE)
    places = [(d.kind, text in d.message, d.span.line, d.span.column) for d in caught.value.diagnostics]
    assert (kind, True, *line_of(source)) in places, str(caught.value)


def test_several_in_one_run() -> None:
    apply = "clone(CloneType.E2E, 1); if (meta.flag) { recirculate_preserving_field_list(1); } verify_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16);"
    with pytest.raises(CompileError) as caught:
        compile_source(program(apply=apply), architecture=WHOLE)
    assert [d.kind for d in caught.value.diagnostics] == [Kind.TARGET] * 3


def test_the_users_own_externs_may_be_declared() -> None:
    assert ingress("meta.m8 = 1;", declarations=DECLARED) == ["meta.m8 = 8w1"]
