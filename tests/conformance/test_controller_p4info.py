"""The names that the controller writes are those of p4src/allreduce.p4, as our front end sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.p4.frontend import compile_source
from emulator.p4.library import find_program
from emulator.v1model.architecture import V1MODEL
from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.controller.drivers.p4.entries import child_entries, job_entry
from hostagent.controller.drivers.p4.names import P4Names
from hostagent.protocol.services.aggregator import DROPS, VERDICTS
from tests.programs.aggregator_p4info import ACTIONS, COUNTERS, TABLES

JOB = JobConfig(
    job=0xFFFF,
    row=63,
    epoch=0xFFFF_FFFF,
    base=0xFFFF_FFFF,
    window=512,
    first_slot=0,
    short_allowed=True,
    switch_mac=0x026E73FFFFFE,
    switch_ip=0x0A4EFFFE,
    children=tuple(Child(n, n + 1, 0x026E73000001 + n, 0x0A4E0001 + n, bool(n % 2)) for n in range(64)),
)


@pytest.fixture(scope="module")
def p4info() -> Any:
    return compile_source(find_program("allreduce.p4"), architecture=V1MODEL, defines={"LANES": "64"}).p4info


def test_tables_actions_and_counters_are_those_of_the_program(p4info: Any) -> None:
    tables = {t.preamble.name: {f.name: f.bitwidth for f in t.match_fields} for t in p4info.tables}
    actions = {a.preamble.name: {p.name: p.bitwidth for p in a.params} for a in p4info.actions}
    assert tables.pop("AllreduceEgress.marks.queues"), "the operator's (p4src/shared/marks.p4)"
    assert tables == {name: keys for name, (keys, _) in TABLES.items()}
    assert {name: actions[name] for name in ACTIONS} == ACTIONS
    assert {c.preamble.name: c.size for c in p4info.counters} == COUNTERS


def test_capacity_is_read_from_the_sizes_of_arrays(p4info: Any) -> None:
    assert P4Names(p4info).capacity() == Capacity(slots=2048, lanes=64, rows=64, forwards_messages=True)


def test_every_entry_of_a_job_survives_the_way_to_p4runtime_and_back(p4info: Any) -> None:
    names = P4Names(p4info)
    for entry in (job_entry(JOB), *child_entries(JOB)):
        assert names.from_message(names.to_message(entry)) == entry


def test_verdicts_and_drops_have_the_programs_numbers() -> None:
    text = (Path(find_program("allreduce.p4")).parent / "allreduce" / "types.p4").read_text()
    assert _members(text, "verdict_t") == [name.upper() for name in VERDICTS]
    assert _members(text, "drop_t") == [name.upper() for name in DROPS]


def _members(text: str, enum: str) -> list[str]:
    """Names in the order of their numbers."""
    body = text.split(f"enum bit<32> {enum} {{")[1].split("}")[0]
    pairs = [line.split("=") for line in body.replace("\n", "").split(",")]
    return [name.strip() for name, _ in sorted(pairs, key=lambda pair: int(pair[1]))]
