"""v1model from P4 source to frames, on both engines: what the front end hands over is what the engines take."""

from __future__ import annotations

import pytest

from emulator.switch.control import CloneSession, Exact, MeterConfig, Rate, TableEntry
from emulator.v1model.compiled import compile_program
from emulator.v1model.hashing import csum16
from tests.programs.p4_programs import Rig
from tests.programs.text import HEAD, compile_text

SOURCE = (
    HEAD
    + """
header h_t { bit<8> kind; bit<8> note; bit<16> value; }
struct inner_t { bit<8> deep; }
struct meta_t {
    @field_list(1, 2) bit<8> a;
    @field_list(2) bit<16> b;
    @field_list(2) inner_t inner;
    bit<8> c;
}
struct headers_t { h_t h; }
struct learn_t { bit<8> kind; bit<16> value; }

parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); meta.c = 3; transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum_with_payload(hdr.h.kind == 1, { hdr.h.kind, hdr.h.note }, hdr.h.value, HashAlgorithm.csum16);
    }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    meter(4, MeterType.packets) m;
    direct_meter<bit<8>>(MeterType.bytes) dm;
    direct_counter(CounterType.packets) dc;
    action metered() { dm.read(hdr.h.note); dc.count(); }
    table t {
        key = { hdr.h.value: exact; }
        actions = { metered; NoAction; }
        default_action = NoAction();
        meters = dm;
        counters = dc;
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.h.kind == 1) {
            hdr.h.note = (bit<8>)sm.checksum_error;
        } else if (hdr.h.kind == 2) {
            t.apply();
        } else if (hdr.h.kind == 3) {
            m.execute_meter(32w1, hdr.h.value);
        } else if (hdr.h.kind == 4) {
            random(hdr.h.value, 16w300, 16w300);
            hash(hdr.h.note, HashAlgorithm.identity, 8w1, { hdr.h.kind }, 16w100);
        } else if (hdr.h.kind == 5) {
            log_msg("kind {} inner {} port {}", { hdr.h.kind, meta.inner, sm.ingress_port });
            digest<learn_t>(1, { hdr.h.kind, hdr.h.value });
            assert(hdr.h.value < 100);
        } else if (hdr.h.kind == 6 && sm.instance_type == 0) {
            meta.a = 7; meta.b = 8; meta.inner.deep = 9; meta.c = 10;
            clone_preserving_field_list(CloneType.I2E, 5, 2);
            resubmit_preserving_field_list(1);
        } else if (hdr.h.kind == 7) {
            truncate(5);
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.h.kind == 6) {
            hdr.h.note = meta.a + meta.c;
            hdr.h.value = meta.b + (bit<16>)meta.inner.deep;
        } else if (hdr.h.kind == 8 && sm.instance_type == 0) {
            clone(CloneType.E2E, 6);
            hdr.h.kind = 9;
            recirculate_preserving_field_list(1);
        }
    }
}
control C(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum_with_payload(hdr.h.kind == 9, { hdr.h.kind, hdr.h.note }, hdr.h.value, HashAlgorithm.csum16);
    }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
)


def frame(kind: int, note: int = 0, value: int = 0, payload: bytes = b"xyz") -> bytes:
    return bytes([kind, note]) + value.to_bytes(2, "big") + payload


@pytest.fixture(scope="module", params=["interpreter", "llvm"])
def rig(request: pytest.FixtureRequest) -> Rig:
    made = Rig(compile_program(compile_text(SOURCE), engine=request.param, cache=False))
    made.switch.set_clone_session(CloneSession(5, ((2, 0),)))
    made.switch.set_clone_session(CloneSession(6, ((3, 0), (4, 0))))
    return made


def test_verify_checksum_with_payload(rig: Rig) -> None:
    right = csum16(b"\x01\x00xyz")
    assert rig.run(frame(1, 0, right), frame(1, 0, 5))[1] == [frame(1, 0, right), frame(1, 1, 5)]


def test_a_direct_meter_writes_where_read_says(rig: Rig) -> None:
    table = rig.switch.program.view.tables[0]  # type: ignore[union-attr]
    action = next(a.id for a in table.actions if a.name.endswith("metered"))
    config = MeterConfig(Rate(0.0, 7), Rate(0.0, 14))
    rig.switch.insert_entry(table.id, TableEntry((Exact(table.keys[0].id, 5),), 0, action, (), meter=config))
    notes = [f[1] for f in rig.run(*[frame(2, 99, 5)] * 3, frame(2, 99, 6))[1]]
    assert notes == [0, 1, 2, 99]
    assert next(iter(rig.switch.entries(table.id))).counter.packets == 3  # type: ignore[union-attr]


def test_an_indirect_meter(rig: Rig) -> None:
    meter = rig.switch.program.view.meters[0]  # type: ignore[union-attr]
    rig.switch.write_meter(meter.id, 1, MeterConfig(Rate(0.0, 1), Rate(0.0, 1)))
    assert rig.run(frame(3, 0, 9), frame(3, 0, 9))[1] == [frame(3), frame(3, 0, 2)]


def test_random_and_hash(rig: Rig) -> None:
    assert rig.run(frame(4))[1] == [frame(4, 1 + 4, 300)]


def test_messages_digests_and_assertions(rig: Rig) -> None:
    before = dict(rig.switch.drops).get("failed assertion", 0)
    assert rig.run((3, frame(5, 0, 50)), frame(5, 0, 100)) == {1: [frame(5, 0, 50)]}
    assert rig.switch.take_messages() == ["kind 5 inner (deep:0) port 3", "kind 5 inner (deep:0) port 0"]
    view = rig.switch.program.view.digests[0]  # type: ignore[union-attr]
    assert (view.name, rig.switch.take_digests(view.id, 9)) == ("learn_t", [(5, 50)])
    assert rig.switch.drops["failed assertion"] == before + 1


def test_a_clone_and_a_resubmitted_packet_keep_their_lists(rig: Rig) -> None:
    """The clone (list 2): a 7, b 8, inner 9; the resubmitted one (list 1): a 7, and c from its parser."""
    assert rig.run(frame(6)) == {2: [frame(6, 7, 17)], 1: [frame(6, 7 + 3, 0)]}


def test_truncate(rig: Rig) -> None:
    assert rig.run(frame(7))[1] == [frame(7)[:5]]


def test_an_egress_clone_and_recirculation(rig: Rig) -> None:
    """The clone goes with the headers of the end of egress (kind 9), and so does its checksum; the recirculated packet
    was deparsed with its own."""
    done = frame(9, 0, csum16(b"\x09\x00xyz"))
    assert rig.run(frame(8)) == {3: [done], 4: [done], 1: [done]}
