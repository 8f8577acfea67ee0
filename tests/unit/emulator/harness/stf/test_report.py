"""Comparing what came out, and the text of a failure."""

from __future__ import annotations

import pytest

from emulator.harness.stf.compare import compare, first_difference
from emulator.harness.stf.report import failure_lines
from emulator.harness.stf.run import Output, Record, Wrong
from emulator.harness.stf.steps import Plan
from emulator.harness.stf.syntax import Expect


@pytest.mark.parametrize(
    ("nibbles", "whole", "received", "at"),
    [
        ("01", False, "0102", None),
        ("01", True, "0102", 2),
        ("0102", True, "0102", None),
        ("0102", False, "01", 2),
        ("0*0*", True, "0f0e", None),
        ("0*03", False, "0f0e", 3),
        ("", False, "00", None),
        ("", True, "00", 0),
        ("123", False, "1234", None),
    ],
)
def test_prefixes_wildcards_and_lengths(nibbles: str, whole: bool, received: str, at: int | None) -> None:
    assert first_difference(Expect(1, 0, nibbles, whole), received) == at


def plan(*expects: Expect, ports: tuple[int, ...] = ()) -> Plan:
    return Plan((), expects, frozenset(e.port for e in expects) | frozenset(ports), 0)


def test_packets_are_compared_in_order_and_number_for_each_port() -> None:
    expects = (Expect(3, 1, "aa", False), Expect(4, 2, "bb", False), Expect(5, 1, "cc", False))
    outputs = [Output(1, b"\xaa", 2), Output(1, b"\xcc", 2), Output(2, b"\xbb", 2), Output(9, b"\0", 2)]
    assert compare(plan(*expects), Record(outputs)) == []
    lost = compare(plan(*expects), Record(outputs[1:]))
    assert [(f.line, f.port, f.index) for f in lost] == [(3, 1, 0), (5, 1, 1)]
    assert "nothing received; 2 expected and 1 received by port 1" in lost[1].message
    more = compare(plan(ports=(1,)), Record(outputs[:1]))
    assert [(f.line, f.port, f.index, f.received) for f in more] == [(2, 1, 0, "aa")]


def test_everything_that_is_wrong_comes_in_one_list_by_line() -> None:
    record = Record([Output(1, b"\0", 8)], [Wrong(9, "later"), Wrong(2, "first")])
    failures = compare(plan(Expect(5, 1, "01", False)), record)
    assert [f.line for f in failures] == [2, 5, 9]


def test_a_failure_shows_nibbles_aligned_and_marks_the_difference() -> None:
    received = bytes(range(40))
    expect = Expect(7, 1, received.hex()[:66] + "ff", False)
    (failure,) = compare(plan(expect), Record([Output(1, received, 3)]))
    assert list(failure_lines("t.stf", failure)) == [
        "t.stf:7: port 1, packet 0: differs at nibble 66 (byte 33)",
        "     0",
        "    expected  0001 0203 0405 0607 0809 0a0b 0c0d 0e0f 1011 1213 1415 1617 1819 1a1b 1c1d 1e1f",
        "    received  0001 0203 0405 0607 0809 0a0b 0c0d 0e0f 1011 1213 1415 1617 1819 1a1b 1c1d 1e1f",
        "    32",
        "    expected  20ff",
        "    received  2021 2223 2425 2627",
        "                ^^",
    ]


def test_missing_and_surplus_nibbles_are_marked() -> None:
    short = compare(plan(Expect(1, 1, "0102", False)), Record([Output(1, b"\1", 3)]))[0]
    assert list(failure_lines("t", short))[-1] == "                ^^"
    long = compare(plan(Expect(1, 1, "01", True)), Record([Output(1, b"\1\2", 3)]))[0]
    assert list(failure_lines("t", long))[-1] == "                ^^"
    assert "too long: 4 nibbles received, 2 expected" in long.message


def test_a_surplus_packet_is_shown() -> None:
    failure = compare(plan(ports=(1,)), Record([Output(1, b"\1\2\3", 3)]))[0]
    first, *rest = failure_lines("t", failure)
    assert first.startswith("t:3: port 1, packet 0: nothing expected, received after the packet of line 3; ")
    assert first.endswith("0 expected and 1 received by port 1")
    assert rest == ["    received  0102 03"]
