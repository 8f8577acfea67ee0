"""RegisterEntry for every type that a register's elements may have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.p4runtime.errors import Code
from tests.labs.p4runtime_device import Bench

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
enum colour_t { RED, GREEN, BLUE }
enum bit<16> kind_t { IPV4 = 0x800, IPV6 = 0x86dd }
error { Mine }
type bit<12> vlan_t;
@p4runtime_translation("p4.org/port", 32) type bit<9> port_t;
@p4runtime_translation("p4.org/name", string) type bit<9> name_t;
struct headers_t { } struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    state start { transition accept; }
}
control V(inout headers_t hdr, inout metadata_t m) { apply { } }
control I(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    register<colour_t>(2) colours; register<kind_t>(2) kinds; register<error>(2) errors; register<vlan_t>(2) vlans;
    register<port_t>(2) ports; register<bool>(2) flags; register<int<5>>(2) depths; register<name_t>(2) names;
    apply {
        colours.write(1, colour_t.BLUE); kinds.write(1, kind_t.IPV6); errors.write(1, error.Mine);
        vlans.write(1, (vlan_t) 5); ports.write(1, (port_t) 300); flags.write(1, true); depths.write(1, -3);
        names.write(1, (name_t) 1);
    }
}
control E(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    source = tmp_path_factory.mktemp("registers") / "registers.p4"
    Path(source).write_text(PROGRAM)
    bench = Bench("interpreter", str(source))
    bench.run(0, bytes(20))
    yield bench
    bench.close()


def cell(name: str, index: int, data: str = "") -> str:
    return f"register_entry {{ register_id: ${name} index {{ index: {index} }} {data} }}"


@pytest.mark.parametrize(
    ("name", "first", "seen", "written", "wrong"),
    [
        ("colours", 'enum: "RED"', 'enum: "BLUE"', 'enum: "GREEN"', 'enum: "PINK"'),
        ("kinds", 'enum_value: "\\0"', 'enum_value: "\\x86\\xdd"', 'enum_value: "\\x08\\0"', 'enum: "IPV4"'),
        ("errors", 'error: "NoError"', 'error: "Mine"', 'error: "NoMatch"', 'error: "Yours"'),
        ("vlans", 'bitstring: "\\0"', 'bitstring: "\\5"', 'bitstring: "\\x0f\\xff"', 'bitstring: "\\x10\\0"'),
        ("ports", 'bitstring: "\\0"', 'bitstring: "\\1,"', 'bitstring: "\\1\\xff"', 'bitstring: "\\2\\0"'),
        ("flags", "bool: false", "bool: true", "bool: true", 'bitstring: "\\1"'),
        ("depths", 'bitstring: "\\0"', 'bitstring: "\\xfd"', 'bitstring: "\\x0f"', 'bitstring: "\\x10"'),
    ],
)
def test_elements(shared: Bench, name: str, first: str, seen: str, written: str, wrong: str) -> None:
    def holds(*data: str) -> bool:
        entities = shared.read(f"register_entry {{ register_id: ${name} }}")
        wanted = [shared.entity(cell(name, index, f"data {{ {each} }}")) for index, each in enumerate(data)]
        return [e.register_entry.data for e in entities] == [e.register_entry.data for e in wanted]

    assert holds(first, seen)
    shared.write(("MODIFY", cell(name, 0, f"data {{ {written} }}")))
    assert holds(written, seen)
    assert shared.refused("MODIFY", cell(name, 0, f"data {{ {wrong} }}"))[0] == Code.INVALID_ARGUMENT
    assert shared.refused("MODIFY", cell(name, 0))[0] == Code.INVALID_ARGUMENT
    assert holds(written, seen)


def test_translated_strings(shared: Bench) -> None:
    """A number that the program wrote becomes its decimal text; a controller's string gets a free number."""

    def names() -> list[bytes]:
        return [e.register_entry.data.bitstring for e in shared.read("register_entry { register_id: $names }")]

    assert names() == [b"0", b"1"]
    shared.write(("MODIFY", cell("names", 0, 'data { bitstring: "a" }')))
    assert names() == [b"a", b"1"]
    assert len(shared.read("register_entry {}")) == 16
