"""Translated types: what a controller writes as strings or wider numbers, in every message that can carry them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.p4runtime.errors import Code
from emulator.p4runtime.translation import Rule, TranslationFileError, TranslationRules, TypeTranslation, read_rules
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from tests.labs.p4runtime_device import CPU_PORT, NO_RULES, Bench

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("", string) type bit<9> port_id_t;
@p4runtime_translation("", string) type bit<3> vrf_id_t;
@p4runtime_translation("example.org/mtu", 32) type bit<16> mtu_t;
@controller_header("packet_in") header packet_in_t { port_id_t ingress_port; bit<7> pad; }
@controller_header("packet_out") header packet_out_t { port_id_t egress_port; bit<7> pad; }
header data_t { bit<8> kind; bit<8> vrf; bit<16> length; }
struct seen_t { port_id_t port; vrf_id_t vrf; }
struct headers_t { packet_out_t packet_out; packet_in_t packet_in; data_t data; }
struct metadata_t { vrf_id_t vrf; mtu_t mtu; port_id_t port; }
parser P(packet_in p, out headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    state start { transition select(sm.ingress_port) { 255: from_cpu; default: data; } }
    state from_cpu { p.extract(hdr.packet_out); transition data; }
    state data { p.extract(hdr.data); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t m) { apply { } }
control Main(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) {
    register<vrf_id_t>(2) vrfs;
    action set_port(port_id_t port) { m.port = port; sm.egress_spec = (bit<9>) port; }
    action set_vrf(vrf_id_t vrf) { hdr.data.vrf = (bit<8>) (bit<3>) vrf; }
    table forward { key = { m.vrf: exact; sm.ingress_port: ternary; } actions = { set_port; NoAction; } size = 16; }
    table by_port { key = { m.port: optional; } actions = { set_vrf; NoAction; } }
    table by_mtu { key = { m.mtu: lpm; } actions = { set_vrf; NoAction; } }
    apply {
        m.vrf = (vrf_id_t) (bit<3>) hdr.data.vrf; m.mtu = (mtu_t) hdr.data.length;
        m.port = (port_id_t) sm.ingress_port;
        if (hdr.packet_out.isValid()) {
            sm.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.data.kind == 1) {
            hdr.packet_in.setValid(); hdr.packet_in.ingress_port = m.port; sm.egress_spec = 255;
        } else if (hdr.data.kind == 2) {
            sm.mcast_grp = 1;
        } else if (hdr.data.kind == 3) {
            digest<seen_t>(1, { m.port, m.vrf });
        } else {
            vrfs.write(0, m.vrf); by_port.apply(); by_mtu.apply(); forward.apply();
        }
    }
}
control End(inout headers_t hdr, inout metadata_t m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet_in); p.emit(hdr.data); } }
V1Switch(P(), V(), Main(), End(), V(), D()) main;
"""

PORTS = TranslationRules({"port_id_t": Rule({"Ethernet0": 1, "Ethernet1": 2, "cpu": CPU_PORT})})

Start = Callable[[TranslationRules], Bench]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    source = tmp_path / "translated.p4"
    source.write_text(PROGRAM)
    benches: list[Bench] = []

    def begin(rules: TranslationRules = NO_RULES) -> Bench:
        benches.append(Bench("interpreter", str(source), translation=rules))
        return benches[-1]

    yield begin
    for bench in benches:
        bench.close()


def entry(vrf: str, port: str) -> str:
    match = f'match {{ field_id: 1 exact {{ value: "{vrf}" }} }}'
    action = f'action {{ action {{ action_id: $set_port params {{ param_id: 1 value: "{port}" }} }} }}'
    return f"table_entry {{ table_id: $forward {match} priority: 1 {action} }}"


def same(bench: Bench, text: str, *read: Any) -> bool:
    return list(read) == [bench.entity(text)]


def data(kind: int = 0, vrf: int = 0, length: int = 0) -> bytes:
    return bytes((kind, vrf)) + length.to_bytes(2, "big")


def test_strings_are_allocated_and_read_back(start: Start) -> None:
    bench = start(PORTS)
    bench.insert(entry("vrf-blue", "Ethernet1"), entry("vrf-red", "Ethernet0"))
    assert bench.run(0, data(vrf=1), data(vrf=2)) == {2: [data(vrf=1)], 1: [data(vrf=2)]}
    assert same(bench, entry("vrf-blue", "Ethernet1"), bench.read("table_entry {}")[0])
    key_only = entry("vrf-red", "Ethernet0").partition("action {")[0] + "}"
    assert same(bench, entry("vrf-red", "Ethernet0"), *bench.read(key_only))
    bench.write(("MODIFY", entry("vrf-red", "Ethernet1")))
    assert bench.run(0, data(vrf=2)) == {2: [data(vrf=2)]}
    bench.write(("DELETE", entry("vrf-blue", "Ethernet1")))
    assert len(bench.read("table_entry {}")) == 1


def test_values_of_a_file_and_further_ones(start: Start) -> None:
    bench = start(TranslationRules({"vrf_id_t": Rule({"": 0, "seven": 7}, allocates=True)}))
    bench.insert(entry("", "1"), entry("seven", "2"), entry("other", "1"))
    assert bench.run(3, data(vrf=0), data(vrf=7)) == {1: [data(vrf=0)], 2: [data(vrf=7)]}
    assert bench.run(3, data(vrf=1)) == {1: [data(vrf=1)]}


def test_what_has_no_number(start: Start) -> None:
    code, message = start(PORTS).refused("INSERT", entry("blue", "Ethernet9"))
    assert (code, "'Ethernet9' is not a value of type port_id_t" in message) == (Code.INVALID_ARGUMENT, True)
    bench = start(NO_RULES)
    code, message = bench.refused("INSERT", entry("blue", "Ethernet0"))
    assert (code, "--translation" in message) == (Code.INVALID_ARGUMENT, True)
    assert bench.refused("INSERT", entry("blue", "512"))[0] == Code.INVALID_ARGUMENT
    bench.insert(*(entry(f"vrf{number}", "1") for number in range(6)))
    assert bench.refused("INSERT", entry("one too many", "1"))[0] == Code.RESOURCE_EXHAUSTED


def test_packet_in_and_packet_out(start: Start) -> None:
    bench = start(PORTS)
    (frame,) = bench.run(2, data(kind=1))[CPU_PORT]
    bench.device.packet_in(frame)
    (message,) = bench.said()
    metadata = {each.metadata_id: each.value for each in message.packet.metadata}
    assert metadata[1] == b"Ethernet1"
    out = p4rt.PacketOut(payload=data())
    out.metadata.add(metadata_id=1, value=b"Ethernet0")
    bench.device.packet_out("c", out)
    (sent,) = bench.packets_out
    assert bench.run(CPU_PORT, sent) == {1: [data()]}
    assert out.metadata[0].value == b"Ethernet0"


def test_replicas_and_watch_ports(start: Start) -> None:
    bench = start(PORTS)
    replicas = 'replicas { port: "Ethernet0" instance: 1 } replicas { port: "Ethernet1" instance: 2 }'
    group = f"multicast_group_entry {{ multicast_group_id: 1 {replicas} }}"
    bench.insert(f"packet_replication_engine_entry {{ {group} }}")
    assert bench.run(0, data(kind=2)) == {1: [data(kind=2)], 2: [data(kind=2)]}
    (read,) = bench.read("packet_replication_engine_entry { multicast_group_entry {} }")
    assert [each.port for each in read.packet_replication_engine_entry.multicast_group_entry.replicas] == [
        b"Ethernet0",
        b"Ethernet1",
    ]


def test_digests_and_registers(start: Start) -> None:
    bench = start(PORTS)
    bench.insert("digest_entry { digest_id: $seen_t config {} }", entry("blue", "Ethernet0"))
    bench.run(2, data(kind=3, vrf=1))
    (message,) = bench.said()
    (sample,) = message.digest.data
    assert [member.bitstring for member in sample.struct.members] == [b"Ethernet1", b"blue"]
    bench.run(2, data(vrf=1))
    (first, _) = bench.read("register_entry { register_id: $vrfs }")
    assert first.register_entry.data.bitstring == b"blue"


def test_optional_and_wider_numbers(start: Start) -> None:
    bench = start(PORTS)
    vrf = 'action { action { action_id: $set_vrf params { param_id: 1 value: "blue" } } }'
    port = f'match {{ field_id: 1 optional {{ value: "Ethernet0" }} }} priority: 1 {vrf}'
    length = f'match {{ field_id: 1 lpm {{ value: "\\x05\\x00" prefix_len: 24 }} }} {vrf}'
    texts = f"table_entry {{ table_id: $by_port {port} }}", f"table_entry {{ table_id: $by_mtu {length} }}"
    bench.insert(*texts)
    assert bench.run(1, data()) == {0: [data(vrf=1)]}
    assert bench.run(3, data(length=0x5FF), data(length=0x600)) == {0: [data(0, 1, 0x5FF), data(length=0x600)]}
    assert same(bench, texts[0], *bench.read("table_entry { table_id: $by_port }"))
    assert same(bench, texts[1], *bench.read("table_entry { table_id: $by_mtu }"))
    short = texts[1].replace("\\x05\\x00", "\\x00").replace("prefix_len: 24", "prefix_len: 16")
    assert bench.refused("INSERT", short)[0] == Code.INVALID_ARGUMENT


def test_allocated_values_stay_with_the_next_program(start: Start) -> None:
    bench = start(PORTS)
    bench.insert(entry("red", "Ethernet0"), entry("blue", "Ethernet1"))
    bench.set_pipeline("RECONCILE_AND_COMMIT")
    assert {e.table_entry.match[0].exact.value for e in bench.read("table_entry {}")} == {b"red", b"blue"}
    assert bench.run(0, data(vrf=2)) == {2: [data(vrf=2)]}


def test_a_number_of_the_program_becomes_its_text() -> None:
    names = TypeTranslation("name_t", 0, 4, None, is_port=False)
    assert names.to_sdn(1) == b"1"
    assert names.to_data_plane(b"1") == 1
    assert names.to_data_plane(b"3") == 2
    assert names.to_sdn(3) == b"0x3"


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"types": {"t": {"values": {"a": 1}, "allocate": True}}, "ports": "t"}))
    assert read_rules(file) == TranslationRules({"t": Rule({"a": 1}, allocates=True)}, "t")
    for text in ("[", "[]", '{"types": {"t": 5}}', '{"types": {"t": {"values": {"a": 1, "b": 1}}}}'):
        file.write_text(text)
        with pytest.raises(TranslationFileError, match=r"t\.json"):
            read_rules(file)
