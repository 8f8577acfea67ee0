"""The p4c and p4c-bm2-ss commands: what Makefiles call, and what they do next with the output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf import text_format

from emulator.bmv2json.program import load_json
from emulator.rpc.p4protos import p4info_pb2, p4runtime_pb2
from hostagent.cli.bmv2.p4c import BACK_END, DRIVER, run

ROUTER = str(Path(__file__).parents[5] / "p4src" / "router.p4")
WRONG = "#include <core.p4>\n#include <v1model.p4>\nstruct H { } x\n"


def load(document: Path, p4info: Path) -> None:
    info = text_format.Parse(p4info.read_text(), p4info_pb2.P4Info())
    assert load_json(document.read_bytes(), info).p4info == info


def test_as_run_exercise_calls_it(tmp_path: Path) -> None:
    output, info = tmp_path / "router.json", tmp_path / "router.p4.p4info.txtpb"
    words = ["--p4v", "16", "--p4runtime-files", str(info), "-o", str(output), ROUTER]
    assert run(words, BACK_END) == 0
    load(output, info)
    document = json.loads(output.read_text())
    assert document["program"] == ROUTER
    assert [p["name"] for p in document["pipelines"]] == ["ingress", "egress"]


def test_as_p4_utils_calls_it(tmp_path: Path) -> None:
    info = tmp_path / "info.txt"
    words = ["--target", "bmv2", "--arch", "v1model", "--std", "p4-16", "--p4runtime-files", str(info), ROUTER]
    assert run([*words, "-o", str(tmp_path / "build")], DRIVER) == 0
    load(tmp_path / "build" / "router.json", info)
    assert "standard_metadata_t" in (tmp_path / "build" / "router.p4i").read_text()


@pytest.mark.parametrize("suffix", [".bin", ".json", ".txtpb"])
def test_p4info_by_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"info{suffix}"
    assert run(["--p4runtime-files", str(path), ROUTER]) == 0
    data = path.read_bytes()
    name = b"Router" if suffix == ".bin" else b'"name"' if suffix == ".json" else b"name:"
    assert name.lower() in data.lower()


def test_entries_of_the_source_as_a_write_request(tmp_path: Path) -> None:
    program = Path(__file__).parents[4] / "programs" / "queueing" / "again.p4"
    text, binary = tmp_path / "entries.txt", tmp_path / "entries.bin"
    words = ["--p4runtime-entries-files", str(text), "--p4runtime-entries-file", str(binary), str(program)]
    assert run(words) == 0
    request = text_format.Parse(text.read_text(), p4runtime_pb2.WriteRequest())
    assert request == p4runtime_pb2.WriteRequest.FromString(binary.read_bytes())
    entries = [update.entity.table_entry for update in request.updates]
    assert {update.type for update in request.updates} == {p4runtime_pb2.Update.INSERT}
    assert [entry.match[0].lpm.prefix_len for entry in entries] == [8, 16, 24]
    assert [entry.action.action.params[0].value for entry in entries] == [b"\x01", b"\x02", b"\x03"]
    assert all(entry.is_const for entry in entries)
    assert "# proto-message: p4.v1.WriteRequest\n" in text.read_text()


def test_options_that_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, noisy = tmp_path / "plain.json", tmp_path / "noisy.json"
    preprocessed = tmp_path / "router.p4"
    assert run(["-E", ROUTER]) == 0
    preprocessed.write_text(capsys.readouterr().out)
    assert run(["-o", str(plain), ROUTER]) == 0
    words = [
        "--nocpp",
        "--testJson",
        "--loopsUnroll",
        "--top4",
        "Last",
        "--excludeMidendPasses",
        "X",
        "--Wdisable=unused",
        "-v",
        "-T",
        "a:3",
    ]
    assert run([*words, "-o", str(noisy), str(preprocessed)]) == 0
    keys = [
        [table["key"] for pipeline in json.loads(path.read_text())["pipelines"] for table in pipeline["tables"]]
        for path in (plain, noisy)
    ]
    assert keys[0] == keys[1] != []


def test_what_the_driver_passes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.p4"
    program.write_text("#ifdef A\nyes\n#endif\n")
    words = ["-Xpreprocessor", "-DA", "-Xp4c=--Wdisable", "-S", "-E", "--output", str(tmp_path), str(program)]
    assert run(words, DRIVER) == 0
    assert "yes" in (tmp_path / "p.p4i").read_text()


def test_preprocessing_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.p4"
    program.write_text("#if defined(A) && B == 2\nyes A\n#endif\n")
    assert run(["-E", "-DA", "-D", "B=2", "-UA", str(program)]) == 0
    assert "yes" not in capsys.readouterr().out
    assert run(["-E", "-DA", "-D", "B=2", str(program)]) == 0
    assert "yes 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--frobnicate", ROUTER], "unknown option --frobnicate"),
        (["--toJSON", "ir.json", ROUTER], "--toJSON is not supported: it is about p4c's own intermediate form"),
        (["--pp=x.p4", ROUTER], "--pp is not supported: netsum does not print programs"),
        ([ROUTER, "other.p4"], "other.p4: one program at a time"),
        (["--p4runtime-entries-files", "a.xml", ROUTER], "--p4runtime-entries-files a.xml: the suffix must be one of"),
        (["--std", "p4-14", ROUTER], "P4_16 only"),
        (["--arch", "psa", ROUTER], "architecture is v1model"),
        (["--target", "dpdk", ROUTER], "target is bmv2"),
        (["--p4runtime-files", "a.xml", ROUTER], "suffix must be one of"),
        (["nosuch.p4"], "nosuch.p4: no such file"),
        (["-o", "/nosuch/folder/x.json", ROUTER], "/nosuch/folder/x.json: No such file or directory"),
    ],
)
def test_wrong_command_lines(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("p4c-bm2-ss: ")
    assert message in errors


def test_a_wrong_program_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, output = tmp_path / "wrong.p4", tmp_path / "wrong.json"
    program.write_text(WRONG)
    assert run(["-o", str(output), str(program)]) == 1
    assert "wrong.p4:3:" in capsys.readouterr().err
    assert not output.exists()


def test_what_json_cannot_express_shows_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[4] / "conformance" / "stf"
    assert run(["-o", str(tmp_path / "x.json"), str(folder / "tables" / "applied_twice.p4")]) == 1
    errors = capsys.readouterr().err
    assert "applied_twice.p4:27:9: error: bmv2's JSON cannot express table" in errors
    assert "t.apply();" in errors


def test_warnings_as_errors_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "warns.p4"
    program.write_text(Path(ROUTER).read_text() + "\nconst bool CHAIN = true ? true : false ? true : false;\n")
    assert run(["--Werror", str(program)]) == 1
    assert "warning" in capsys.readouterr().err
    assert run(["--Werror=overflow", str(program)]) == 0  # p4c's kind of another warning
    assert "warning" in capsys.readouterr().err
    assert run(["--Wdisable", str(program)]) == 0
    assert not capsys.readouterr().err
