"""Wrong programs: each is refused at the marked place, with the right kind of error and a telling text.

The marker ``/*!*/`` stands directly before the token that the error must point at.
"""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4.errors import CompileError, Kind
from tests.programs.text import HEAD, INGRESS, PARSER, REST, TYPES, compile_text, line_of, program

SYNTAX, NAME, DUPLICATE, TYPE = Kind.SYNTAX, Kind.NAME, Kind.DUPLICATE, Kind.TYPE
CONSTANT, DIRECTION, PLACE = Kind.CONSTANT, Kind.DIRECTION, Kind.PLACE
UNSUPPORTED, TARGET, PREPROCESSOR = Kind.UNSUPPORTED, Kind.TARGET, Kind.PREPROCESSOR

APPLY = [
    (SYNTAX, "expected ';'", "meta.m8 = 1 /*!*/}"),
    (SYNTAX, "expected an expression", "meta.m8 = /*!*/;"),
    (SYNTAX, "expected '=' or a call", "meta.m8 /*!*/;"),
    (SYNTAX, "expected ')'", "if (meta.flag /*!*/{ }"),
    (NAME, "'nothing' is not declared", "meta.m8 = /*!*/nothing;"),
    (NAME, "has no member 'nothing'", "meta.m8 = meta./*!*/nothing;"),
    (NAME, "has no member 'setvalid'", "hdr.one./*!*/setvalid();"),
    (NAME, "type 'T' is not declared", "/*!*/T x;"),
    (NAME, "no member 'NoSuch'", "meta.e = error./*!*/NoSuch;"),
    (DUPLICATE, "'x' is declared twice", "bit<8> x; bit<8> /*!*/x;"),
    (DUPLICATE, "occurs twice in the switch", "switch (meta.m8) { 1: { } /*!*/1: { } }"),
    (TYPE, "bit<16> where bit<8> is needed", "meta.m8 = /*!*/meta.m16;"),
    (TYPE, "int<8> where bit<8> is needed", "meta.m8 = /*!*/meta.s8;"),
    (TYPE, "bool where bit<8> is needed", "meta.m8 = /*!*/true;"),
    (TYPE, "bit<8> where bool is needed", "meta.flag = /*!*/meta.m8;"),
    (TYPE, "'+' cannot be applied to bit<8> and bit<16>", "meta.m8 = /*!*/meta.m8 + meta.m16;"),
    (TYPE, "'&&' cannot be applied", "meta.flag = /*!*/meta.m8 && meta.flag;"),
    (TYPE, "'!' cannot be applied to bit<8>", "meta.flag = /*!*/!meta.m8;"),
    (TYPE, "'-' cannot be applied to bool", "meta.flag = /*!*/-meta.flag;"),
    (TYPE, "'~' cannot be applied to int", "meta.m8 = /*!*/~1;"),
    (TYPE, "'==' cannot be applied to bit<8> and bool", "meta.flag = /*!*/meta.m8 == meta.flag;"),
    (TYPE, "'==' cannot be applied", "meta.flag = /*!*/hdr.one == hdr.two;"),
    (TYPE, "'<' cannot be applied to bool", "meta.flag = /*!*/meta.flag < meta.flag;"),
    (TYPE, "not defined for signed operands", "meta.s8 = /*!*/meta.s8 / 8s2;"),
    (TYPE, "amount must be unsigned", "meta.m8 = meta.m8 << /*!*/meta.s8;"),
    (TYPE, "need", "meta.m8 = /*!*/1 ++ meta.m8;"),
    (TYPE, "needs operands with a width", "meta.m8 = /*!*/1 |+| 3;"),
    (TYPE, "cannot cast bit<8> to int<16>", "bit<8> x = 0; int<16> y = /*!*/(int<16>)x;"),
    (TYPE, "cannot cast bit<8> to bool", "meta.flag = /*!*/(bool)meta.m8;"),
    (TYPE, "cannot cast one_t to bit<32>", "meta.m32 = /*!*/(bit<32>)hdr.one;"),
    (TYPE, "cannot be sliced", "meta.m8 = /*!*/meta.flag[0:0] ++ 7w0;"),
    (TYPE, "cannot be indexed", "meta.m8 = /*!*/meta.m16[1];"),
    (TYPE, "an index must be an integer", "hdr.stack[/*!*/meta.flag].a = 1;"),
    (TYPE, "where bool is needed", "if (/*!*/meta.m8) { }"),
    (TYPE, "cannot be called", "/*!*/meta.m8(3);"),
    (TYPE, "can only be called", "meta.flag = /*!*/hdr.one.isValid;"),
    (TYPE, "takes no arguments", "hdr.one.setValid(/*!*/1);"),
    (TYPE, "this call has no value", "meta.flag = /*!*/hdr.one.setValid();"),
    (TYPE, "is a type, not a value", "meta.m8 = /*!*/one_t;"),
    (TYPE, "3 elements where inner_t has 2", "meta.inner = /*!*/{ 1, true, 2 };"),
    (TYPE, "has no field 'zz'", "meta.inner = { p = 1, q = true, zz = /*!*/3 };"),
    (TYPE, "no value for the field 'q'", "meta.inner = /*!*/{ p = 1 };"),
    (TYPE, "no overload of mark_to_drop takes 2", "/*!*/mark_to_drop(sm, sm);"),
    (TYPE, "width of an int cannot be inferred", "/*!*/hash(meta.m16, HashAlgorithm.csum16, 0, { meta.m8 }, 16w9);"),
    (TYPE, "return cannot give a value", "/*!*/return 1;"),
    (TYPE, "cannot be made on bool", "switch (/*!*/meta.flag) { }"),
    (TYPE, "no label can follow", "switch (meta.m8) { default: { } /*!*/1: { } }"),
    (TYPE, "the branches of '?'", "meta.m8 = /*!*/meta.flag ? meta.m8 : meta.m16;"),
    (TYPE, "width of the branches", "meta.m8 = /*!*/meta.flag ? 1 : 2;"),
    (TYPE, "cannot have type string", "/*!*/string s;"),
    (TYPE, "cannot have type int", "/*!*/int i;"),
    (CONSTANT, "outside bit<8>", "meta.m8 = 4w0 ++ /*!*/meta.m8[9:6];"),
    (CONSTANT, "must fall", "meta.m8 = 4w0 ++ /*!*/meta.m8[2:5];"),
    (CONSTANT, "must be known at compile time", "meta.m8 = meta.m8[/*!*/meta.m16:0];"),
    (CONSTANT, "division by zero", "meta.m8 = /*!*/meta.m8 / 0;"),
    (CONSTANT, "modulo by zero", "meta.m8 = /*!*/8w1 % 8w0;"),
    (CONSTANT, "cannot be negative", "meta.m8 = meta.m8 << /*!*/-1;"),
    (CONSTANT, "index 3 is outside one_t[3]", "hdr.stack[/*!*/3].a = 1;"),
    (CONSTANT, "static_assert failed: no", '/*!*/static_assert(1 == 2, "no");'),
    (CONSTANT, "must be known at compile time", "const bit<8> k = /*!*/meta.m8;"),
    (CONSTANT, "is wider than", "bit</*!*/4096> x;"),
    (DIRECTION, "not an l-value", "/*!*/8w1 = meta.m8;"),
    (DIRECTION, "not an l-value", "(/*!*/meta.m8 + 1)[3:0] = 4w1;"),
    (DIRECTION, "not an l-value", "hash(/*!*/16w4, HashAlgorithm.csum16, 16w0, { meta.m8 }, 16w9);"),
    (DIRECTION, "'_' is only allowed for an out parameter", "hash(meta.m16, HashAlgorithm.csum16, /*!*/_, { meta.m8 }, 16w9);"),
    (PLACE, "can only be used in parsers", "hdr.one = hdr.stack./*!*/last;"),
    (PLACE, "nothing can be instantiated", "/*!*/register<bit<8>>(4) r;"),
    (PLACE, "can only be called in a parser's state", "/*!*/verify(true, error.NoError);"),
    (PLACE, "only be used in a loop", "/*!*/break;"),
    (TARGET, "cannot be called in this block",
     "/*!*/update_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16);"),
]  # fmt: skip

LOCAL = [
    (NAME, "action 'missing' is not declared", "table t { actions = { /*!*/missing; } }"),
    (NAME, "is not a match kind", "table t { key = { meta.m8: /*!*/fuzzy; } actions = { NoAction; } }"),
    (NAME, "not in the table's action list", "action a() { } table t { actions = { NoAction; } default_action = /*!*/a(); }"),
    (DUPLICATE, "occurs twice in the list", "table t { actions = { NoAction; /*!*/NoAction; } }"),
    (DUPLICATE, "has 'size' twice", "table t { actions = { NoAction; } size = 4; /*!*/size = 5; }"),
    (DUPLICATE, "two parameters are called 'x'", "action a(bit<8> x, bit<8> /*!*/x) { }"),
    (TYPE, "has no 'actions'", "table /*!*/t { key = { meta.m8: exact; } }"),
    (TYPE, "a key cannot have type inner_t", "table t { key = { /*!*/meta.inner: exact; } actions = { NoAction; } }"),
    (TYPE, "takes 1 argument, 0 given", "action a(bit<8> x) { } table t { actions = { a; } default_action = /*!*/a(); }"),
    (TYPE, "2 keys where table 't' has 1",
     "table t { key = { meta.m8: exact; } actions = { NoAction; } const entries = { /*!*/(1, 2): NoAction(); } }"),
    (UNSUPPORTED, "a set of values for a key of kind 'exact'",
     "table t { key = { meta.m8: exact; } actions = { NoAction; } const entries = { /*!*/_: NoAction(); } }"),
    (TYPE, "take no priorities",
     "table t { key = { meta.m8: ternary; } actions = { NoAction; } const entries = { priority = /*!*/1: 1: NoAction(); } }"),
    (UNSUPPORTED, "a range for a key of kind 'lpm'",
     "table t { key = { meta.m8: lpm; } actions = { NoAction; } const entries = { /*!*/1 .. 2: NoAction(); } }"),
    (TYPE, "a key that is computed needs a @name",
     "table t { key = { /*!*/meta.m8 + 1: exact; } actions = { NoAction; } } apply { t.apply(); } } control X() {"),
    (TYPE, "takes 1 argument, 2 given", "/*!*/register<bit<8>>(4, 5) r;"),
    (TYPE, "needs 1 type argument", "action a() { /*!*/register r; }"),
    (UNSUPPORTED, "a mask that is not a prefix",
     "table t { key = { meta.m8: lpm; } actions = { NoAction; } const entries = { /*!*/1 &&& 5: NoAction(); } }"),
    (CONSTANT, "must be known at compile time", "bit<32> n = 3; register<bit<8>>(/*!*/n) r;"),
    (DIRECTION, "is an 'in' parameter and cannot be written", "action a(in bit<8> x) { /*!*/x = 1; }"),
    (DIRECTION, "parameters without direction must come last", "action a(bit<8> x, /*!*/in bit<8> y) { }"),
    (DIRECTION, "without direction and cannot be written", "action a(bit<8> x) { /*!*/x = 1; }"),
    (PLACE, "a table cannot be applied in an action", "table t { actions = { NoAction; } } action a() { /*!*/t.apply(); }"),
    (TYPE, "must be an instance of action_profile", "table t { actions = { NoAction; } implementation = /*!*/3; }"),
]  # fmt: skip

DECLARATIONS = [
    (SYNTAX, "expected a declaration", ";;/*!*/+"),
    (SYNTAX, "expected ';'", "const bit<8> k = 3 /*!*/const bit<8> l = 4;"),
    (SYNTAX, "expected a name", "struct /*!*/{ }"),
    (DUPLICATE, "two fields 'f'", "struct s_t { bit<8> f; bit<8> /*!*/f; }"),
    (DUPLICATE, "two members 'A'", "enum e_t { A, /*!*/A }"),
    (DUPLICATE, "error.NoError is declared twice", "error { /*!*/NoError }"),
    (DUPLICATE, "'one_t' is declared twice", "header /*!*/one_t { bit<8> a; }"),
    (TYPE, "a field of a header cannot have type error", "header h_t { /*!*/error e; }"),
    (TYPE, "a field of a struct cannot have type packet_in", "struct s_t { /*!*/packet_in p; }"),
    (TYPE, "elements are headers", "struct s_t { /*!*/meta_t[3] a; }"),
    (TYPE, "representation must be", "enum /*!*/bool e_t { A = 1 }"),
    (TYPE, "'type' cannot make a new type", "type /*!*/one_t new_t;"),
    (TYPE, "takes no type arguments", "const /*!*/one_t<bit<8>> x = { 1, 2, 3 };"),
    (TYPE, "can end without a return", "bit<8> /*!*/f(in bit<8> x) { if (x == 1) { return 2; } }"),
    (TYPE, "return needs a value", "bit<8> f() { /*!*/return; }"),
    (CONSTANT, "size must be at least 1", "struct s_t { one_t[/*!*/0] a; }"),
    (CONSTANT, "must be at least 1", "const int</*!*/0> x = 0;"),
    (PLACE, "exit cannot be used in a function", "void f() { /*!*/exit; }"),
    (PLACE, "variable cannot be declared at the top level", "/*!*/bit<8> x;"),
    (PREPROCESSOR, "nothing.p4: no such file", "#include /*!*/<nothing.p4>\n"),
    (PREPROCESSOR, "#error stop", "#/*!*/error stop\n"),
    (PREPROCESSOR, "unterminated argument list", "#define f(x) x\nconst bit<8> k = /*!*/f(1;"),
    (PREPROCESSOR, "takes just 1", "#define f(x) x\nconst bit<8> k = /*!*/f(1, 2);"),
    (PREPROCESSOR, "unterminated conditional", "#/*!*/if 1\n"),
    (PREPROCESSOR, "#endif without #if", "#/*!*/endif\n"),
]

STATES = [
    (NAME, "no state 'missing'", "state start { transition /*!*/missing; }"),
    (NAME, "has no state 'start'", "state s { transition accept; }"),
    (DUPLICATE, "'start' is declared twice", "state start { transition accept; } state /*!*/start { transition accept; }"),
    (TYPE, "2 values where the select has 1 keys",
     "state start { transition select(hdr.one.a) { /*!*/(1, 2): accept; } }"),
    (TYPE, "key cannot have type one_t", "state start { transition select(/*!*/hdr.one) { _: accept; } }"),
    (TYPE, "extract() takes a header", "state start { packet.extract(/*!*/meta); transition accept; }"),
    (TYPE, "cannot be inferred", "state start { meta.m8 = /*!*/packet.lookahead(); transition accept; }"),
    (PLACE, "exit cannot be used in a parser's state", "state start { /*!*/exit; transition accept; }"),
    (PLACE, "cannot be used in a parser", "state start { /*!*/hdr.stack.push_front(1); transition accept; }"),
    (TYPE, "takes a header with one varbit field", "state start { packet.extract(/*!*/hdr.one, 8); transition accept; }"),
]  # fmt: skip


def check(kind: Kind, text: str, source: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_text(source)
    first = caught.value.diagnostics[0]
    assert (first.kind, text in first.message) == (kind, True), str(caught.value)
    if "/*!*/" in source:
        assert (first.span.line, first.span.column) == line_of(source), str(caught.value)
    assert "^" in str(first)


@pytest.mark.parametrize(("kind", "text", "piece"), APPLY)
def test_in_apply_block(kind: Kind, text: str, piece: str) -> None:
    check(kind, text, program(apply=piece))


@pytest.mark.parametrize(("kind", "text", "piece"), LOCAL)
def test_in_control(kind: Kind, text: str, piece: str) -> None:
    check(kind, text, program(local=piece))


@pytest.mark.parametrize(("kind", "text", "piece"), DECLARATIONS)
def test_at_top_level(kind: Kind, text: str, piece: str) -> None:
    check(kind, text, program(declarations=piece + "\n"))


@pytest.mark.parametrize(("kind", "text", "piece"), STATES)
def test_in_parser(kind: Kind, text: str, piece: str) -> None:
    head = "parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {"
    check(kind, text, program(parser=f"{head}\n{piece}\n}}\n"))


def test_a_match_kind_of_the_program_is_refused_by_name() -> None:
    local = "table t { key = { meta.m8: /*!*/fuzzy; } actions = { NoAction; } }"
    check(UNSUPPORTED, "match kind 'fuzzy'", program(declarations="match_kind { fuzzy }\n", local=local))


def test_table_is_long_enough() -> None:
    assert len(APPLY) + len(LOCAL) + len(DECLARATIONS) + len(STATES) >= 80


def test_header_of_broken_bytes() -> None:
    types = TYPES.replace("header one_t {", "header /*!*/one_t { bit<3> odd;")
    check(TARGET, "whole bytes", program(types=types))


def test_package_of_wrong_block() -> None:
    check(TYPE, "has direction", HEAD + TYPES + PARSER + f"{INGRESS} apply {{ }} }}\n" + REST.replace(
        "in headers_t hdr) { apply { packet", "inout headers_t hdr) { apply { packet").replace("D()", "/*!*/D()"))  # fmt: skip


def test_no_main() -> None:
    check(NAME, "no instance called 'main'", HEAD + TYPES)


def test_several_errors_in_one_run() -> None:
    source = program(
        declarations="struct a_t { bit<8> f; bit<8> f; }\n", local="action a() { nothing1 = 1; }",
        apply="meta.m8 = meta.m16; nothing2 = 3; bool b = 4; b = true;",
    )  # fmt: skip
    with pytest.raises(CompileError) as caught:
        compile_text(source)
    assert len(caught.value.diagnostics) == 5  # and none for the uses of b


def test_several_syntax_errors_in_one_run() -> None:
    source = program(
        local="action a() { meta.m8 = ; } action b() { = 3; }", apply="if ( { }", declarations="struct { }\n"
    )
    with pytest.raises(CompileError) as caught:
        compile_text(source)
    assert len(caught.value.diagnostics) >= 3


def test_error_in_a_macro_points_at_its_use_and_tells_the_definition() -> None:
    source = program(declarations="#define BAD(x) meta.x = true;\n", apply="meta.m8 = 1; /*!*/BAD(m8)")
    with pytest.raises(CompileError) as caught:
        compile_text(source)
    first = caught.value.diagnostics[0]
    assert (first.span.line, first.span.column) == line_of(source)
    assert any("macro" in note for note in first.notes)


def test_nesting_is_an_error_not_a_traceback() -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        compile_text(program(apply="meta.m8 = " + "(" * 50_000 + "1" + ")" * 50_000 + ";"))


def test_a_missing_file() -> None:
    from emulator.p4.frontend import compile_source
    from emulator.v1model.architecture import V1MODEL

    with pytest.raises(CompileError, match="no such file"):
        compile_source("/nowhere/nothing.p4", architecture=V1MODEL)


# --- Programs of earlier years: one error, which says what to write instead ---------------------------------------------

P4_14 = """
header_type ethernet_t { fields { dst : 48; } }
header ethernet_t ethernet;
parser start { extract(ethernet); return ingress; }
control ingress { apply(forward); }
"""


def test_p4_14_is_one_error() -> None:
    with pytest.raises(CompileError) as refused:
        compile_text(P4_14)
    (error,) = refused.value.diagnostics
    assert (error.kind, error.span.line) == (Kind.SYNTAX, 2)
    assert "p4test --std p4-14" in error.message


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("recirculate_flag", "call recirculate_preserving_field_list in egress"),
        ("drop", "call mark_to_drop(standard_metadata)"),
    ],
)
def test_members_that_standard_metadata_has_no_more(name: str, instead: str) -> None:
    text = program(apply=f"sm.{name} = 1;")
    with pytest.raises(CompileError) as refused:
        compile_text(text)
    (error,) = refused.value.diagnostics
    assert (error.kind, error.span.line) == (Kind.NAME, line_of(text, f"sm.{name}")[0])
    assert error.message.endswith(f"has no member '{name}' any more: {instead}")
