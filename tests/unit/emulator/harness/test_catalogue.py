"""Packets to and from the controller, by the names of their headers' fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.harness import ExpectationFailed, P4Network, P4Switch, WrongTest
from emulator.harness.virtual import VirtualTestbed

CPU = 255
PACKET = "020000000002 020000000001 1234 aabb"
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
@controller_header("packet_in") header to_cpu_t { bit<9> ingress_port; bit<7> reason; }
@controller_header("packet_out") header from_cpu_t { bit<9> egress_port; bit<7> pad; }
struct headers_t { to_cpu_t to_cpu; from_cpu_t from_cpu; }
struct meta_t { }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { transition select(std.ingress_port) { 255: cpu; default: accept; } }
    state cpu { packet.extract(hdr.from_cpu); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.from_cpu.isValid()) { std.egress_spec = hdr.from_cpu.egress_port; hdr.from_cpu.setInvalid(); }
        else { hdr.to_cpu = { std.ingress_port, 3 }; std.egress_spec = 255; }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[P4Switch]:
    (tmp_path / "cpu.p4").write_text(PROGRAM)
    network = P4Network(VirtualTestbed(engine="interpreter"))
    yield network.switch(tmp_path / "cpu.p4")
    network.close()


def test_to_and_from_the_controller(switch: P4Switch) -> None:
    switch.packet_out(CPU, PACKET, egress_port=300)
    switch.expect(300, PACKET)
    switch.send(7, PACKET)
    switch.expect_packet_in(CPU, PACKET, ingress_port=7, reason=3)
    switch.expect_no_other()


def test_what_is_wrong_is_named(switch: P4Switch) -> None:
    with pytest.raises(WrongTest, match=r"header packet_out has no field 'port'\. Did you mean 'egress_port'"):
        switch.packet_out(CPU, PACKET, port=1)
    with pytest.raises(WrongTest, match="header packet_out, field egress_port has 9 bits: 512 does not fit"):
        switch.packet_out(CPU, PACKET, egress_port=512)
    switch.send(7, PACKET)
    with pytest.raises(ExpectationFailed, match=r"hdr\.to_cpu\.reason +4 +3\n"):
        switch.expect_packet_in(CPU, PACKET, ingress_port=7, reason=4)


def test_a_program_without_such_headers() -> None:
    program = Path(__file__).resolve().parents[3] / "programs" / "harness_program.p4"
    network = P4Network(VirtualTestbed(engine="interpreter"))
    with pytest.raises(WrongTest, match='none has @controller_header\\("packet_out"\\)'):
        network.switch(program).packet_out(CPU, PACKET)
    network.close()
