"""The grammar: what is accepted, how it is grouped, and that errors leave the rest readable."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4.errors import Diagnostics
from emulator.p4.preprocess.preprocessor import Preprocessor
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.parse import parse


def read(text: str) -> s.Program:
    diagnostics = Diagnostics()
    tree = parse(Preprocessor(diagnostics).run("x.p4", text, {}), diagnostics)
    assert not diagnostics.errors, [str(e) for e in diagnostics.errors]
    return tree


def errors(text: str) -> list[str]:
    diagnostics = Diagnostics()
    parse(Preprocessor(diagnostics).run("x.p4", text, {}), diagnostics)
    return [f"{d.span.line}:{d.span.column} {d.message}" for d in diagnostics.errors]


def grouped(node: object) -> str:
    """An expression with all its parentheses."""
    match node:
        case s.Name():
            return node.name
        case s.IntLiteral():
            return str(node.value)
        case s.Binary():
            return f"({grouped(node.left)}{node.op}{grouped(node.right)})"
        case s.Unary():
            return f"({node.op}{grouped(node.operand)})"
        case s.Mux():
            return f"({grouped(node.condition)}?{grouped(node.then)}:{grouped(node.otherwise)})"
        case s.Cast():
            return f"(cast {grouped(node.operand)})"
        case s.Member():
            return f"{grouped(node.base)}.{node.name}"
        case s.Index():
            return f"{grouped(node.base)}[{grouped(node.index)}]"
        case s.SliceOf():
            return f"{grouped(node.base)}[{grouped(node.high)}{'+:' if node.is_plus else ':'}{grouped(node.low)}]"
        case s.Call():
            inside = ",".join("_" if a.value is None else grouped(a.value) for a in node.arguments)
            return f"{grouped(node.callee)}{'<>' if node.type_arguments else ''}({inside})"
        case s.TypeName():
            return "type"
    return type(node).__name__


EXPRESSIONS = {
    "a + b * c": "(a+(b*c))",
    "a - b - c": "((a-b)-c)",
    "a & b == c": "((a&b)==c)",  # unlike C, & binds tighter than ==
    "a | b ^ c & d": "(a|(b^(c&d)))",
    "a < b == c < d": "((a<b)==(c<d))",
    "a << b + c": "(a<<(b+c))",
    "a ++ b[7:0]": "(a++b[7:0])",
    "a |+| b |-| c": "((a|+|b)|-|c)",
    "!a && ~b == c || d": "(((!a)&&((~b)==c))||d)",
    "a ? b : c ? d : e": "((a?b:c)?d:e)",
    "-a.b[2].c": "(-a.b[2].c)",
    "(bit<8>) a + b": "((cast a)+b)",
    "(T) a": "(cast a)",
    "(a) + b": "(a+b)",
    "(T.x) + a": "(type.x+a)",
    "a[b +: 4]": "a[b+:4]",
    "f(a, _)": "f(a,_)",
    "g<bit<8>>(a)": "g<>(a)",
    "a >> b > c": "((a>>b)>c)",
    "p.lookahead<bit<8>>()": "p.lookahead<>()",
    "a < (b)": "(a<b)",
    "error.NoError": "type.NoError",
    ".a": "a",
    "{1, 2,}": "ListOf",
    "{x = 1, ...}": "StructOf",
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_grouping(text: str) -> None:
    tree = read(
        "struct T { } extern packet_in { X lookahead<X>(); } extern X g<X>(in X x);\n"
        f"action act() {{ z = {text}; }}"
    )
    action = tree[-1]
    assert isinstance(action, s.Action)
    statement = action.body.body[0]
    assert isinstance(statement, s.Assign)
    assert grouped(statement.value) == EXPRESSIONS[text]


WHOLE = """
@pkginfo(name="x", version="1") @k[a=1, b="s"] @flag
struct pair_t<A, B> { A first; B second; }
typedef bit<(4 + 4)> byte_t;
type bit<9> port_t;
enum plain_t { A, B, }
enum bit<8> coded_t { A = 1, B = 2 }
header h_t { byte_t f; bit<8> type; varbit<32> v; }
header_union u_t { h_t a; h_t b; }
error { Mine, Other }
match_kind { fuzzy, }
const pair_t<bit<8>, tuple<bool, int<4>>> k = { first = 1, second = { true, 4s1 } };
extern void act<T>(in T x, @optional in bool o = true);
extern ext<T> { ext(bit<32> n); abstract T get(in T x); void set<U>(out U u); }
parser pt<H>(packet_in p, out H h);
package top<H>(pt<H> a, pt<H> b = 1);
T id<T>(in T x) { return x; }
bit<8> choose(in bit<8> x) { if (x == 1) return 2; else { return 3; } }
parser P(packet_in p, out h_t[4] hs)(bit<8> n) {
    bit<8> v = 0; value_set<bit<8>>(4) vs; const bit<8> c = 3;
    @name("s") state start { p.extract(hs.next); { v = 2; } if (v == 1) { v = 3; }
        transition select(v, hs.last.f) { (1, 2): a; (3 &&& 4, _): a; (5 .. 6, 7): reject; vs: accept; default: b; _: c; } }
    state a { transition accept; }
    state b { }
    state c { transition start; }
}
control C(inout h_t h)(bit<8> n) {
    ext<bit<8>>(4) e1; ext<bit<8>>(4) e2 = { bit<8> get(in bit<8> x) { return x; } };
    bit<8> l;
    action plain() { } @name("n") action full(in bit<8> x, bit<8> y) { l[3:0] = y[3:0]; l += x; h.f |+|= 1; return; }
    table t { key = { h.f: exact @name("f"); l & 3: ternary; h.isValid(): exact; }
        actions = { plain; @tableonly full(l); .NoAction(); }
        const default_action = full(l, 1); size = 4; largest_priority_wins = false;
        entries = { const priority = 3: (1, 2 &&& 3, true): plain(); (1, _, false): full(2) @k; } }
    apply {
        switch (t.apply().action_run) { plain: full: { l = 1; } default: { exit; } }
        if (t.apply().hit) l = 1; else if (l == 2) { ; } else { return; }
        for (bit<8> i = 0, l = 1; i < 4; i = i + 1) { if (i == 2) continue; break; }
        for (bit<8> i in 0 .. 3) { l = i; }
        @atomic { bool apply = true; bit<8> key; key = 1; }
        C2.apply(h); id<bit<8>>(l); e1.set<bit<8>>(_); act(x = l); tuple<bool> tt = { true };
        h = {#}; h.setValid(); pair_t<bit<8>, bool> pq = (pair_t<bit<8>, bool>){ first = 1, ... };
    }
}
C(3) instance; top<h_t>(P(1), P(2)) main;
;
"""


def test_the_whole_grammar() -> None:
    tree = read("extern packet_in { void extract<T>(out T h); } control C2(inout bit<8> h) { apply { } }\n" + WHOLE)
    kinds = [type(node).__name__ for node in tree]
    assert kinds.count("Control") == 2
    assert kinds[-2:] == ["Instantiation", "Instantiation"]


def test_keywords_that_may_be_names() -> None:
    read(
        "header h_t { bit<8> type; bit<8> key; bit<8> state; bit<8> apply; bit<8> priority; bit<8> actions; bit<8> list; }"
    )


def test_a_name_shadows_a_type() -> None:
    tree = read("typedef bit<8> T; control C() { apply { bit<8> T; T = (T) + 1; } }")
    control = tree[-1]
    assert isinstance(control, s.Control)
    assert isinstance(control.body.body[1], s.Assign)


def test_types_are_known_only_after_their_declaration() -> None:
    assert errors("struct s_t { later_t x; } struct later_t { }") == [
        "1:14 type 'later_t' is not declared (types are declared before they are used)"
    ]


def test_errors_leave_the_rest_readable() -> None:
    found = errors(
        "struct { }\nconst bit<8> a = ;\nheader h { bit<8> }\nconst bit<8> ok = 1;\ncontrol C() { action a() { x = ; y 1; } apply { z = 1 } }"
    )
    assert [f.split(" ", 1)[0] for f in found] == ["1:8", "2:18", "3:19", "5:32", "5:36", "5:55"]


@pytest.mark.parametrize("cut", range(1, 300, 7))
def test_a_truncated_program_is_refused_unless_it_ends_with_a_declaration(cut: int) -> None:
    text = WHOLE.rstrip()[:-cut]
    ends_with_a_declaration = WHOLE.rstrip()[-cut:].startswith("\n") and text.count("{") == text.count("}")
    assert bool(errors(text)) is not ends_with_a_declaration


def test_pragma_takes_the_rest_of_its_line() -> None:
    tree = read("@pragma keep this\nconst bit<8> a = 1;")
    assert [(a.name, a.tokens) for a in tree[0].annotations] == [("keep", ("this",))]
