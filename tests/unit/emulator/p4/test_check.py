"""Wrong uses of types, expressions and statements: each is refused at the marked place with a telling text.

The marker ``/*!*/`` stands directly before the token that the error must point at.
"""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4.errors import CompileError, Kind
from tests.programs.text import compile_text, line_of, program

NAME, DUPLICATE, TYPE, SYNTAX = Kind.NAME, Kind.DUPLICATE, Kind.TYPE, Kind.SYNTAX
CONSTANT, DIRECTION, PLACE, TARGET = Kind.CONSTANT, Kind.DIRECTION, Kind.PLACE, Kind.TARGET

DECLARATIONS = [
    # what may stand in what
    (TYPE, "header cannot have type string", "header h_t { /*!*/string s; }"),
    (TYPE, "header cannot have type int", "header h_t { /*!*/int i; }"),
    (TYPE, "header cannot have type error", "header h_t { /*!*/error e; }"),
    (TYPE, "header cannot have type E9", "enum E9 { A } header h_t { /*!*/E9 e; }"),
    (TYPE, "header cannot have type one_t", "header h_t { /*!*/one_t h; }"),
    (TYPE, "header cannot have type one_t[2]", "header h_t { /*!*/one_t[2] h; }"),
    (TYPE, "header cannot have type tuple<bit<8>>", "header h_t { /*!*/tuple<bit<8>> x; }"),
    (TYPE, "header cannot have type s_t", "struct s_t { error e; } header h_t { /*!*/s_t s; }"),
    (TYPE, "header cannot have type s_t", "struct s_t { varbit<8> v; } header h_t { /*!*/s_t s; }"),
    (TYPE, "header_union cannot have type bit<8>", "header_union u_t { /*!*/bit<8> x; }"),
    (TYPE, "header_union cannot have type inner_t", "header_union u_t { /*!*/inner_t x; }"),
    (TYPE, "header_union cannot have type u_t", "header_union u_t { one_t h; } header_union v_t { /*!*/u_t x; }"),
    (TYPE, "struct cannot have type int", "struct s_t { /*!*/int i; }"),
    (TYPE, "struct cannot have type string", "struct s_t { /*!*/string i; }"),
    (TYPE, "struct cannot have type match_kind", "struct s_t { /*!*/match_kind i; }"),
    (TYPE, "struct cannot have type list<bit<8>>", "struct s_t { /*!*/list<bit<8>> i; }"),
    (TYPE, "struct cannot have type packet_in", "struct s_t { /*!*/packet_in p; }"),
    (TYPE, "a tuple's element cannot have type int", "struct s_t { tuple</*!*/int> t; }"),
    (TYPE, "a stack's elements are headers, not inner_t", "struct s_t { /*!*/inner_t[3] t; }"),
    (TYPE, "a stack's elements are headers, not bit<8>", "struct s_t { /*!*/bit<8>[3] t; }"),
    (TYPE, "a stack's elements are headers, not bool", "struct s_t { /*!*/bool[3] t; }"),
    (CONSTANT, "a stack's size must be at least 1", "struct s_t { one_t[/*!*/0] t; }"),
    (NAME, "type 's_t' cannot be part of itself", "struct s_t { /*!*/s_t s; }"),
    (NAME, "type 'u_t' cannot be part of itself", "header_union u_t { /*!*/u_t s; }"),
    (DUPLICATE, "two fields 'a'", "header_union u_t { one_t a; one_t /*!*/a; }"),
    # enums and names
    (CONSTANT, "300 does not fit in bit<8>", "enum bit<8> E9 { A = 1, B = /*!*/300 }"),
    (SYNTAX, "gives values", "enum bit<8> E9 { A = 1, B /*!*/}"),
    (SYNTAX, "not '='", "enum E9 { A, B /*!*/= 2 }"),
    (DUPLICATE, "two members 'A'", "enum E9 { A, /*!*/A }"),
    (TYPE, "representation must be bit<W> or int<W>, not bool", "enum /*!*/bool E9 { A = true }"),
    (TYPE, "representation must be bit<W> or int<W>, not P9", "type bit<9> P9; enum /*!*/P9 E9 { A = 1 }"),
    (TYPE, "typedef cannot name void", "typedef /*!*/void V9;"),
    (TYPE, "typedef cannot name string", "typedef /*!*/string V9;"),
    (TYPE, "'type' cannot make a new type of one_t", "type /*!*/one_t V9;"),
    (TYPE, "'type' cannot make a new type of error", "type /*!*/error V9;"),
    (TYPE, "'type' cannot make a new type of E9", "enum bit<8> E9 { A = 1 } type /*!*/E9 V9;"),
    (TYPE, "S9 needs 1 type argument", "struct S9<T> { T f; } typedef /*!*/S9 X9;"),
    (TYPE, "S9 takes 1 type argument, 2 given", "struct S9<T> { T f; } typedef /*!*/S9<bit<8>, bit<8>> X9;"),
    (TYPE, "inner_t takes no type arguments", "struct s_t { /*!*/inner_t<bit<8>> f; }"),
    # parameters and constants
    (DIRECTION, "a parameter of type int has no direction", "void f(/*!*/in int x) { }"),
    (DIRECTION, "a parameter of type string has no direction", "void f(/*!*/in string x) { }"),
    (DIRECTION, "an out parameter cannot have a default value", "void f(out bit<8> x = /*!*/3) { }"),
    (CONSTANT, "must be known at compile time", "const bit<8> K9 = /*!*/twice(3);"),
    (TYPE, "bit<16> where bit<8> is needed", "const bit<8> K9 = /*!*/16w3;"),
    (TYPE, "can end without a return", "bit<8> /*!*/f(in bit<8> x) { for (bit<8> i in 0..3) { return i; } }"),
    (PLACE, "exit cannot be used in a function", "void f() { /*!*/exit; }"),
    (TYPE, "return needs a value", "bit<8> f() { /*!*/return; }"),
    (TYPE, "operator '+' cannot be applied to T and T", "T f<T>(in T x) { return /*!*/x + x; }"),
    (NAME, "'f' is not declared", "bit<8> f(in bit<8> x) { return /*!*/f(x); }"),
]  # fmt: skip
HELPERS = """
bit<8> twice(in bit<8> x) { return x + x; }
void change(inout bit<8> x) { x = 1; }
T pick<T>(in T x, in T y) { return x; }
void nothing<T>() { }
void known(int n) { }
header_union u_t { one_t one; two_t two; }
enum bit<8> ser_t { a = 1, b = 2 }
enum bit<8> set_t { a = 1 }
enum plain_t { a, b }
type bit<8> new_t;
struct pair_t { bit<8> x; bit<8> y; }
struct gen_t<T> { T f; }
header var_t { bit<8> n; varbit<32> v; }
const list<bit<8>> numbers = { 1, 2 };
const pair_t constant_pair = { 1, 2 };
"""
APPLY = [
    # operators
    (TYPE, "'==' cannot be applied to string and string", 'meta.flag = /*!*/"a" == "b";'),
    (TYPE, "'==' cannot be applied to u_t and one_t", "u_t u; meta.flag = /*!*/u == hdr.one;"),
    (TYPE, "'<' cannot be applied to plain_t and plain_t", "meta.flag = /*!*/plain_t.a < plain_t.b;"),
    (TYPE, "'+' cannot be applied to new_t and int", "new_t n = (new_t)1; n = /*!*/n + 1;"),
    (TYPE, "'<' cannot be applied to new_t", "new_t n = (new_t)1; meta.flag = /*!*/n < n;"),
    (TYPE, "'==' cannot be applied to new_t and int", "new_t n = (new_t)1; meta.flag = /*!*/n == 1;"),
    (TYPE, "'==' cannot be applied to varbit<32> and varbit<16>", "varbit<32> v; varbit<16> w; meta.flag = /*!*/v == w;"),
    (TYPE, "'++' cannot be applied to varbit<32>", "varbit<32> v; meta.m32 = /*!*/v ++ v;"),
    (TYPE, "varbit<32> cannot be sliced", "varbit<32> v; meta.m8 = /*!*/v[7:0];"),
    (TYPE, "where varbit<32> is needed", "varbit<32> v = /*!*/32w1;"),
    (TYPE, "the int that is shifted cannot be inferred", "meta.m8 = /*!*/1 << meta.m8;"),
    (TYPE, "needs operands with a width, not int", "meta.m8 = /*!*/5 |+| 3;"),
    (CONSTANT, "not defined for negative numbers", "meta.m8 = /*!*/-5 / 2;"),
    (TYPE, "3 elements where pair_t has 2", "pair_t x = { 1, 2 }; meta.flag = /*!*/x == { 1, 2, 3 };"),
    (TYPE, "the branches of '?'", "meta.inner = /*!*/meta.flag ? { 1, true } : { 2, false };"),
    # casts
    (TYPE, "cannot cast plain_t to bit<32>", "meta.m32 = /*!*/(bit<32>)plain_t.a;"),
    (TYPE, "cannot cast bit<8> to plain_t", "plain_t x = /*!*/(plain_t)meta.m8;"),
    (TYPE, "cannot cast bit<16> to ser_t", "ser_t x = /*!*/(ser_t)meta.m16;"),
    (TYPE, "bit<8> where ser_t is needed", "ser_t x = /*!*/meta.m8;"),
    (TYPE, "bit<8> where ser_t is needed", "ser_t x = /*!*/ser_t.a + 1;"),
    (TYPE, "set_t where ser_t is needed", "ser_t x = /*!*/set_t.a;"),
    (TYPE, "bit<8> where new_t is needed", "new_t x = /*!*/meta.m8;"),
    (TYPE, "cannot cast bit<8> to pair_t", "pair_t x = /*!*/(pair_t)meta.m8;"),
    (TYPE, "cannot cast inner_t to pair_t", "pair_t x = /*!*/(pair_t)meta.inner;"),
    (TYPE, "cannot cast int to bool", "meta.flag = /*!*/(bool)2;"),
    (TYPE, "cannot cast bit<8> to int", "meta.m8 = /*!*/(int)meta.m8 + meta.m8;"),
    (TYPE, "bool where bit<8> is needed", "gen_t<bit<8>> g = { f = /*!*/true };"),
    # slices and indices
    (CONSTANT, "a slice of 9 bits is outside bit<8>", "meta.m16 = 7w0 ++ meta.m8[meta.m8 +: /*!*/9];"),
    (TYPE, "a slice's low bit must be a bit<W>, not int<8>", "meta.m8 = meta.m8[/*!*/meta.s8 +: 8];"),
    (CONSTANT, "must be known at compile time", "meta.m8 = meta.m8[0 +: /*!*/meta.m8];"),
    (CONSTANT, "outside bit<8>", "meta.m8 = 4w0 ++ /*!*/meta.m8[6 +: 4];"),
    (CONSTANT, "a tuple's index must be known", "tuple<bit<8>, bit<8>> t = { 1, 2 }; meta.m8 = t[/*!*/meta.m8];"),
    (CONSTANT, "index 2 is outside tuple<bit<8>, bit<8>>", "tuple<bit<8>, bit<8>> t = { 1, 2 }; meta.m8 = t[/*!*/2];"),
    (CONSTANT, "index -1 is outside", "meta.m8 = hdr.stack[/*!*/-1].a;"),
    # l-values
    (DIRECTION, "not an l-value", "change(/*!*/(bit<8>)meta.m8);"),
    (DIRECTION, "not an l-value", "change(/*!*/meta.m8 + 1);"),
    (DIRECTION, "not an l-value", "/*!*/constant_pair.x = 1;"),
    (DIRECTION, "not an l-value", "(/*!*/(one_t){ 1, 2, 3 }).setInvalid();"),
    (DIRECTION, "'_' is only allowed for an out parameter", "change(/*!*/_);"),
    # unions, headers, structs
    (NAME, "u_t has no member 'setValid'", "u_t u; u./*!*/setValid();"),
    (TYPE, "a list where u_t is needed", "u_t u = /*!*/{ hdr.one, hdr.two };"),
    (TYPE, "where u_t is needed", "u_t u = /*!*/hdr.one;"),
    (TYPE, "where inner_t is needed", "meta.inner = /*!*/{#};"),
    (NAME, "inner_t has no member 'isValid'", "meta.flag = meta.inner./*!*/isValid();"),
    (SYNTAX, "'...' must be", "pair_t x = { /*!*/..., 1 };"),
    (TYPE, "no value for the field 'y'", "pair_t x = /*!*/{ x = ... };"),
    (DUPLICATE, "the field 'x' is given twice", "pair_t x = { x = 1, /*!*/x = 2 };"),
    (TYPE, "4 elements where one_t[3] has 3", "hdr.stack = /*!*/{ {#}, {#}, {#}, {#} };"),
    (TYPE, "the type of this structure cannot be inferred", "meta.m8 = /*!*/{ x = 1 }.x;"),
    (TYPE, "has no size that is known", "meta.m8 = /*!*/plain_t.a.minSizeInBits();"),
    # calls
    (TYPE, "T would be both bit<8> and bit<16>", "meta.m8 = pick(meta.m8, /*!*/meta.m16);"),
    (TYPE, "type argument T cannot be inferred", "/*!*/nothing();"),
    (TYPE, "width of an int cannot be inferred", "meta.m8 = /*!*/pick(1, 2);"),
    (TYPE, "takes 1 type argument, 2 given", "/*!*/nothing<bit<8>, bit<8>>();"),
    (TYPE, "takes 1 argument, 2 given", "/*!*/change(meta.m8, meta.m8);"),
    (NAME, "has no parameter 'z'", "change(/*!*/z = meta.m8);"),
    (TYPE, "either all arguments are named or none", "meta.m8 = /*!*/pick(x = meta.m8, meta.m8);"),
    (TYPE, "bit<8> where int is needed", "known(/*!*/meta.m8);"),
    (TYPE, "bit<16> where bit<8> is needed (out arguments are not cast)", "change(/*!*/meta.m16);"),
    (TYPE, "cannot have type list<bit<8>>", "/*!*/list<bit<8>> l = { 1 };"),
    # loops and switch
    (TYPE, "bit<8> where bool is needed", "for (bit<8> i = 0; /*!*/i; i = i + 1) { }"),
    (TYPE, "goes over a range, a list or a header stack, not over bit<8>", "for (bit<8> i in /*!*/meta.m8) { }"),
    (TYPE, "the loop's variable has type two_t, the elements have type one_t", "for (two_t h in /*!*/hdr.stack) { }"),
    (TYPE, "bool where bit<8> is needed", "for (bit<8> i in { 1, /*!*/true }) { }"),
    (TYPE, "the loop's variable has type bool", "for (bool i in /*!*/0..3) { }"),
    (TYPE, "cannot have type int", "for (/*!*/int i in 0..3) { }"),
    (NAME, "'i' is not declared", "for (bit<8> i in 0..3) { } meta.m8 = /*!*/i;"),
    (PLACE, "break can only be used in a loop", "if (meta.flag) { /*!*/break; }"),
    (PLACE, "continue can only be used in a loop", "for (bit<8> i in 0..3) { } /*!*/continue;"),
    (TYPE, "a switch cannot be made on inner_t", "switch (/*!*/meta.inner) { }"),
    (CONSTANT, "label must be known", "switch (meta.m8) { /*!*/meta.m8: { } }"),
    (TYPE, "where bit<8> is needed", "switch (meta.m8) { /*!*/true: { } }"),
    (DUPLICATE, "this label occurs twice", "switch (meta.m8) { ser_t.a: { } /*!*/1: { } }"),
]  # fmt: skip
PARSER_STATES = [
    (PLACE, "a loop cannot be used in a parser", "/*!*/for (bit<8> i in 0..3) { }"),
    (PLACE, "switch cannot be used in a parser", "/*!*/switch (meta.m8) { }"),
    (DIRECTION, "lastIndex cannot be written", "/*!*/hdr.stack.lastIndex = 1;"),
    (PLACE, "push_front() cannot be used in a parser", "/*!*/hdr.stack.push_front(1);"),
]


def check(kind: Kind, text: str, source: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_text(source.replace("/*!*/", "     "))
    wanted = line_of(source)
    found = [(d.span.line, d.span.column, d.kind) for d in caught.value.diagnostics if text in d.message]
    assert (*wanted, kind) in found, str(caught.value)


@pytest.mark.parametrize(("kind", "text", "piece"), DECLARATIONS)
def test_declarations(kind: Kind, text: str, piece: str) -> None:
    helpers = "bit<8> twice(in bit<8> x) { return x + x; }\n"
    check(kind, text, program(declarations=helpers + piece + "\n"))


@pytest.mark.parametrize(("kind", "text", "piece"), APPLY)
def test_apply(kind: Kind, text: str, piece: str) -> None:
    check(kind, text, program(declarations=HELPERS, apply=piece))


@pytest.mark.parametrize(("kind", "text", "piece"), PARSER_STATES)
def test_parser_states(kind: Kind, text: str, piece: str) -> None:
    parser = (
        "parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {\n"
        f"    state start {{\n{piece}\n transition accept; }}\n}}\n"
    )
    check(kind, text, program(parser=parser))


def test_two_varbit_fields_in_a_header_that_is_used() -> None:
    helpers = "header /*!*/h_t { varbit<8> a; varbit<8> b; }\n"
    check(TARGET, "two varbit fields", program(declarations=helpers, apply="h_t h; h.setInvalid();"))


def test_many_errors_in_one_run() -> None:
    pieces = [piece for _, _, piece in APPLY[:12]]
    source = program(declarations=HELPERS, apply="\n".join("{ " + piece + " }" for piece in pieces))
    with pytest.raises(CompileError) as caught:
        compile_text(source.replace("/*!*/", "     "))
    assert len({d.span.line for d in caught.value.diagnostics}) == len(pieces)
