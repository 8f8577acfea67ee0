"""Every packet test's program, written as bmv2's JSON and read back, passes its test; and p4c's samples load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf import text_format

from emulator.bmv2json.program import load_json
from emulator.bmv2json.write import Unwritable, write_json
from emulator.harness.egress_rings import Rings
from emulator.harness.stf.bind import bind
from emulator.harness.stf.compare import compare
from emulator.harness.stf.parser import parse
from emulator.harness.stf.run import run
from emulator.p4.frontend import compile_source
from emulator.rpc.p4protos import p4info_pb2
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.compiled import compile_program

FOLDER = Path(__file__).parent / "stf"
TESTS = sorted(str(p.relative_to(FOLDER).with_suffix("")) for p in FOLDER.rglob("*.stf"))
LLVM_EVERY = 12
"""Machine code is made for so few: that both engines agree on the IR is tested elsewhere."""
SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "bmv2_json"
"""Made by p4c; outside this repository."""


@pytest.fixture(scope="module")
def rings() -> Rings:
    return Rings()


@pytest.mark.parametrize("name", TESTS)
def test_a_program_as_json_passes_its_packet_test(name: str, rings: Rings) -> None:
    checked = compile_source(str(FOLDER / f"{name}.p4"), architecture=V1MODEL, include_paths=(str(FOLDER / "include"),))
    try:
        document = write_json(checked.program, checked.p4info)
    except Unwritable as reason:
        pytest.skip(f"{reason}")
    loaded = load_json(json.dumps(document).encode(), checked.p4info)
    text = (FOLDER / f"{name}.stf").read_text()
    for engine in ("interpreter", "llvm") if TESTS.index(name) % LLVM_EVERY == 0 else ("interpreter",):
        compiled = compile_program(loaded, engine=engine)
        plan = bind(parse(text), compiled)
        assert not compare(plan, run(plan, compiled, rings)), engine


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="p4c's samples are not on this machine")
@pytest.mark.parametrize("given", ["own P4Info", "p4c's P4Info"])
def test_samples_of_p4c_load(given: str) -> None:
    for path in sorted(SAMPLES.glob("*.json")):
        info = None
        if given == "p4c's P4Info":
            info = text_format.Parse(path.with_suffix(".p4info.txtpb").read_text(), p4info_pb2.P4Info())
        for engine in ("interpreter", "llvm"):
            compile_program(load_json(path.read_bytes(), info), engine=engine)
