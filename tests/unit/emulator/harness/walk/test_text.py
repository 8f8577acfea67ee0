"""What a walk looks like: the few lines before it, one line of source once, the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.harness import ExpectationFailed, Meter, P4Network, P4Switch
from emulator.harness.matches import entry_match, match_text
from emulator.harness.virtual import VirtualTestbed
from emulator.harness.walk.events import Walk
from emulator.harness.walk.summary import summary_lines
from emulator.harness.walk.text import walk_lines
from emulator.v1model.control_view import KeyView, TableView

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> value; bit<16> sum; }
header extra_t { bit<8> more; }
struct headers_t { h_t h; extra_t extra; }
struct meta_t { bit<2> colour; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) {
    apply { verify_checksum(hdr.h.kind != 9, { hdr.h.kind, hdr.h.value }, hdr.h.sum, HashAlgorithm.csum16); }
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<8>>(4) seen;
    direct_meter<bit<2>>(MeterType.packets) rates;
    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) { std.egress_spec = port; }
    action twice() { hdr.h.value = hdr.h.value + 1; hdr.h.value = hdr.h.value * 2; }
    table kinds {
        key = { hdr.h.kind: exact; }
        actions = { forward; drop; }
        default_action = drop();
        meters = rates;
        support_timeout = true;
    }
    apply {
        if (hdr.h.value == 1) { twice(); }
        if (hdr.h.kind == 8) { log_msg("kind {} of {}", { hdr.h.kind, hdr.h.value }); }
        if (std.checksum_error == 0) { kinds.apply(); }
        else { drop(); return; }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
RIGHT = "0700 f8ff"
WRONG = "0700 1234"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "sums.p4"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def switch(program: Path) -> Iterator[P4Switch]:
    network = P4Network(VirtualTestbed(engine="interpreter"), columns=70)
    yield network.switch(program)
    network.close()


def walk(switch: P4Switch, packet: str) -> Walk:
    switch.send(1, packet)
    return switch._target.walks(len(switch._history.sendings) - 1)[0]


def test_what_became_of_a_packet_stands_before_its_walk(switch: P4Switch) -> None:
    switch.send(1, RIGHT)
    with pytest.raises(ExpectationFailed) as failure:
        switch.expect(2, RIGHT)
    text = str(failure.value)
    assert "    dropped by ingress at sums.p4:17   action drop() { mark_to_drop(std); }\n" in text
    assert "    table kinds  miss (the table is empty) -> drop()\n" in text
    assert text.index("table kinds") < text.index("the walk of")


def test_a_drop_by_way_of_a_parameter_is_where_the_parameter_was_marked(tmp_path: Path) -> None:
    text = PROGRAM.replace("control I(", "action gone(inout standard_metadata_t s) { mark_to_drop(s); }\ncontrol I(")
    path = tmp_path / "gone.p4"
    path.write_text(text.replace("action drop() { mark_to_drop(std); }", "action drop() { gone(std); }"))
    network = P4Network(VirtualTestbed(engine="interpreter"), columns=70)
    (first, *_) = summary_lines(walk(network.switch(path), RIGHT))
    network.close()
    marked = "action gone(inout standard_metadata_t s) { mark_to_drop(s); }"
    assert first == f"dropped by ingress at gone.p4:14   {marked}"


def test_the_summary_names_ports_and_entries(switch: P4Switch) -> None:
    switch.table("kinds").add({"kind": 7}, "forward", port=3)
    assert list(summary_lines(walk(switch, RIGHT))) == [
        "out by port 3, 4 bytes",
        "table kinds  hit hdr.h.kind=7 -> forward(port=3)",
    ]


def test_checksums_are_judged(switch: P4Switch) -> None:
    assert "hdr.h.sum = 0xf8ff (63743) is right" in "\n".join(walk_lines(walk(switch, RIGHT)))
    wrong = "\n".join(walk_lines(walk(switch, WRONG)))
    assert "hdr.h.sum = 0x1234 (4660) is wrong, 0xf8ff (63743) is right" in wrong
    assert "not checked" in "\n".join(walk_lines(walk(switch, "0900 1234")))


def test_a_line_of_source_stands_once(switch: P4Switch) -> None:
    text = "\n".join(walk_lines(walk(switch, WRONG)))
    assert text.count("else { drop(); return; }") == 1
    assert text.count("if (std.checksum_error == 0) { kinds.apply(); }") == 1
    assert "I:" not in text.split()


def test_headers_that_the_deparser_wrote(switch: P4Switch) -> None:
    switch.table("kinds").add({"kind": 7}, "forward", port=3)
    assert "hdr: h = 4 bytes; extra = not valid" in "\n".join(walk_lines(walk(switch, RIGHT)))


def test_entries_and_cells_as_pytest_shows_them(switch: P4Switch) -> None:
    kinds = switch.table("kinds")
    kinds.add({"kind": 7}, "forward", port=3)
    assert repr(kinds.entries()) == "[<I.kinds: hdr.h.kind=7 -> I.forward(port=3)>]"
    assert repr(kinds) == "<table I.kinds: 1 of 1024 entries>"
    kinds.entries()[0].delete()
    assert kinds.entries() == []
    seen = switch.register("seen")
    seen[1] = 5
    assert (seen[:3], sum(seen), len(seen), repr(seen)) == ([0, 5, 0], 5, 4, "<register I.seen: 4 cells>")


def test_keys_as_text() -> None:
    kinds = ("exact", "lpm", "ternary", "range", "optional")
    keys = tuple(KeyView(number, f"k{number}", 32, kind) for number, kind in enumerate(kinds))
    table = TableView(1, "t", keys, (), (0, ()), False, 8, (), False, False)
    given = {"k0": 1, "k1": "10.0.0.0/8", "k2": "0x10&&&0xf0", "k3": "80..90", "k4": "10.0.0.1"}
    assert match_text(table, entry_match(table, given)) == (
        "k0=1, k1=10.0.0.0/8, k2=16&&&0xf0, k3=80..90, k4=0xa000001 (10.0.0.1)"
    )
    assert match_text(table, entry_match(table, {"k0": 1})) == "k0=1"


def test_what_the_program_says(switch: P4Switch) -> None:
    assert '"kind 8 of 5"' in "\n".join(walk_lines(walk(switch, "0805 0000")))


def test_details_fold_at_the_width(switch: P4Switch) -> None:
    found = walk(switch, RIGHT)
    details = [line for line in walk_lines(found, width=60) if "=" in line and "{" not in line]
    assert details
    assert max(map(len, details)) <= 60
    assert len(list(walk_lines(found, width=60))) > len(list(walk_lines(found, width=200)))


def test_idle_entries(switch: P4Switch) -> None:
    entry = switch.table("kinds").add({"kind": 7}, "forward", port=3, idle_timeout="2s")
    switch.advance("1999ms")
    assert not entry.is_idle
    switch.send(1, RIGHT)
    switch.advance("1999ms")
    assert not entry.is_idle
    switch.advance("1ms")
    assert entry.is_idle
    with pytest.raises(Exception, match="has no time-out: add it with idle_timeout="):
        _ = switch.table("kinds").add({"kind": 8}, "drop").is_idle


def test_meters_of_entries_and_what_a_switch_is_called(switch: P4Switch) -> None:
    entry = switch.table("kinds").add({"kind": 7}, "forward", port=3)
    entry.set_meter(Meter(committed=(1000, 10)))
    entry.set_meter((1000, 10), (2000, 10))
    with pytest.raises(Exception, match="is not a rate: give Meter"):
        entry.set_meter(5)  # type: ignore[arg-type]
    assert repr(switch) == "<P4Switch s1: sums.p4>"
