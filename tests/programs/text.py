"""Small P4 programs around a piece that a test is about."""

from __future__ import annotations

from dataclasses import replace

from emulator.p4.frontend import Checked, compile_source
from emulator.v1model.architecture import V1MODEL

HEAD = """#include <core.p4>
#include <v1model.p4>
"""
TYPES = """header one_t { bit<8> a; bit<8> b; bit<16> c; }
header two_t { bit<32> x; int<16> y; bit<16> z; }
struct inner_t { bit<8> p; bool q; }
struct headers_t { one_t one; two_t two; one_t[3] stack; }
struct meta_t { bit<8> m8; bit<16> m16; bit<32> m32; int<8> s8; bool flag; inner_t inner; error e; }
"""
PARSER = """parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.one); transition accept; }
}
"""
REST = """control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
INGRESS = "control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {"


def program(
    *, declarations: str = "", local: str = "", apply: str = "", parser: str = PARSER, types: str = TYPES
) -> str:
    """A whole program; ``local`` and ``apply`` are the ingress control's."""
    ingress = f"{INGRESS}\n{local}\napply {{\n{apply}\n}}\n}}\n"
    return HEAD + types + declarations + parser + ingress + REST


def compile_text(text: str, **options: object) -> Checked:
    return compile_source(text, architecture=V1MODEL, **options)  # type: ignore[arg-type]


def line_of(text: str, marker: str = "/*!*/") -> tuple[int, int]:
    """Line and column just behind the marker, both from 1."""
    before = text[: text.index(marker) + len(marker)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


WHOLE = replace(
    V1MODEL,
    externs=V1MODEL.externs | {"meter", "direct_meter", "action_profile", "action_selector"},
    methods=V1MODEL.methods | {"meter.execute_meter", "direct_meter.read"},
    match_kinds=V1MODEL.match_kinds | {"range", "optional", "selector"},
)
"""The whole of v1model, whether the engines have it or not."""
