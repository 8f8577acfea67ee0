"""``netsum trace``, and coverage as the plugin counts it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from emulator.harness.coverage.collect import Collector
from emulator.harness.coverage.items import Coverage, Sort
from emulator.harness.coverage.page import coverage_page
from emulator.harness.coverage.report import coverage_lines
from emulator.harness.network import P4Network
from emulator.harness.trace_command import TraceRequest, run_trace
from emulator.harness.virtual import VirtualTestbed

PROGRAM = str(Path(__file__).resolve().parents[3] / "programs" / "harness_program.p4")
NOTE = "020000000002 020000000001 88b5 07 00 0005 00000009"
ENTRIES = "add MyIngress.hosts hdr.ethernet.destination:0x020000000002 MyIngress.forward(port:2)\n"


def trace(**asked: object) -> tuple[int, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    status = run_trace(TraceRequest(PROGRAM, **asked), output=output, errors=errors)  # type: ignore[arg-type]
    return status, output.getvalue(), errors.getvalue()


def test_hex_through_entries(tmp_path: Path) -> None:
    (tmp_path / "entries").write_text(ENTRIES)
    status, text, _ = trace(hex=(NOTE,), port=1, entries=str(tmp_path / "entries"))
    assert status == 0
    for line in (
        "in by port 1, 22 bytes",
        "hit hdr.ethernet.destination=02:00:00:00:00:02 -> MyIngress.forward(port=2)",
        "hit hdr.note.kind=7 -> MyIngress.tell()",
        "harness_program.p4:127",
        "out by port 2, 22 bytes",
        "port 2: 02000000000202000000000188b507010005" + "00000000",
    ):
        assert line in text


def test_json_of_a_capture(tmp_path: Path) -> None:
    path = tmp_path / "two.pcap"
    wrpcap(str(path), [Ether(bytes.fromhex(NOTE.replace(" ", ""))), Ether(b"\0" * 14)])
    status, text, _ = trace(pcap=str(path), as_json=True)
    first, second = map(json.loads, text.splitlines())
    assert status == 0
    assert {"state": "note"}.items() <= {e["kind"]: e["text"] for e in first["events"] if e["kind"] == "state"}.items()
    assert {"kind": "drop", "text": "dropped by ingress"} in second["events"]
    assert second["out"] == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "either by --hex"),
        ({"hex": ("0g",)}, "is not a packet"),
        ({"pcap": "/nowhere.pcap"}, "/nowhere.pcap"),
        ({"hex": ("00",), "entries": "/nowhere.stf"}, "/nowhere.stf"),
    ],
)
def test_what_cannot_be_traced(asked: dict[str, object], message: str) -> None:
    status, _, errors = trace(**asked)
    assert status == 2
    assert message in errors


def test_wrong_entries_are_told_by_line(tmp_path: Path) -> None:
    (tmp_path / "entries").write_text("\n" + ENTRIES.replace("hosts", "hotss"))
    status, _, errors = trace(hex=("00",), entries=str(tmp_path / "entries"))
    assert status == 2
    assert "entries:2: there is no table" in errors


# --- Coverage -------------------------------------------------------------------------------------------------------


def collected() -> Collector:
    collector = Collector()
    network = P4Network(VirtualTestbed(watcher=collector))
    switch = network.switch(PROGRAM)
    switch.table("hosts").add({"destination": "02:00:00:00:00:02"}, "forward", port=2)
    switch.table("hosts").add({"destination": "02:00:00:00:00:03"}, "forward", port=3)
    switch.send(1, NOTE)
    network.close()
    return collector


def counts(coverage: Coverage, sort: Sort) -> dict[str, int]:
    (program,) = coverage.programs.values()
    return {item.label: item.count for item in program.of(sort)}


def test_what_one_packet_exercises() -> None:
    coverage = collected().coverage
    assert counts(coverage, Sort.TRANSITION) == {
        "start: 0x88b5 (34997) -> note": 1,
        "start: in MyParser.types -> note": 0,
        "start: default -> accept": 0,
        "note -> accept": 1,
    }
    entries = counts(coverage, Sort.ENTRY)
    assert entries["MyIngress.hosts: hdr.ethernet.destination=02:00:00:00:00:02"] == 1
    assert entries["MyIngress.hosts: hdr.ethernet.destination=02:00:00:00:00:03"] == 0
    assert entries["MyIngress.hosts: miss"] == 0
    assert entries["MyIngress.fixed: hdr.note.kind=7"] == 1
    assert entries["MyIngress.fixed: hdr.note.kind=9"] == 0
    actions = counts(coverage, Sort.ACTION)
    assert (actions["MyIngress.hosts: MyIngress.forward"], actions["MyIngress.hosts: MyIngress.drop"]) == (1, 0)
    branches = counts(coverage, Sort.BRANCH)
    assert {label.split(" ")[0] + label[-3:]: n for label, n in branches.items()} == {
        "true 9)": 1, "false 9)": 0, "true13)": 0, "false13)": 1
    }  # fmt: skip


def test_lines_are_those_with_statements_exercised_or_not() -> None:
    (program,) = collected().coverage.programs.values()
    lines = {item.line: item.count for item in program.of(Sort.LINE)}
    text = Path(PROGRAM).read_text().split("\n")
    assert {text[line - 1].strip() for line, count in lines.items() if not count} == {
        "mark_to_drop(standard_metadata);", "standard_metadata.mcast_grp = group;", "clone(CloneType.I2E, 5);",
        "standard_metadata.egress_spec = port;", "drop();",
    }  # fmt: skip
    assert not any(text[line - 1].strip().startswith(("action", "table", "state")) for line in lines)


def test_coverage_adds_up_over_processes_and_is_shown() -> None:
    one, total = collected().coverage, Coverage()
    for _ in range(2):
        total.add(json.loads(json.dumps(one.data())))
    assert counts(total, Sort.TRANSITION)["note -> accept"] == 2
    text = "\n".join(coverage_lines(total))
    assert "never: " in text
    assert "start: default -> accept" in text
    page = coverage_page(total)
    assert "transition select(hdr.ethernet.ether_type) {" in page
    assert "MyIngress.hosts: miss" in page


def test_a_switch_over_actions_names_them() -> None:
    program = str(Path(__file__).resolve().parents[3] / "conformance" / "stf" / "tables" / "action_run.p4")
    collector = Collector()
    network = P4Network(VirtualTestbed(watcher=collector))
    switch = network.switch(program)
    switch.table("t").add({"a": 2}, "two")
    switch.send(0, "02")
    assert "switch (t.apply().action_run) {   MyIngress.two\n" in switch.walk()
    network.close()
    branches = counts(collector.coverage, Sort.BRANCH)
    assert {label.partition(" (")[0]: n for label, n in branches.items()} == {
        "MyIngress.one": 0, "MyIngress.two, MyIngress.three": 1, "default": 0
    }  # fmt: skip
