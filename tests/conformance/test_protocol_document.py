"""The tables and diagrams of PROTOCOL.md say what the code says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum, IntEnum, IntFlag
from pathlib import Path

import pytest

from hostagent.controller.core.lifecycle import TRANSITIONS, JobEvent, JobState
from hostagent.controller.core.model import Limits
from hostagent.controller.core.slots import LARGEST_WINDOW, SMALLEST_WINDOW
from hostagent.protocol import served, wire
from hostagent.protocol.counters import Drop, Verdict
from hostagent.protocol.dtypes import DType
from hostagent.protocol.messages import frames as message_frames
from hostagent.protocol.messages import losses as message_losses
from hostagent.protocol.messages import records as message_records
from hostagent.protocol.operation import OperationKind
from hostagent.protocol.quantizer import formats
from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, log2_ceiling
from hostagent.protocol.worker import REASONS, congestion, core, exact_plan, retransmission, round_trip
from hostagent.transport import job
from hostagent.transport.session import terms as session_terms

DOCUMENT = Path(wire.__file__).with_name("PROTOCOL.md")
TEXT = DOCUMENT.read_text()
UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3}


def table(*headers: str) -> list[list[str]]:
    """The cells, without backquotes, of the only table with these first headers."""
    first = re.escape(f"| {' | '.join(headers)} |")
    found = re.findall(rf"^{first}.*\n\|[-|]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert len(found) == 1, f"{len(found)} tables begin with {headers}"
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in found[0].splitlines()]


def durations_ns(rows: Iterable[list[str]]) -> dict[str, int]:
    """By name, of the rows that have a unit; others are plain numbers."""
    found = {}
    for name, value, *_ in rows:
        number, _, unit = value.partition(" ")
        found[name] = int(number) * UNITS_NS.get(unit, 1)
    return found


def test_the_header_table_is_the_declaration() -> None:
    assert f"\n{wire.markdown_table()}\n" in TEXT


def test_the_bit_diagram_is_the_declaration() -> None:
    start = TEXT.index("### 4.2 Header")
    rows = re.findall(r"^    \|(.*)\|$", TEXT[start : TEXT.index("`byte` counts", start)], re.MULTILINE)
    drawn = [(cell.strip(), (len(cell) + 1) // 2) for row in rows for cell in row.split("|")]
    assert drawn == [(field.name, field.width_bits) for field in wire.HEADER]


@pytest.mark.parametrize(
    ("first_header", "members"),
    [
        ("kind", wire.Kind),
        ("operator", wire.Operator),
        ("operation kind", OperationKind),
        ("element type", DType),
        ("drop", Drop),
        ("verdict", Verdict),
        ("action", served.Action),
        ("optimizer", served.ServedOptimizer),
        ("flag", served.ServedFlag),
        ("status", served.Status),
    ],
)
def test_enumerations(first_header: str, members: type[IntEnum] | type[IntFlag]) -> None:
    everyone: Mapping[str, Enum] = members.__members__
    written = {name: int(value) for name, value, *_ in table(first_header, "value")}
    assert written == {name: int(member.value) for name, member in everyone.items()}


def test_constants_of_the_wire() -> None:
    written = {name: int(value) for name, value, _ in table("constant", "value", "meaning")}
    assert written == {name: getattr(wire, name) for name in written}
    nearby = {name: int(value) for name, value, _ in table("nearby", "value")}
    assert nearby == {name: getattr(wire, name) for name in nearby}
    assert len(nearby) == 3
    assert written.keys() >= {"NETSUM_PORT", "NETSUM_VERSION", "FLAG_NO_DATA", "HEADER_BYTES", "HEADER_AT", "LANES_AT"}


def test_constants_of_the_worker() -> None:
    written = durations_ns(table("constant", "value", "use"))
    modules = (round_trip, retransmission, congestion)
    names = {name: getattr(module, name) for module in modules for name in written if hasattr(module, name)}
    names |= {
        name: getattr(core, name) for name in ("MINIMUM_RTO_NS", "RUN_AHEAD_WINDOWS", "SMALLEST_RING", "LARGEST_SHARE")
    }
    names["HEARTBEAT_INTERVAL_NS"] = session_terms.HEARTBEAT_INTERVAL_NS
    names["TOLD_TIMEOUT_S"] = int(job.TOLD_TIMEOUT_S * 10**9)
    assert written == names


def test_limits_of_the_controller() -> None:
    assert durations_ns(table("limit")) == {field.name: getattr(Limits(), field.name) for field in fields(Limits)}


def test_the_table_of_a_jobs_life() -> None:
    events = list(JobEvent)
    rows = table("state", *(event.name for event in events))
    written = {
        (JobState[state], event): JobState[after]
        for state, *cells in rows
        for event, after in zip(events, cells, strict=True)
        if after != "-"
    }
    assert written == TRANSITIONS
    assert [state for state, *_ in rows] == [state.name for state in JobState]


def test_reasons_why_a_worker_ignores_a_frame() -> None:
    assert sorted(row[0] for row in table("reason")) == sorted(REASONS)


def test_special_exponents() -> None:
    written = {row[0]: int(row[1]) for row in table("exponent") if row[0].startswith("EXPONENT")}
    assert written == {"EXPONENT_ZERO": EXPONENT_ZERO, "EXPONENT_NOT_FINITE": EXPONENT_NOT_FINITE}


def test_floating_point_formats() -> None:
    written = {name: tuple(map(int, numbers)) for name, *numbers in table("format")}
    names = (formats.precision_of, formats.unit_exponent_of, formats.top_exponent_of)
    assert written == {name: tuple(each(DType[name]) for each in names) for name in written}
    assert set(written) == {dtype.name for dtype in DType if formats.is_float(dtype)}


def test_sums_in_one_round() -> None:
    text = " ".join(TEXT.split())
    frames = exact_plan.ONE_ROUND_FRAMES
    assert f"`ONE_ROUND_FRAMES` = {frames} frames" in text
    elements = {
        n: frames * exact_plan.one_round_elements(DType.FLOAT32, 1024, n, log2_ceiling(n)) for n in (2, 4, 8, 64)
    }
    assert (
        f"{frames} frames have {elements[2]:,} float32 of 2 ranks, {elements[4]:,} of 4, {elements[8]:,} of 8 and "
        f"{elements[64]:,} of 64"
    ) in text
    assert exact_plan.block_elements(1024) == 1020
    assert "(1,020 at 1,024 lanes)" in text


def test_windows() -> None:
    assert f"`SMALLEST_WINDOW` ({SMALLEST_WINDOW}) to `LARGEST_WINDOW` ({LARGEST_WINDOW})" in " ".join(TEXT.split())


def test_set_states_are_those_of_the_p4_program() -> None:
    types = (DOCUMENT.parents[2] / "p4src" / "allreduce" / "types.p4").read_text()
    states = re.findall(r"const bit<8> (SET_\w+) = (\d+);", types)
    assert len(states) == 5
    for name, number in states:
        assert f"`{name}` = {number}" in TEXT


def test_the_lanes_of_an_announcement() -> None:
    """Every number of an announcement is in the lanes that the table gives it."""
    terms = served.Hyperparameters(served.ServedOptimizer.ADAMW, 64, 3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    told = served.Announcement(served.Action.WRITE, 9, 2**33, 2, 2**34, 5, 2**35, terms, 11)
    words = [int(word) for word in told.words()]
    used = {lane for lane, word in enumerate(words) if word}
    first = "version of this table"
    text = next(found for found in re.findall(r"\| lane \|.*\n\|[-|]+\n((?:\|.*\n)+)", TEXT) if first in found)
    listed = {int(lane) for row in text.splitlines() for lane in row.split("|")[1].split(",")}
    assert used <= listed
    assert listed == set(range(29))
    assert (words[5], words[8], words[9], words[10], words[11], words[28]) == (2, 5, 4, 64, 3, 11)


def test_links_and_sections_exist() -> None:
    headings = {f"{number}" for number in re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", TEXT, re.MULTILINE)}
    assert set(re.findall(r"section (\d+(?:\.\d+)?)", TEXT)) <= headings
    root = DOCUMENT.parents[2]
    for path in re.findall(r"`((?:hostagent|tests|p4src|pspin_model|emulator)/[\w./]*)`", TEXT):
        assert (root / path).exists(), f"{path} is named, and does not exist"


def test_the_limits_of_messages() -> None:
    declared = vars(message_records) | vars(message_losses)
    assert {name: int(value) for name, value in table("limit of messages", "value")} == {
        name: declared[name] for name, _ in table("limit of messages", "value")
    }


def test_the_fragment_layout() -> None:
    at = {row[0]: row[2] for row in table("in a `MESSAGE`", "bytes", "byte", "meaning")}
    start = message_frames.PACKET_AT
    assert {name: int(at[name]) for name in ("packet", "tag", "length", "agreement", "call")} == {
        "packet": 0,
        "tag": message_frames.TAG_AT - start,
        "length": message_frames.LENGTH_AT - start,
        "agreement": message_frames.AGREEMENT_AT - start,
        "call": message_frames.CALL_AT - start,
    }
    assert at["data"] == f"{message_frames.ENVELOPE_END_AT - start}, or {message_frames.DATA_AT - start}"


def test_the_acknowledgement_layout() -> None:
    rows = {row[0]: row[1:3] for row in table("in an `ACKNOWLEDGEMENT`", "bytes", "byte", "meaning")}
    start, seen, grants = message_frames.SEEN_AT, message_records.SEEN_PACKETS // 8, message_frames.GRANTS_AT
    assert rows["seen"] == [str(seen), "0"]
    assert rows["grants"] == [f"{message_frames.GRANTS} x {message_frames.GRANT_BYTES}", str(grants - start)]
