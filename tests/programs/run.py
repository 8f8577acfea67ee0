"""Run a piece of P4 on a packet: eight numbers go in, eight numbers come out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from emulator.v1model.compiled import compile_program
from tests.programs.p4_programs import Rig
from tests.programs.text import HEAD, compile_text

TYPES = """header given_t { bit<32> a; bit<32> b; bit<32> c; bit<32> d; }
header found_t { bit<32> p; bit<32> q; bit<32> r; bit<32> s; }
"""
PARSER = """parser P_(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.given); transition accept; }
}
"""
REST = """control V_(inout headers_t hdr, inout meta_t meta) { apply { } }
control E_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C_(inout headers_t hdr, inout meta_t meta) { apply { } }
control D_(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.found); } }
V1Switch(P_(), V_(), I_(), E_(), C_(), D_()) main;
"""


def around(
    apply: str, *, declarations: str = "", headers: str = "", meta: str = "", local: str = "", parser: str = PARSER
) -> str:
    """A program with ``apply`` in its ingress, ``hdr.given`` parsed and ``hdr.found`` sent."""
    structs = f"struct headers_t {{ given_t given; found_t found; {headers} }}\nstruct meta_t {{ {meta} }}\n"
    ingress = f"""control I_(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {{
{local}
apply {{
    hdr.found.setValid();
    sm.egress_spec = 1;
    bit<32> a = hdr.given.a; bit<32> b = hdr.given.b; bit<32> c = hdr.given.c; bit<32> d = hdr.given.d;
    bit<32> p = 0; bit<32> q = 0; bit<32> r = 0; bit<32> s = 0;
{apply}
    hdr.found = {{ p, q, r, s }};
}}
}}
"""
    return HEAD + TYPES + declarations + structs + parser + ingress + REST


class Piece:
    """A program, compiled once for the engines asked for."""

    def __init__(self, source: str, engines: Sequence[str] = ("interpreter", "llvm")) -> None:
        checked = compile_text(source)
        self.rigs = {engine: Rig(compile_program(checked, engine=engine, cache=False)) for engine in engines}

    def __call__(self, a: int = 0, b: int = 0, c: int = 0, d: int = 0, *, rest: bytes = b"") -> tuple[int, ...]:
        """What p, q, r and s are after the piece ran on a, b, c and d; both engines must say the same."""
        frame = struct.pack(">4I", *(v & 0xFFFFFFFF for v in (a, b, c, d))) + rest
        results = {engine: rig.run(frame) for engine, rig in self.rigs.items()}
        first = next(iter(results.values()))
        assert all(result == first for result in results.values()), results
        (sent,) = first[1]
        return struct.unpack(">4I", sent[:16])


@dataclass(frozen=True)
class Case:
    """A piece of P4 on one packet: a, b, c and d as given, p, q, r and s as expected."""

    name: str
    apply: str
    given: tuple[int, ...]
    expected: tuple[int, ...]
    declarations: str = ""
    headers: str = ""
    meta: str = ""
    local: str = ""
    parser: str = PARSER
    rest: bytes = b""
    """What follows the four numbers in the packet."""


def ask(case: Case, engines: Sequence[str] = ("interpreter", "llvm")) -> tuple[int, ...]:
    source = around(
        case.apply, declarations=case.declarations, headers=case.headers, meta=case.meta, local=case.local,
        parser=case.parser,
    )  # fmt: skip
    return Piece(source, engines)(*case.given, rest=case.rest)
