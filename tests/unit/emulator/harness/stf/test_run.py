"""Tests against a program: each command does what it says, on both engines, and failures are found."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from emulator.harness.egress_rings import Rings
from emulator.harness.stf.command import run_stf
from emulator.harness.stf.runner import Result, Runner

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers_t { h_t h; }
struct meta_t { bit<32> index; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) counts;
    direct_counter(CounterType.packets) hits;
    register<bit<8>>(4) cells;
    action go(bit<9> port, bit<8> x) { sm.egress_spec = port; hdr.h.b = x; }
    action flood(bit<16> group) { sm.mcast_grp = group; }
    table first_t {
        key = { hdr.h.a: exact; }
        actions = { go; flood; NoAction; }
        counters = hits;
    }
    table second_t {
        key = { hdr.h.a: ternary; hdr.h.isValid(): ternary; }
        actions = { go; NoAction; }
    }
    apply {
        counts.count(0);
        bit<8> n;
        cells.read(n, 1);
        cells.write(1, n + 1);
        sm.egress_spec = 7;
        if (hdr.h.a == 0xff) { assert(hdr.h.b == 0); }
        first_t.apply();
        second_t.apply();
        log_msg("byte {}", { hdr.h.a });
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), MyIngress(), E(), C(), D()) main;
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stf") / "program.p4"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def runner(source: Path) -> Runner:
    return Runner(str(source), engine="both", rings=Rings())


def results(runner: Runner, text: str) -> list[Result]:
    both = runner.run_text(text, "t.stf")
    assert [r.engine for r in both] == ["llvm", "interpreter"]
    assert both[0].failures == both[1].failures
    assert both[0].complaints == both[1].complaints
    return both


def messages(runner: Runner, text: str) -> list[tuple[int, str]]:
    return [(f.line, f.message) for f in results(runner, text)[0].failures]


@pytest.mark.parametrize(
    "text",
    [
        "packet 0 0102 03\nexpect 7 0102 03$",
        "packet 0 0102\nexpect 7",
        "packet 0 0102\nexpect 7 0*\n",
        "# output by a port that nobody names is not looked at\npacket 0 0102",
        "add first_t hdr.h.a:1 go(x:9, port:3)\npacket 0 0102\nexpect 3 0109$",
        "add second_t 5 a:0x0* go(port:1, x:1)\nadd second_t 6 valid:0b1 go(port:2, x:2)\n"
        "packet 0 0102\nexpect 2 0102$",
        "add first_t a:1 go(port:1, x:1) = e\nremove e\npacket 0 0102\nexpect 7\nadd first_t a:1 go(port:1, x:1)",
        "add first_t a:1 go(port:1, x:1) = e\npacket 0 0102\ncheck_counter hits(e) packets == 1\nexpect 1",
        "setdefault first_t go(port:3, x:4)\npacket 0 0102\nexpect 3 0104",
        "packet 0 0102 03\ncheck_counter counts(0) bytes == 3\ncheck_counter counts(1)",
        "packet 0 0102\npacket 0 0102\ncheck_register cells(1) >= 2",
        "register_write cells 1 7\npacket 0 0102\ncheck_register cells(1) == 8\nregister_reset cells\n"
        "check_register cells(1) == 0",
        "counter_write counts 0 5 50\npacket 0 0102\ncheck_counter counts(0) packets == 6",
        "mc_mgrp_create 4\nmc_node_create 1 3 2\nmc_node_associate 4 0\nadd first_t a:1 flood(group:4)\n"
        "packet 0 0102\nexpect 2\nexpect 3\nmc_node_update 0 5\npacket 0 0102\nexpect 5",
        "add first_t a:1 flood(group:9)\npacket 0 0102\nno_packet",
        "add first_t a:1 go(port:3, x:1)\npacket 0 0102\nno_packet 7\nexpect 3",
        'check_log none\npacket 0 0102\ncheck_log "byte 1"\ncheck_log none',
        'packet 0 ff01\ncheck_count "failed assertion" == 1',
        "check_counter counts(0) packets == 0\ncounter_read counts 0\nregister_read cells 1\nmirroring_get 3",
        "mirroring_add 3 4\nmirroring_add_mc 3 9\nmirroring_delete 3",
    ],
)
def test_what_holds(runner: Runner, text: str) -> None:
    for result in results(runner, text):
        assert result.held, (result.failures, result.complaints)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("packet 0 0102\nexpect 7 0103", 2, "differs at nibble 3 (byte 1)"),
        ("packet 0 0102\nexpect 7 010203", 2, "too short"),
        ("packet 0 0102\nexpect 7 01$", 2, "too long"),
        ("packet 0 0102\nexpect 6", 2, "nothing received; 1 expected and 0 received by port 6"),
        ("packet 0 0102\npacket 0 0102\nexpect 7", 2, "nothing expected, received after the packet of line 2"),
        ("packet 7 0102", 1, "nothing expected"),
        ("packet 0 0102\nno_packet\nexpect 7", 2, "port 7: expected nothing after the packet of line 1, received 0102"),
        (
            "check_counter counts(0) packets > 0",
            1,
            "counter MyIngress.counts(0): expected packets > 0, it has 0 packets",
        ),
        ("check_register cells(0) == 1", 1, "register MyIngress.cells(0): expected == 0x1, it has 0x0"),
        ("register_write cells 9 1", 1, "refused by the switch"),
        ("register_write cells 0 256", 1, "refused by the switch"),
        ("add first_t a:1 NoAction()\nadd first_t a:1 NoAction()", 2, "an entry with this match exists"),
        ("packet 0 ff01", 1, "1 packets failed an assertion of the program, which ends a bmv2"),
        ('check_log "x"', 1, 'log: expected "x", the oldest message is none'),
        ('check_count "nonsense" == 0', 1, "the switch counts nothing called 'nonsense'"),
    ],
)
def test_what_does_not_hold(runner: Runner, text: str, line: int, part: str) -> None:
    ((found_line, message),) = messages(runner, text)
    assert found_line == line
    assert part in message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("add third a:1 go()", "there is no table 'third'; there are: MyIngress.first_t, MyIngress.second_t"),
        ("add _t a:1 go()", "'_t' is the end of MyIngress.first_t and MyIngress.second_t"),
        ("add first_t b:1 NoAction()", "no key 'b'"),
        ("add first_t a:1 stop()", "there is no action of table MyIngress.first_t 'stop'"),
        ("add first_t a:1 go(port:1)", "takes the parameters port, x; given: port"),
        ("add first_t a:1 go(port:1, x:1, y:1)", "takes the parameters port, x"),
        ("add first_t a:1 go(port:1, port:1)", "parameter 'port' is given twice"),
        ("add first_t a:1 go(1)", "takes the parameters port, x; given: 1 values"),
        ("add first_t a:1 go(port:1, x:0x100)", "parameter x: 0x100 is larger than its 8 bits"),
        ("add second_t a:0x1 NoAction()", "needs a priority"),
        ("remove e", "no entry has the handle 'e'"),
        ("check_counter hits(0)", "hits is direct"),
        ("counter_read hits 0", "hits is direct"),
        ("check_counter counts(e)", "an index is a number, not 'e'"),
        ("mc_node_associate 1 0", "there is no node 0"),
        ("mc_node_create 1 512", "a node's ports are 0 .. 511"),
        ("mirroring_delete 1", "there is no clone session 1"),
        ("add first_t a:1 member m", "no member has the handle 'm'"),
        ("add_member p NoAction() = m", "there is no action profile 'p'"),
        ("add_value v 1", "there is no value set 'v'"),
        ("check_digest d none", "there is no digest 'd'"),
        ("meter_set_rates m 0 1:1 1:1", "there is no meter 'm'"),
    ],
)
def test_mistakes_against_the_program(runner: Runner, text: str, part: str) -> None:
    (complaint,) = results(runner, "# \n" + text)[0].complaints
    assert complaint.line == 2
    assert part in complaint.message


def test_arguments_in_order(runner: Runner) -> None:
    for result in results(runner, "add first_t a:1 go(3, 0x22)\npacket 0 0102\nexpect 3 0122$\n"):
        assert result.held, result.failures


def test_failed_expectations_say_where_the_packet_went_with_its_walk(runner: Runner) -> None:
    text = "add first_t a:1 go(3, 2)\npacket 0 0102\nexpect 4 0102$\npacket 0 ff01\nexpect 4 ff01$\n"
    for result in results(runner, text):
        lines = result.explanation
        assert lines[0] == "    the packet of line 2 left by port 3"
        assert lines[1].startswith("    the packet of line 4 left by no port: assert(")
        assert lines[2] == "    the walk of the packet of line 2:"
        assert any("table MyIngress.first_t" in line for line in lines)
        assert any("the walk of the packet of line 4:" in line for line in lines)
    for result in results(runner, "packet 0 0102\nexpect 7 0102$\ncheck_register cells(0) == 9\n"):
        assert len(result.failures) == 1
        assert result.explanation == ()


def test_virtual_time_moves_by_waits_and_by_the_control_plane(source: Path) -> None:
    text = source.read_text().replace("cells.write(1, n + 1);", "cells.write(1, sm.ingress_global_timestamp[7:0]);")
    text = text.replace("cells.read(n, 1);", "")
    other = source.with_name("times.p4")
    other.write_text(text)
    runner = Runner(str(other), engine="llvm")
    start = (10**6) & 255
    (result,) = runner.run_text(
        f"packet 0 0102\ncheck_register cells(1) == {start}\npacket 0 0102\ncheck_register cells(1) == {start}\n"
        f"wait 0.000005\npacket 0 0102\ncheck_register cells(1) == {start + 5}\n"
        f"register_write cells 0 1\npacket 0 0102\ncheck_register cells(1) == {(start + 5 + 10**6) & 255}\n",
        "t",
    )
    assert result.held, result.failures


def test_the_command_reports_and_exits(source: Path, tmp_path: Path) -> None:
    good, bad, wrong = (tmp_path / name for name in ("good.stf", "bad.stf", "wrong.stf"))
    good.write_text("packet 0 0102\nexpect 7 0102$\n")
    bad.write_text("packet 0 0102\nexpect 7 0103\ncheck_counter counts(0) packets == 9\n")
    wrong.write_text("packet 0 01\nnonsense\n")

    def run(*tests: Path, **options: object) -> tuple[int, str, str]:
        output, errors = io.StringIO(), io.StringIO()
        status = run_stf(str(source), [str(t) for t in tests], output=output, errors=errors, **options)  # type: ignore[arg-type]
        return status, output.getvalue(), errors.getvalue()

    assert run(good)[:2] == (0, f"{good}: ok (1 packets in, 1 out)\n")
    status, text, _ = run(good, bad, engine="both")
    assert status == 1
    assert f"{bad}:2: port 7, packet 0: differs at nibble 3 (byte 1)" in text
    assert f"{bad}:3: counter MyIngress.counts(0): expected packets == 9" in text
    assert f"{bad} [interpreter]: FAILED in 2 places" in text
    assert "    the packet of line 1 left by port 7\n    the walk of the packet of line 1:\n" in text
    status, text, _ = run(wrong)
    assert status == 2
    assert f"{wrong}:2: there is no command 'nonsense'" in text
    status, text, _ = run(good, bad, as_json=True)
    data = json.loads(text)
    assert [t["ok"] for t in data["tests"]] == [True, False]
    assert data["tests"][1]["failures"][0]["port"] == 7
    assert run(good, engine="other")[0] == 2
    assert "no such file" in run(tmp_path / "missing.stf")[2].lower()


def test_a_program_with_errors_is_shown_and_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "p.p4").write_text("header h { bit<8> a }\n")
    (tmp_path / "t.stf").write_text("")
    errors = io.StringIO()
    assert run_stf(str(tmp_path / "p.p4"), [str(tmp_path / "t.stf")], errors=errors) == 2
    assert "p.p4:1:" in errors.getvalue()
