"""bmv2's JSON wherever a program is asked for: fixtures, traces, packet tests, ``netsum compile``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from google.protobuf import text_format

from emulator.bmv2json.write import write_json
from emulator.harness.network import P4Network
from emulator.harness.stf.command import run_stf
from emulator.harness.trace_command import TraceRequest, run_trace
from emulator.p4.errors import CompileError
from emulator.p4.frontend import compile_source
from emulator.rpc.p4protos import p4info_pb2
from emulator.v1model.architecture import V1MODEL
from hostagent.cli.compile import compile_program
from hostagent.cli.parsing import UsageError

PROGRAM = str(Path(__file__).resolve().parents[3] / "programs" / "harness_program.p4")
FRAME = "020000000002 020000000001 9999"
ENTRY = "add hosts hdr.ethernet.destination:0x020000000002 forward(port:2)\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``hub.json`` and its P4Info, as p4c would leave them."""
    folder = tmp_path_factory.mktemp("json")
    checked = compile_source(PROGRAM, architecture=V1MODEL)
    (folder / "hub.json").write_text(json.dumps(write_json(checked.program, checked.p4info)))
    (folder / "hub.p4info.txtpb").write_text(text_format.MessageToString(checked.p4info))
    return folder / "hub.json"


def test_the_fixture_takes_it(made: Path, p4_network: P4Network) -> None:
    switch = p4_network.switch(made)
    switch.table("hosts").add({"hdr.ethernet.destination": "02:00:00:00:00:02"}, "forward", port=2)
    switch.send(1, FRAME)
    switch.expect(2, FRAME)
    switch.expect_no_other()


def test_a_trace_and_a_packet_test_take_it(made: Path, tmp_path: Path) -> None:
    (tmp_path / "entries").write_text(ENTRY)
    output, errors = io.StringIO(), io.StringIO()
    request = TraceRequest(str(made), hex=(FRAME,), port=1, entries=str(tmp_path / "entries"))
    assert run_trace(request, output=output, errors=errors) == 0, errors.getvalue()
    assert "MyIngress.forward(port=2)" in output.getvalue()
    (tmp_path / "hub.stf").write_text(f"{ENTRY}packet 1 {FRAME}\nexpect 2 {FRAME}$\n")
    assert run_stf(str(made), [str(tmp_path / "hub.stf")], output=output, errors=errors) == 0, output.getvalue()


def test_compile_takes_it_and_writes_its_p4info(made: Path, tmp_path: Path) -> None:
    assert compile_program(str(made), p4info=tmp_path / "own.txtpb") == 0
    given = made.with_suffix(".p4info.txtpb").read_text()
    read = [text_format.Parse(text, p4info_pb2.P4Info()) for text in (given, (tmp_path / "own.txtpb").read_text())]
    assert read[0] == read[1]


def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, p4_network: P4Network) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"a": 1}')
    with pytest.raises(CompileError, match=r"wrong\.json: .*no 'header_types'"):
        p4_network.switch(file)
    file.with_suffix(".p4info.txt").write_text("tables {")
    with pytest.raises(CompileError, match=r"wrong\.p4info\.txt: it is not P4Info"):
        p4_network.switch(file)
    with pytest.raises(UsageError, match="only --p4info and --json apply"):
        compile_program(str(file), define=["N=1"])
