"""Tables refer to ``@hidden`` actions by ids that P4Info does not describe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.bmv2json.program import load_json
from emulator.bmv2json.write import write_json
from emulator.p4runtime.errors import BatchError
from tests.labs.p4runtime_device import Bench
from tests.programs.text import compile_text, program

SOURCE = program(
    local="""@hidden action own(bit<8> x) { hdr.one.b = x; }
    action run() { }
    table t { key = { hdr.one.a: exact; } actions = { run; own; } default_action = own(7); }
    table fixed {
        key = { hdr.one.a: exact; }
        actions = { own; @defaultonly run; }
        const default_action = run;
        const entries = { 1: own(1); 2: own(2); }
    }""",
    apply="sm.egress_spec = 2; if (!t.apply().hit) { fixed.apply(); }",
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    path = tmp_path / "hidden.p4"
    path.write_text(SOURCE)
    bench = Bench("interpreter", str(path))
    yield bench
    bench.close()


def test_it_runs_and_is_read_without_its_data(bench: Bench) -> None:
    (default,) = bench.read("table_entry { table_id: $t is_default_action: true }")
    own = next(t for t in bench.p4info.tables if t.preamble.name == "I.t").initial_default_action.action_id
    assert default.table_entry.action.action.action_id == own
    entries = bench.read("table_entry { table_id: $fixed }")
    assert [(e.table_entry.action.action.action_id, len(e.table_entry.action.action.params)) for e in entries] == [
        (own, 0),
        (own, 0),
    ]
    assert bench.run(0, bytes((2, 9, 0, 0)), bytes((3, 9, 0, 0))) == {2: [bytes((2, 2, 0, 0)), bytes((3, 7, 0, 0))]}


def test_it_cannot_be_written(bench: Bench) -> None:
    (default,) = bench.read("table_entry { table_id: $t is_default_action: true }")
    number = default.table_entry.action.action.action_id
    key = 'match { field_id: 1 exact { value: "\\x05" } }'
    with pytest.raises(BatchError, match="does not have the action"):
        bench.write(("INSERT", f"table_entry {{ table_id: $t {key} action {{ action {{ action_id: {number} }} }} }}"))


def test_such_p4info_agrees_with_the_program_as_json() -> None:
    checked = compile_text(SOURCE)
    loaded = load_json(json.dumps(write_json(checked.program, checked.p4info)).encode(), checked.p4info)
    assert loaded.p4info is checked.p4info
