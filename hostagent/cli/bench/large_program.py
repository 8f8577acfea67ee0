"""A program of a few thousand lines, of the kind a data centre's switch runs, to measure compilation with."""

from __future__ import annotations

import itertools

LINES = 2_000
SIZES = (1, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 128)
"""Widths of the fields, in turn; a header is filled up to whole bytes."""
MATCH_KINDS = ("exact", "lpm", "ternary", "range", "exact")
LAYERS = 24
"""Headers, one behind the other."""

BEGINNING = """#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE = 0x0800;
"""
END = """
control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.h0.isValid(), { hdr.h0.f0, hdr.h0.f1, hdr.h0.f2 }, hdr.h0.sum, HashAlgorithm.csum16);
    }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.h0.isValid(), { hdr.h0.f0, hdr.h0.f1, hdr.h0.f2 }, hdr.h0.sum, HashAlgorithm.csum16);
    }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
"""


def program_of(lines: int = LINES) -> str:
    """Text of the program: as many tables as make it at least so long; a table is about 23 lines, with its actions."""
    for tables in itertools.count(1):
        text = _program(tables)
        if text.count("\n") >= lines:
            return text
    raise AssertionError


def _program(tables: int) -> str:
    in_ingress = tables - tables // 3
    ingress = _control("MyIngress", range(in_ingress))
    egress = _control("MyEgress", range(in_ingress, tables))
    return BEGINNING + "".join(map(_header, range(LAYERS))) + _structs() + _parser() + ingress + egress + END


def _fields(layer: int) -> list[int]:
    widths = [SIZES[(layer + k * 5) % len(SIZES)] for k in range(6)]
    padding = -sum(widths) % 8
    return [*widths, padding] if padding else widths


def _header(layer: int) -> str:
    fields = "".join(f"    bit<{width}> f{k};\n" for k, width in enumerate(_fields(layer)))
    return f"\nheader h{layer}_t {{\n{fields}    bit<16> next;\n    bit<16> sum;\n}}\n"


def _structs() -> str:
    headers = "".join(f"    h{layer}_t h{layer};\n" for layer in range(LAYERS))
    values = "".join(f"    bit<{width}> m{k};\n" for k, width in enumerate(SIZES))
    return f"\nstruct headers_t {{\n{headers}}}\n\nstruct metadata_t {{\n{values}    bool admitted;\n}}\n"


def _parser() -> str:
    states = "".join(
        f"""
    state layer{layer} {{
        packet.extract(hdr.h{layer});
        transition select(hdr.h{layer}.next) {{
            TYPE + {layer}: layer{layer + 1};
            0x8100 &&& 0xff00: layer{(layer + 2) % LAYERS if layer + 2 < LAYERS else layer + 1};
            default: accept;
        }}
    }}
"""
        for layer in range(LAYERS - 1)
    )
    return f"""
parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{
        meta.admitted = true;
        transition layer0;
    }}
{states}
    state layer{LAYERS - 1} {{
        packet.extract(hdr.h{LAYERS - 1});
        transition accept;
    }}
}}
"""


def _control(name: str, tables: range) -> str:
    declarations = "".join(map(_table, tables))
    calls = "".join(map(_application, tables))
    return f"""
control {name}(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    register<bit<32>>(1024) seen;
    action drop() {{
        mark_to_drop(sm);
    }}
{declarations}
    apply {{
        sm.egress_spec = sm.ingress_port + 1;
{calls}    }}
}}
"""


def _table(number: int) -> str:
    layer, other = number % LAYERS, (number * 7 + 3) % LAYERS
    field, m = number % 6, number % len(SIZES)
    kind = MATCH_KINDS[number % len(MATCH_KINDS)]
    return f"""
    direct_counter(CounterType.packets_and_bytes) counted{number};
    action rewrite{number}(bit<{SIZES[m]}> value, bit<16> next) {{
        meta.m{m} = value ^ (bit<{SIZES[m]}>)hdr.h{layer}.f{field};
        hdr.h{other}.next = next + (bit<16>)meta.m{(m + 1) % len(SIZES)};
    }}
    action count{number}(bit<10> index) {{
        bit<32> before;
        seen.read(before, (bit<32>)index);
        seen.write((bit<32>)index, before |+| 1);
    }}
    table t{number} {{
        key = {{
            hdr.h{layer}.f{field}: {kind};
            hdr.h{other}.isValid(): exact;
            meta.m{m}: {"exact" if kind == "lpm" else "ternary"};
        }}
        actions = {{ rewrite{number}; count{number}; drop; NoAction; }}
        default_action = NoAction();
        counters = counted{number};
    }}
"""


def _application(number: int) -> str:
    layer = number % LAYERS
    return f"""        if (hdr.h{layer}.isValid() && meta.admitted) {{
            if (t{number}.apply().hit) {{
                hdr.h{layer}.next = hdr.h{layer}.next - 1;
            }}
        }}
"""
