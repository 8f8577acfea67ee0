"""Small programs and the IR they become, as printed."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import textwrap

import pytest

from emulator.p4 import ir
from emulator.p4.ir.printer import print_block, print_root, print_table
from emulator.p4.ir.verify import verify
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.text import PARSER, compile_text, program


def compiled(**pieces: str) -> ir.Program:
    found = compile_text(program(**pieces)).program
    verify(found, V1MODEL_TARGET)
    return found


def ingress(apply: str, **pieces: str) -> str:
    block = compiled(apply=apply, **pieces).block("ig")
    assert isinstance(block, ir.Control)
    return "\n".join(print_block(block.body))


STATEMENTS = {
    # constants, casts, widths
    "meta.m8 = 2 + 3 * 4;": "meta.m8 = 8w14",
    "meta.m8 = 8w255 + 1;": "meta.m8 = 8w0",
    "meta.m8 = 8w250 |+| 10;": "meta.m8 = 8w255",
    "meta.s8 = -8s128 |-| 1;": "meta.s8 = 8s-128",
    "meta.m16 = 8w1 ++ 8w2;": "meta.m16 = 16w258",
    "meta.m8 = 16w0x1234[11:4];": "meta.m8 = 8w35",
    "meta.m8 = 16w0x1234[4 +: 8];": "meta.m8 = 8w35",
    "meta.m16 = (bit<16>)meta.m8;": "meta.m16 = (bit<16>)meta.m8",
    "meta.s8 = (int<8>)meta.m8 >> 1;": "meta.s8 = ((int<8>)meta.m8 >> 1w1)",
    "meta.flag = (bool)meta.m8[0:0];": "meta.flag = (bool)meta.m8[0:0]",
    "const bit<16> K = 7; meta.m16 = K << 4;": "meta.m16 = 16w112",
    "meta.m8 = meta.m8 + 1 > 3 ? meta.m8 : 0;": "meta.m8 = (((meta.m8 + 8w1) > 8w3) ? meta.m8 : 8w0)",
    "meta.m8 += 3;": "meta.m8 = (meta.m8 + 8w3)",
    "meta.m8 = hdr.one.minSizeInBytes();": "meta.m8 = 8w4",
    "meta.m32 = hdr.stack.size;": "meta.m32 = 32w3",
    # slices as targets
    "meta.m8[5:2] = 4w9;": "meta.m8 = ((meta.m8[7:6] ++ 4w9) ++ meta.m8[1:0])",
    "meta.m16[15:8] = meta.m8;": "meta.m16 = (meta.m8 ++ meta.m16[7:0])",
    "meta.m16[7:0][3:0] = 4w1;": "meta.m16 = (meta.m16[15:4] ++ 4w1)",
    "hdr.two.y[7:0] = meta.m8;": "hdr.two.y = (int<16>)(hdr.two.y[15:8] ++ meta.m8)",
    # aggregates
    "meta.inner = { 3, true };": "meta.inner.p = 8w3\nmeta.inner.q = true",
    "meta.inner = { q = meta.flag, p = meta.m8 };": "meta.inner.p = meta.m8\nmeta.inner.q = meta.flag",
    "meta.inner = { p = 1, ... };": "meta.inner.p = 8w1\nmeta.inner.q = false",
    "hdr.one = hdr.stack[1];": "hdr.one = hdr.stack[1]",
    "hdr.one = { 1, 2, 3 };": "hdr.one.setValid()\nhdr.one.a = 8w1\nhdr.one.b = 8w2\nhdr.one.c = 16w3",
    "hdr.one = {#};": "hdr.one.setInvalid()",
    "hdr.one = { hdr.one.b, hdr.one.a, 0 };":
        "I.tmp = hdr.one.b\nI.tmp_1 = hdr.one.a\n"
        "hdr.one.setValid()\nhdr.one.a = I.tmp\nhdr.one.b = I.tmp_1\nhdr.one.c = 16w0",
    "tuple<bit<8>, bool> t = { 1, true }; meta.m8 = t[0];": "I.t.0 = 8w1\nI.t.1 = true\nmeta.m8 = I.t.0",
    "meta.flag = meta.inner == { 1, true };": "meta.flag = ((meta.inner.p == 8w1) && (meta.inner.q == true))",
    # headers and stacks
    "hdr.one.setValid(); hdr.two.setInvalid();": "hdr.one.setValid()\nhdr.two.setInvalid()",
    "hdr.stack.push_front(2); hdr.stack.pop_front(1);": "hdr.stack.push_front(2)\nhdr.stack.pop_front(1)",
    "hdr.stack[meta.m8].a = 1;": "hdr.stack[meta.m8].a = 8w1",
    "one_t h; h.a = 1;": "I.h.setInvalid()\nI.h.a = 8w1",
    # control flow
    "if (meta.flag) { exit; } else return;": "region I {\n  if meta.flag {\n    exit\n  } else {\n    return\n  }\n}",
    "if (true) meta.m8 = 1; else meta.m8 = 2;": "meta.m8 = 8w1",
    "switch (meta.m8) { 1: 2: { meta.m8 = 3; } default: { meta.m8 = 4; } }":
        "switch meta.m8 {\ncase 1, 2: {\n  meta.m8 = 8w3\n}\ndefault: {\n  meta.m8 = 8w4\n}\n}",
    "bit<8> x = 1; { bit<8> x = 2; meta.m8 = x; } meta.m8 = x;":
        "I.x = 8w1\nI.x_1 = 8w2\nmeta.m8 = I.x_1\nmeta.m8 = I.x",
    # externs
    "hash(meta.m16, HashAlgorithm.csum16, 16w0, { meta.inner, 8w1 }, 16w9);":
        "hash(meta.m16, 32w6, 16w0, {meta.inner.p, meta.inner.q, 8w1}, 16w9)",
    "hash(meta.m32[15:0], HashAlgorithm.crc16, 16w0, hdr.one, 16w9);":
        "hash(I.tmp, 32w2, 16w0, {hdr.one.a, hdr.one.b, hdr.one.c}, 16w9)\nmeta.m32 = (meta.m32[31:16] ++ I.tmp)",
}  # fmt: skip


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements(text: str) -> None:
    assert ingress(text) == STATEMENTS[text]


FUNCTIONS = """
bit<8> twice(in bit<8> x) { return x + x; }
bit<8> clamp(in bit<8> x) { if (x > 9) { return 9; } return x; }
void swap<T>(inout T a, inout T b) { T c = a; a = b; b = c; }
"""


def test_each_call_of_a_function_has_a_result_of_its_own() -> None:
    assert ingress("meta.m8 = twice(meta.m8) + twice(3);", declarations=FUNCTIONS) == textwrap.dedent("""\
        region I.twice {
          I.twice.result = (meta.m8 + meta.m8)
        }
        region I.twice {
          I.twice.result_1 = 8w6
        }
        meta.m8 = (I.twice.result + I.twice.result_1)""")


def test_what_a_later_operand_changes_is_saved_before_it() -> None:
    change = "bit<8> change(inout bit<8> x) { x = 1; return x; }"
    assert ingress("meta.m8 = meta.m8 + meta.inner.p + change(meta.m8);", declarations=change) == textwrap.dedent("""\
        I.tmp = (meta.m8 + meta.inner.p)
        region I.change {
          meta.m8 = 8w1
          I.change.result = meta.m8
        }
        meta.m8 = (I.tmp + I.change.result)""")


def test_early_return_leaves_the_region() -> None:
    assert ingress("meta.m8 = clamp(meta.m8);", declarations=FUNCTIONS) == textwrap.dedent("""\
        region I.clamp {
          if (meta.m8 > 8w9) {
            I.clamp.result = 8w9
            return
          }
          I.clamp.result = meta.m8
        }
        meta.m8 = I.clamp.result""")


def test_generic_function_by_reference_unless_arguments_overlap() -> None:
    assert ingress("swap(meta.m8, hdr.one.a);", declarations=FUNCTIONS) == textwrap.dedent("""\
        region I.swap {
          I.swap.c = meta.m8
          meta.m8 = hdr.one.a
          hdr.one.a = I.swap.c
        }""")
    assert ingress("swap(hdr.one.b, hdr.one.a);", declarations=FUNCTIONS) == textwrap.dedent("""\
        I.swap.a = hdr.one.b
        I.swap.b = hdr.one.a
        region I.swap {
          I.swap.c = I.swap.a
          I.swap.a = I.swap.b
          I.swap.b = I.swap.c
        } cleanup {
          hdr.one.b = I.swap.a
          hdr.one.a = I.swap.b
        }""")


def test_short_circuit_keeps_the_call_conditional() -> None:
    assert ingress("if (meta.flag && twice(meta.m8) == 4) { exit; }", declarations=FUNCTIONS) == textwrap.dedent("""\
        I.tmp = meta.flag
        if I.tmp {
          region I.twice {
            I.twice.result = (meta.m8 + meta.m8)
          }
          I.tmp = (I.twice.result == 8w4)
        }
        if I.tmp {
          exit
        }""")


def test_an_action_copies_in_and_out_even_on_exit() -> None:
    local = "action a(inout bit<8> x, in bit<8> y, bit<8> z) { x = y + z; meta.m16 = 0; exit; }"
    assert ingress("a(meta.m8, meta.m8, 3);", local=local) == textwrap.dedent("""\
        I.a.x = meta.m8
        I.a.y = meta.m8
        region I.a {
          I.a.x = (I.a.y + 8w3)
          meta.m16 = 16w0
          exit
        } cleanup {
          meta.m8 = I.a.x
        }""")


SUB = """
control Sub(inout bit<8> v, in bit<8> w)(bit<8> n) {
    bit<8> l = n;
    register<bit<8>>(4) r;
    action set(bit<8> d) { v = d + w; }
    table t { key = { v: exact; } actions = { set; } default_action = set(1); }
    apply { t.apply(); r.read(l, 0); v = l; }
}
"""


def test_sub_controls_are_inlined_with_their_tables() -> None:
    found = compiled(
        declarations=SUB, local="Sub(5) one; Sub(6) two;", apply="one.apply(meta.m8, 3); two.apply(hdr.one.a, 4);"
    )
    assert [t.name for t in found.tables] == ["I.one.t", "I.two.t"]
    assert [e.name for e in found.externs] == ["I.one.r", "I.two.r"]
    assert print_block(found.action("I.one.set").body) == ["meta.m8 = (I.one.set.d + 8w3)"]
    block = found.block("ig")
    assert isinstance(block, ir.Control)
    assert print_block(block.body)[:6] == [
        "region I.one {", "  I.one.l = 8w5", "  apply I.one.t", "  I.one.r.read(I.one.l, 32w0)", "  meta.m8 = I.one.l", "}",
    ]  # fmt: skip


def test_an_instance_applied_twice_has_storage_of_its_own() -> None:
    found = compiled(declarations=SUB, local="Sub(5) one;", apply="one.apply(meta.m8, 3); one.apply(hdr.one.a, 4);")
    assert [t.name for t in found.tables] == ["I.one.t"]
    assert print_block(found.action("I.one.set").body) == ["I.one.v = (I.one.set.d + I.one.w)"]
    block = found.block("ig")
    assert isinstance(block, ir.Control)
    text = "\n".join(print_block(block.body))
    assert "I.one.w = 8w3" in text
    assert "I.one.w = 8w4" in text
    assert "hdr.one.a = I.one.v" in text


def test_direct_application() -> None:
    declarations = "control Plain(inout bit<8> v) { apply { v = 1; } }\n"
    assert ingress("Plain.apply(meta.m8);", declarations=declarations) == "region I.Plain {\n  meta.m8 = 8w1\n}"


TABLE = """
action set(bit<8> d, bit<9> p) { meta.m8 = d; sm.egress_spec = p; }
action bound(in bit<8> x, inout bit<8> y, bit<8> z) { y = x + z; }
table t {
    key = { hdr.one.a: exact; meta.m16: lpm @name("route"); meta.s8: ternary; meta.m8 & 0xf: ternary; hdr.stack[1].b: exact;
            meta.m16[7:4]: exact; hdr.one.isValid(): exact; twice(meta.m8): exact @name("doubled"); }
    actions = { set; bound(meta.m8, hdr.one.b); @defaultonly NoAction; }
    const default_action = NoAction();
    size = 99;
    const entries = {
        (1, 0x1200 &&& 0xff00, -1, _, 2, 3, true, 4): set(5, 6);
        (2, _, 3 &&& 7, 1, 2, 3, false, 4): bound(7);
    }
}
"""


def test_table() -> None:
    found = compiled(declarations=FUNCTIONS, local=TABLE, apply="if (t.apply().hit) { meta.m8 = 1; }")
    assert "\n".join(print_table(found.tables[0])) == textwrap.dedent("""\
        table I.t {
          key hdr.one.a: exact = hdr.one.a
          key route: lpm = meta.m16
          key meta.s8: ternary = (bit<8>)meta.s8
          key meta.m8 & 0xf: ternary = (meta.m8 & 8w15)
          key hdr.stack[1].b: exact = hdr.stack[1].b
          key meta.m16[7:4]: exact = meta.m16[7:4]
          key hdr.one.$valid$: exact = hdr.one.isValid()
          key doubled: exact = I.tmp
          action I.set
          action I.bound
          action NoAction default_only
          const default NoAction()
          size 99
          const entry 0x1 &&& 0xff, 0x1200 &&& 0xff00, 0xff &&& 0xff, _, 0x2 &&& 0xff, 0x3 &&& 0xf, 0x1 &&& 0x1, 0x4 &&& 0xff: I.set(5, 6) priority 2
          const entry 0x2 &&& 0xff, _, 0x3 &&& 0x7, 0x1 &&& 0xff, 0x2 &&& 0xff, 0x3 &&& 0xf, 0x0 &&& 0x1, 0x4 &&& 0xff: I.bound(7) priority 1
        }""")
    assert print_block(found.action("I.bound").body)[:3] == [
        "I.bound.x = meta.m8",
        "I.bound.y = hdr.one.b",
        "region I.bound {",
    ]
    block = found.block("ig")
    assert isinstance(block, ir.Control)
    assert print_block(block.body)[-5:] == [
        "I.tmp = I.twice.result",
        "apply I.t -> hit=I.tmp_1",
        "if I.tmp_1 {",
        "  meta.m8 = 8w1",
        "}",
    ]


def test_priorities_of_entries() -> None:
    keys = "key = { meta.m8: ternary; } actions = { NoAction; } default_action = NoAction;"
    entries = "entries = { priority = 9: 1: NoAction(); 2: NoAction(); priority = 20: 3: NoAction(); }"
    found = compiled(local=f"table t {{ {keys} {entries} }}", apply="t.apply();")
    assert [(e.priority, e.is_const) for e in found.tables[0].entries] == [(9, False), (8, False), (20, False)]


PARSERS = """
parser Inner(packet_in p, out one_t h, inout bit<8> n) {
    state start { p.extract(h); n = n + 1; transition select(h.a) { 1: again; 2: reject; _: accept; } }
    state again { transition start; }
}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    bit<8> n = 4;
    Inner() inner;
    state start { inner.apply(packet, hdr.one, n); meta.m8 = n; transition rest; }
    state rest {
        packet.extract(hdr.stack.next);
        verify(hdr.stack.last.a != 0, error.NoMatch);
        inner_t ahead = packet.lookahead<inner_t>();
        packet.advance(9);
        transition select(hdr.stack.lastIndex, ahead.q, meta.s8) { (2, true, -1): accept; (1 .. 2, _, _): start; default: rest; }
    }
}
"""


def test_parser_with_a_sub_parser() -> None:
    found = compiled(parser=PARSERS)
    assert "\n".join(print_root("p", found.block("p"))) == textwrap.dedent("""\
        parser p = P {
          state start {
            P.n = 8w4
            goto start.entered
          }
          state start.entered {
            hdr.one.setInvalid()
            goto inner.start
          }
          state inner.start {
            extract hdr.one
            P.n = (P.n + 8w1)
            select hdr.one.a {
              0x1 &&& 0xff: inner.again
              0x2 &&& 0xff: reject
              _: start.entered.after_Inner
            }
          }
          state inner.again {
            goto inner.start
          }
          state start.entered.after_Inner {
            meta.m8 = P.n
            goto rest
          }
          state rest {
            extract hdr.stack.next
            verify (hdr.stack.last.a != 8w0), 32w2
            lookahead 9: P.tmp@0, P.tmp_1@8
            P.ahead.p = P.tmp
            P.ahead.q = P.tmp_1
            advance 32w9
            select hdr.stack.lastIndex, P.ahead.q, (bit<8>)meta.s8 {
              0x2 &&& 0xffffffff, 0x1 &&& 0x1, 0xff &&& 0xff: accept
              1 .. 2, _, _: start.entered
              _, _, _: rest
            }
          }
        }""")


def test_both_versions_of_v1model() -> None:
    for version, index in (("20180101", "(bit<32>)meta.m8"), ("20200408", "meta.m8")):
        arguments = "<bit<8>>" if version == "20180101" else "<bit<8>, bit<8>>"
        local = f"register{arguments}(4) r;"
        source = program(local=local, apply=f"r.read(meta.m8, {index});")
        found = compile_text(source, defines={"V1MODEL_VERSION": version}).program
        verify(found, V1MODEL_TARGET)
        block = found.block("ig")
        assert isinstance(block, ir.Control)
        assert print_block(block.body) == [f"I.r.read(meta.m8, {index})"]


def test_types_with_names_of_their_own() -> None:
    declarations = "type bit<9> port_t; enum bit<4> op_t { A = 3, B = 5 } enum plain_t { X, Y }\n"
    text = "port_t p = (port_t)sm.ingress_port; op_t o = op_t.B; plain_t q = plain_t.Y; meta.m8 = 4w0 ++ o; meta.flag = q == plain_t.X;"
    assert ingress(text, declarations=declarations) == textwrap.dedent("""\
        I.p = standard_metadata.ingress_port
        I.o = 4w5
        I.q = 32w1
        meta.m8 = (4w0 ++ I.o)
        meta.flag = (I.q == 32w0)""")


def test_spans_are_the_statements() -> None:
    source = program(apply="meta.m8 = 1;\n   meta.m16 = 2;")
    block = compile_text(source).program.block("ig")
    assert isinstance(block, ir.Control)
    first, second = (s.span for s in block.body)
    assert first is not None
    assert second is not None
    assert (second.line - first.line, second.column, second.end_column) == (1, 4, 16)


def test_the_sources_are_told() -> None:
    found = compile_text(program(parser=PARSER))
    assert [path.rsplit("/", 1)[-1] for path, _ in found.sources] == ["core.p4", "v1model.p4"]


def test_lanes_by_macros() -> None:
    declarations = """#define R1(M,p) M(p)
#define R4(M,p) R1(M,p##0) R1(M,p##1) R1(M,p##2) R1(M,p##3)
#define REG(i) register<bit<32>>(512) r_##i;
#define ADD(i) { bit<32> v; r_##i.read(v, meta.m32); v = v + 1; r_##i.write(meta.m32, v); }
"""
    found = compiled(declarations=declarations, local="R4(REG, x)\naction add() { R4(ADD, x) }", apply="add();")
    assert [e.name for e in found.externs] == [f"I.r_x{i}" for i in range(4)]
    block = found.block("ig")
    assert isinstance(block, ir.Control)
    assert print_block(block.body)[1:4] == [
        "  I.r_x0.read(I.add.v, meta.m32)", "  I.add.v = (I.add.v + 32w1)", "  I.r_x0.write(meta.m32, I.add.v)",
    ]  # fmt: skip
