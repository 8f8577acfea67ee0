"""Parsers: sub-parsers, states with ifs, select in all its forms, what packets can do; run on both engines."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.switch.control import ControlError, ValueSetMember
from tests.programs.run import Piece, around
from tests.programs.text import compile_text

HEAD = "parser P_(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {\n"
META = "bit<32> p; bit<32> q; bit<32> r; error e; bit<8> m8;"
HEADERS = "byte_t one; byte_t two; byte_t[3] st; var_t v;"
DECLARATIONS = """header byte_t { bit<8> x; }
header var_t { bit<8> n; varbit<64> o; }
header pair_t { bit<8> x; bit<8> y; }
struct two_t { bit<8> x; bit<4> y; bit<4> z; }
enum bit<8> Kind_t { A = 1, B = 7 }
error { Mine }
parser Byte(packet_in packet, out byte_t h) { state start { packet.extract(h); transition accept; } }
parser Add(packet_in packet, inout bit<32> v)(bit<32> n) { state start { v = v + n; transition accept; } }
parser Twice(packet_in packet, inout bit<32> v)(bit<32> n) {
    Add(n) add;
    state start { add.apply(packet, v); transition more; }
    state more { add.apply(packet, v); transition accept; }
}
parser Any<H>(packet_in packet, out H h) { state start { packet.extract(h); transition accept; } }
parser Bad(packet_in packet, in bool ok) { state start { verify(ok, error.Mine); transition accept; } }
"""
APPLY = "p = meta.p; q = meta.q; r = meta.r; s = (bit<32>)meta.m8;"


def parse(states: str, *values: int, rest: bytes = b"") -> tuple[int, ...]:
    """meta.p, q, r and m8 after the parser; the four numbers are extracted first."""
    return Piece(source(states))(*values, rest=rest)


def source(states: str, apply: str = APPLY) -> str:
    return around(apply, parser=HEAD + states + "\n}\n", declarations=DECLARATIONS, headers=HEADERS, meta=META)


def first(rest: str) -> str:
    return f"state start {{ packet.extract(hdr.given); bit<32> a = hdr.given.a; bit<32> b = hdr.given.b; {rest} }}"


CASES = {
    "a copied stack goes on where its source was (8.18)": (
        "byte_t[3] other; " + first("packet.extract(other.next); packet.extract(other.next); hdr.st = other; "
        "packet.extract(hdr.st.next); meta.p = (bit<32>)(hdr.st[0].x ++ hdr.st[1].x ++ hdr.st[2].x); transition accept;"),
        (), b"\x01\x02\x03", (0x10203, 0, 0, 0)),
    "a sub-parser": ("Twice(5) t; " + first("t.apply(packet, meta.p); transition accept;"), (), b"", (10, 0, 0, 0)),
    "the same one in two states": (
        "Twice(5) t; " + first("t.apply(packet, meta.p); transition again;")
        + " state again { t.apply(packet, meta.q); t.apply(packet, meta.p); transition accept; }", (), b"", (20, 10, 0, 0)),
    "two instances": (
        "Add(1) one; Add(2) two; " + first("one.apply(packet, meta.p); two.apply(packet, meta.q); transition accept;"),
        (), b"", (1, 2, 0, 0)),
    "direct application": (
        first("Byte.apply(packet, hdr.one); meta.p = (bit<32>)hdr.one.x; transition accept;"), (), b"\x09", (9, 0, 0, 0)),
    "a generic sub-parser": (
        "Any<byte_t>() any; " + first("any.apply(packet, hdr.one); any.apply(packet, hdr.two); "
        "meta.p = (bit<32>)(hdr.one.x ++ hdr.two.x); transition accept;"), (), b"\x01\x02", (0x102, 0, 0, 0)),
    "a sub-parser inside if": (
        "Add(4) four; Add(6) six; " + first(
        "if (a == 1) { four.apply(packet, meta.p); if (b == 2) { six.apply(packet, meta.p); } meta.q = 1; }"
        " else { six.apply(packet, meta.q); } meta.r = 3; transition accept;"), (1, 2), b"", (10, 1, 3, 0)),
    "the else of it": (
        "Add(4) four; Add(6) six; " + first(
        "if (a == 1) { four.apply(packet, meta.p); } else if (b == 2) { six.apply(packet, meta.q); }"
        " meta.r = 3; transition accept;"), (0, 2), b"", (0, 6, 3, 0)),
    "if without sub-parsers": (
        first("if (a == 1) { packet.extract(hdr.one); meta.p = (bit<32>)hdr.one.x; } else { packet.advance(8); }"
        " packet.extract(hdr.two); meta.q = (bit<32>)hdr.two.x; transition accept;"), (0,), b"\x05\x06", (0, 6, 0, 0)),
    "an error in a sub-parser ends the parser": (
        "Bad() bad; " + first("meta.p = 1; bad.apply(packet, a == 1); meta.p = 2; transition accept;"), (), b"",
        (1, 0, 0, 0)),
    "a loop over states": (
        first("transition more;") + " state more { packet.extract(hdr.st.next); meta.p = meta.p + 1;"
        " transition select(hdr.st.last.x) { 1: more; default: done; } }"
        " state done { meta.q = (bit<32>)hdr.st.lastIndex; transition accept; }", (), b"\x01\x01\x07", (3, 2, 0, 0)),
    "a full stack ends the parser": (
        first("transition more;") + " state more { packet.extract(hdr.st.next); meta.p = meta.p + 1; transition more; }",
        (), b"\x01" * 5, (3, 0, 0, 0)),
    "locals of a parser": (
        "bit<32> n = 7; " + first("n = n + a; meta.p = n; transition select(n) { 10: start2; default: accept; }")
        + " state start2 { meta.q = n; transition accept; }", (3,), b"", (10, 10, 0, 0)),
    "lookahead of a struct": (
        first("two_t t = packet.lookahead<two_t>(); meta.p = (bit<32>)t.x; meta.q = (bit<32>)t.y; meta.r = (bit<32>)t.z;"
        " transition accept;"), (), b"\x12\xab", (0x12, 0xA, 0xB, 0)),
    "lookahead of a header": (
        first("pair_t t = packet.lookahead<pair_t>(); meta.p = (bit<32>)t.y; if (t.isValid()) { meta.q = 1; }"
        " packet.extract(hdr.one); meta.r = (bit<32>)hdr.one.x; transition accept;"), (), b"\x12\xab", (0xAB, 1, 0x12, 0)),
    "lookahead of a tuple, an enum and signed numbers": (
        first("tuple<bit<8>, int<8>> t = packet.lookahead<tuple<bit<8>, int<8>>>(); meta.p = (bit<32>)t[0];"
        " if (t[1] == -1) { meta.q = 1; } Kind_t k = packet.lookahead<Kind_t>(); if (k == Kind_t.B) { meta.r = 1; }"
        " transition accept;"), (), b"\x07\xff", (7, 1, 1, 0)),
    "lookahead of a stack": (
        first("pair_t[2] t = packet.lookahead<pair_t[2]>(); meta.p = (bit<32>)t[1].x; transition accept;"),
        (), b"\x01\x02\x03\x04", (3, 0, 0, 0)),
    "lookahead in a select": (
        first("transition select(packet.lookahead<bit<8>>()) { 3: three; default: accept; }")
        + " state three { meta.p = 3; transition accept; }", (), b"\x03", (3, 0, 0, 0)),
    "lookahead too far": (
        first("meta.p = 1; bit<16> x = packet.lookahead<bit<16>>(); meta.p = (bit<32>)x; transition accept;"), (), b"\x01",
        (1, 0, 0, 0)),
    "advance by a number known at run time": (
        first("packet.advance(a * 8); packet.extract(hdr.one); meta.p = (bit<32>)hdr.one.x; transition accept;"),
        (2,), b"\x01\x02\x03", (3, 0, 0, 0)),
    "advance by half a byte": (first("meta.p = 1; packet.advance(4); meta.p = 2; transition accept;"), (), b"\1", (1, 0, 0, 0)),
    "length": (first("meta.p = packet.length(); transition accept;"), (), b"abc", (19, 0, 0, 0)),
    "extract with a width": (
        first("byte_t n; packet.extract(hdr.v, 16); packet.extract(n); meta.p = (bit<32>)n.x; transition accept;"),
        (), b"\x01ab\x05", (5, 0, 0, 0)),
    "extract with a width from the packet": (
        first("pair_t ahead = packet.lookahead<pair_t>(); packet.extract(hdr.v, (bit<32>)(ahead.x * 8)); byte_t n;"
        " packet.extract(n); meta.p = (bit<32>)n.x; transition accept;"), (), b"\x03abc\x07", (7, 0, 0, 0)),
    "extract with too large a width": (
        first("meta.p = 1; packet.extract(hdr.v, 72); meta.p = 2; transition accept;"), (), b"\x03" + bytes(20), (1, 0, 0, 0)),
    "extract to nothing": (
        first("packet.extract<pair_t>(_); packet.extract(hdr.one); meta.p = (bit<32>)hdr.one.x; transition accept;"),
        (), b"\x01\x02\x03", (3, 0, 0, 0)),
    "reject is like accept on this target": (first("meta.p = 1; transition reject;"), (), b"", (1, 0, 0, 0)),
    "a state without transition": (first("meta.p = 1;"), (), b"", (1, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_parsers(name: str) -> None:
    states, values, rest, found = CASES[name]
    assert parse(states, *values, rest=rest) == found


SELECTS: dict[str, tuple[str, list[tuple[tuple[int, ...], int]]]] = {
    "numbers, ranges, masks": ("select(a) { 1: one; 5 .. 9: two; 0x100 &&& 0x300: three; }", [((1,), 1), ((7,), 2), ((0x501,), 3), ((2,), 0)]),
    "several keys": ("select(a, b) { (1, 2): one; (1, _): two; (_, 3 .. 4): three; default: one; }",
                     [((1, 2), 1), ((1, 3), 2), ((2, 3), 3), ((2, 2), 1)]),
    "no case holds": ("select(a) { 1: one; }", [((2,), 0)]),
    "no cases at all": ("select(a) { }", [((2,), 0)]),
    "only a default": ("select(a) { _: two; }", [((2,), 2)]),
    "bools and comparisons": ("select(a == b, a < b) { (true, _): one; (false, true): two; (false, false): three; }",
                              [((1, 1), 1), ((1, 2), 2), ((2, 1), 3)]),
    "a serializable enum": ("select((Kind_t)(bit<8>)a) { Kind_t.A: one; Kind_t.B: two; default: three; }",
                            [((1,), 1), ((7,), 2), ((2,), 3)]),
    "a serializable enum as a number": ("select((bit<8>)a) { Kind_t.B: two; default: three; }", [((7,), 2), ((2,), 3)]),
    "signed numbers": ("select((int<8>)(bit<8>)a) { -1: one; -5 .. -2: two; default: three; }", [((255,), 1), ((5,), 3)]),
    "signed ranges across zero": (
        "select((int<8>)(bit<8>)a, b) { (-2 .. 3, _): one; (_, 7): two; default: three; }",
        [((254,), 1), ((0,), 1), ((3,), 1), ((4, 7), 2), ((253,), 3)],
    ),
    "labels known at run time": ("select(a) { b: one; b + 1: two; default: three; }", [((5, 5), 1), ((6, 5), 2), ((7, 5), 3)]),
    "ranges and masks known at run time": ("select(a, b) { (b .. 9, 3): one; (b &&& 0xf, _): two; default: three; }",
                                           [((5, 3), 1), ((0x14, 4), 2), ((0x15, 4), 3)]),
    "constants": ("select(a) { K: one; K + 1 .. L: two; }", [((30,), 1), ((33,), 2)]),
    "anything before something": ("select(a, b) { (_, _): one; (1, 2): two; }", [((1, 2), 2), ((3, 3), 1)]),
    "a mask of zeros": ("select(a) { 0 &&& 0: one; 1: two; default: three; }", [((1,), 2), ((3,), 3)]),
    "what stands behind default": ("select(a) { default: one; 1: two; }", [((1,), 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SELECTS)
def test_selects(name: str) -> None:
    select, asked = SELECTS[name]
    constants = "const bit<32> K = 30; const bit<32> L = 40;\n"
    states = "".join(
        f"state {n} {{ meta.p = {i}; transition accept; }}\n" for i, n in ((1, "one"), (2, "two"), (3, "three"))
    )
    piece = Piece(source(constants + first(f"transition {select}") + states))
    for given, found in asked:
        assert piece(*given)[0] == found, given


def test_errors_are_seen_by_the_controls() -> None:
    apply = (
        APPLY
        + """
    if (sm.parser_error == error.Mine) { p = 1; } if (sm.parser_error == error.PacketTooShort) { p = 2; }
    if (sm.parser_error == error.NoError) { p = 3; } if (sm.parser_error == error.StackOutOfBounds) { p = 4; }"""
    )
    states = first("verify(a != 1, error.Mine); verify(a != 4 || b == 0, error.StackOutOfBounds); transition more;")
    piece = Piece(source(states + " state more { packet.extract(hdr.one); transition accept; }", apply))
    assert [piece(v, 1, rest=rest)[0] for v, rest in ((1, b"1"), (2, b""), (3, b"1"), (4, b"1"))] == [1, 2, 3, 4]


VALUE_SETS = """
value_set<bit<32>>(4) vs;
@name("renamed") value_set<tuple<bit<32>, bit<32>>>(2) pairs;
value_set<both_t>(2) ss;
value_set<Kind_t>(3) kinds;
state start { packet.extract(hdr.given); transition select(hdr.given.a) { vs: one; 1: two; default: three; } }
state one { meta.p = 1; transition select((Kind_t)(bit<8>)hdr.given.b) { kinds: three; default: accept; } }
state two { meta.p = 2; transition select(hdr.given.a, hdr.given.b) { pairs: one; (1, 2): three; ss: one; } }
state three { meta.q = 3; transition accept; }
"""


def value_sets() -> Piece:
    both = 'struct both_t { @match(ternary) bit<32> x; @name("second") bit<32> y; }\nerror { Mine }'
    return Piece(source(VALUE_SETS).replace("error { Mine }", both))


def test_value_sets_are_empty_at_first() -> None:
    piece = value_sets()
    assert piece(1, 2) == (2, 3, 0, 0)
    assert piece(5, 2) == (0, 3, 0, 0)


def test_value_sets_of_each_kind() -> None:
    piece = value_sets()
    for rig in piece.rigs.values():
        assert rig.switch.program is not None
        ids = {view.name: view.id for view in rig.switch.program.view.value_sets}
        assert set(ids) == {"P_.vs", "P_.renamed", "P_.ss", "P_.kinds"}
        rig.switch.set_value_set(ids["P_.vs"], [ValueSetMember((5,)), ValueSetMember((6,))])
        rig.switch.set_value_set(ids["P_.renamed"], [ValueSetMember((1, 9))])
        rig.switch.set_value_set(ids["P_.ss"], [ValueSetMember((1, 8))])
        rig.switch.set_value_set(ids["P_.kinds"], [ValueSetMember((7,))])
    assert piece(5, 7) == (1, 3, 0, 0)
    assert piece(6, 1) == (1, 0, 0, 0)
    assert piece(1, 9) == (1, 0, 0, 0)
    assert piece(1, 8) == (1, 0, 0, 0)
    assert piece(1, 7) == (2, 0, 0, 0)


KINDS = """
value_set<lpm_t>(4) prefixes;
value_set<range_t>(4) ranges;
value_set<optional_t>(4) options;
state start { packet.extract(hdr.given); transition select(hdr.given.a) { prefixes: one; ranges: two; default: more; } }
state more { transition select(hdr.given.a, hdr.given.b) { options: three; default: accept; } }
state one { meta.p = 1; transition accept; }
state two { meta.p = 2; transition accept; }
state three { meta.q = 3; transition accept; }
"""


def test_value_sets_match_as_their_fields_say() -> None:
    structs = (
        "struct lpm_t { @match(lpm) bit<32> x; } struct range_t { @match(range) bit<32> x; } "
        "struct optional_t { @match(optional) bit<32> x; bit<32> y; } error { Mine }"
    )
    piece = Piece(source(KINDS).replace("error { Mine }", structs))
    for rig in piece.rigs.values():
        assert rig.switch.program is not None
        ids = {view.name: view.id for view in rig.switch.program.view.value_sets}
        ones = 0xFFFF_FFFF
        rig.switch.set_value_set(ids["P_.prefixes"], [ValueSetMember((0x0A00_0000,), (0xFF00_0000,))])
        rig.switch.set_value_set(ids["P_.ranges"], [ValueSetMember((20,), (30,)), ValueSetMember((50,))])
        members = [ValueSetMember((0, 7), (0, ones)), ValueSetMember((9, 8))]
        rig.switch.set_value_set(ids["P_.options"], members)
        for wrong in (ValueSetMember((30,), (20,)), ValueSetMember((1,), (1 << 32,))):
            with pytest.raises(ControlError):
                rig.switch.set_value_set(ids["P_.ranges"], [wrong])
    asked = ((0x0A01_0203, 0), (0x0B01_0203, 0), (20, 0), (30, 0), (31, 0), (50, 0), (51, 7), (9, 8), (10, 8))
    found = [piece(*values)[:2] for values in asked]
    assert [p for p, _ in found] == [1, 0, 2, 2, 0, 2, 0, 0, 0]
    assert [q for _, q in found] == [0, 0, 0, 0, 0, 0, 3, 3, 0]


def test_a_loop_without_an_end_is_a_warning_at_its_first_state() -> None:
    states = (
        first("transition select(a) { 1: lost; 2: Back; default: accept; }")
        + """
state Back { transition select(hdr.given.a) { 2: Back; default: accept; } }
state lost { meta.p = meta.p + 1; transition found; }
state found { transition lost; }"""
    )
    checked = compile_text(source(states))
    messages = [w.message for w in checked.warnings if "ParserTimeout" in w.message]
    assert [message.partition(":")[0] for message in messages] == [
        "a packet never leaves states lost, found", "a packet that comes back to state Back never leaves",
    ]  # fmt: skip
    lines = source(states).splitlines()
    places = [w.span.line for w in checked.warnings if "ParserTimeout" in w.message]
    assert [lines[line - 1].split()[1] for line in places] == ["lost", "Back"]
    assert Piece(source(states))(2) == (0, 0, 0, 0)
