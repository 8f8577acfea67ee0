"""Headers whose shape the packet decides: unions, stacks of them and varbit, parsed, changed, sent, on both engines.

The parser of TCP options follows the example of section 8.19 of the language specification 1.2.5.
"""

from __future__ import annotations

import pytest

from emulator.v1model.compiled import compile_program
from tests.programs.p4_programs import Rig
from tests.programs.run import Case, around, ask
from tests.programs.text import compile_text


def parser(states: str) -> str:
    head = "parser P_(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {"
    return f"{head}\n{states}\n}}\n"


OPTIONS = """
header end_t { bit<8> kind; }
header nop_t { bit<8> kind; }
header mss_t { bit<8> kind; bit<32> size; }
header sack_t { bit<8> kind; bit<8> length; varbit<256> blocks; }
header_union option_t { end_t end; nop_t nop; mss_t mss; sack_t sack; }
typedef option_t[4] options_t;
struct sack_top_t { bit<8> kind; bit<8> length; }
"""
OPTION_PARSER = parser("""
state start { packet.extract(hdr.given); transition one; }
state one { transition select(packet.lookahead<bit<8>>()) { 0: end; 1: nop; 2: mss; 5: sack; } }
state end { packet.extract(hdr.options.next.end); transition accept; }
state nop {
    packet.extract(hdr.options.next.nop);
    meta.index = hdr.options.lastIndex;
    meta.kind = hdr.options.last.nop.kind;
    transition one;
}
state mss { packet.extract(hdr.options.next.mss); transition one; }
state sack {
    bit<8> n = packet.lookahead<sack_top_t>().length;
    packet.extract(hdr.options.next.sack, (bit<32>)(8 * n - 16));
    transition one;
}
""")
KINDS = """
for (option_t o in hdr.options) {
    p = p * 10;
    if (o.end.isValid()) { p = p + 1; }
    if (o.nop.isValid()) { p = p + 2; }
    if (o.mss.isValid()) { p = p + 3; }
    if (o.sack.isValid()) { p = p + 4; }
}
q = meta.index;
r = (bit<32>)meta.kind;
"""
NO_NUMBERS = (0, 0, 0, 0)
OPTION_META = "bit<32> index; bit<8> kind;"


def options(name: str, apply: str, wanted: tuple[int, ...], rest: bytes) -> Case:
    return Case(name, apply, NO_NUMBERS, wanted, OPTIONS, "options_t options;", OPTION_META, "", OPTION_PARSER, rest)


EXTRACT_24 = parser("state start { packet.extract(hdr.given); packet.extract(hdr.v, 24); transition accept; }")
VARBIT = "header v_t { bit<8> x; varbit<64> v; bit<8> z; }"
CASES = [
    options(
        "options of four kinds",
        KINDS + "s = hdr.options[1].mss.size;",
        (2341, 0, 1, 0x11223344),
        b"\x01\x02\x11\x22\x33\x44\x05\x04\xaa\xbb\x00",
    ),
    options(
        "more options than the stack holds",
        KINDS + "s = sm.parser_error == error.StackOutOfBounds ? 32w1 : 0;",
        (2222, 3, 1, 1),
        b"\x01" * 5 + b"\x00",
    ),
    options(
        "an option that the packet cuts off",
        KINDS + "s = sm.parser_error == error.PacketTooShort ? 32w1 : 0;",
        (2000, 0, 1, 1),
        b"\x01\x02\x11",
    ),
    Case(
        "varbits are copied with their width",
        """v_t w = hdr.v; p = (bit<32>)(bit<1>)(w == hdr.v); w.z = 1; q = (bit<32>)(bit<1>)(w.v == hdr.v.v);
        r = (bit<32>)hdr.v.z; varbit<64> none; w.v = none; s = (bit<32>)(bit<1>)(w.v == hdr.v.v);""",
        NO_NUMBERS,
        (1, 1, ord("Z"), 0),
        VARBIT,
        "v_t v;",
        parser=EXTRACT_24,
        rest=b"\x03abcZ",
    ),
    Case(
        "a struct inside a header is parsed in place",
        "p = (bit<32>)hdr.v.s.x; q = hdr.v.s.y; r = (bit<32>)hdr.v.z; hdr.v.s = { 1, 2 }; s = hdr.v.s.y;",
        NO_NUMBERS,
        (3, 0x61626364, ord("Z"), 2),
        "struct s_t { bit<8> x; bit<32> y; } header v_t { s_t s; bit<8> z; }",
        "v_t v;",
        parser=parser("state start { packet.extract(hdr.given); packet.extract(hdr.v); transition accept; }"),
        rest=b"\x03abcdZ",
    ),
    Case(
        "lookahead of a struct",
        "p = (bit<32>)meta.s.x; q = meta.s.y;",
        NO_NUMBERS,
        (3, 0x61626364, 0, 0),
        "struct s_t { bit<8> x; bit<32> y; }",
        meta="s_t s;",
        parser=parser(
            "state start { packet.extract(hdr.given); meta.s = packet.lookahead<s_t>(); transition accept; }"
        ),
        rest=b"\x03abcd",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parsed(case: Case) -> None:
    assert ask(case) == case.expected


@pytest.mark.parametrize("engine", ["interpreter", "llvm"])
def test_emitted(engine: str) -> None:
    """Of a union its valid member is sent, of a varbit as many bits as it has."""
    source = around(
        "hdr.found.setInvalid(); hdr.options[0].mss = { 2, 7 }; hdr.options.pop_front(1); hdr.found.setInvalid();",
        declarations=OPTIONS,
        headers="options_t options;",
        meta=OPTION_META,
        parser=OPTION_PARSER,
    ).replace("packet.emit(hdr.found)", "packet.emit(hdr.options)")
    rig = Rig(compile_program(compile_text(source), engine=engine, cache=False))
    given = bytes(16) + b"\x01\x02\x11\x22\x33\x44\x05\x04\xaa\xbb\x00rest"
    assert rig.run(given)[1] == [b"\x02\x11\x22\x33\x44\x05\x04\xaa\xbb\x00rest"]
