"""Transitions of old compilers; value sets with and without sizes, matched as the client's P4Info says."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.bmv2json.parsers import DEFAULT_VALUE_SET
from emulator.rpc.p4protos import p4info_pb2
from emulator.switch.control import ValueSetMember
from emulator.v1model.compiled import ENGINES
from tests.programs.bmv2_documents import Json, Running, document, extract, field, hexstr, state

A, B = field("h", "a"), field("h", "b")
MARK: list[Json] = [{"op": "set", "parameters": [B, hexstr(9)]}]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def parsed(transitions: list[Json], **more: Any) -> Json:
    made = document(**more)
    first = state("start", [extract("h")], transition_key=[A], transitions=transitions)
    made["parsers"][0]["parse_states"] = [first, state("mark", MARK)]
    return made


def test_transitions_without_a_type(engine: str) -> None:
    cases = [
        {"value": "0x01", "mask": None, "next_state": "mark"},
        {"value": "default", "mask": None, "next_state": None},
    ]
    running = Running(parsed(cases), engine)
    assert (running.one("01000000"), running.one("02000000")) == ("01090000", "02000000")


def test_a_value_set_matches_as_p4info_says(engine: str) -> None:
    cases = [{"type": "parse_vset", "value": "some", "mask": None, "next_state": "mark"}]
    made = parsed(cases, parse_vsets=[{"name": "some", "id": 0, "compressed_bitwidth": 8, "max_size": 4}])
    p4info = p4info_pb2.P4Info()
    p4info.CopyFrom(Running(made, engine).loaded.p4info)
    (value_set,) = p4info.value_sets
    value_set.match[0].match_type = p4info_pb2.MatchField.TERNARY
    running = Running(made, engine, p4info)
    running.switch.set_value_set(value_set.preamble.id, [ValueSetMember((0x10,), (0xF0,))])
    assert (running.one("1f000000"), running.one("2f000000")) == ("1f090000", "2f000000")


def test_a_value_set_without_a_size_has_the_default_one(engine: str) -> None:
    cases = [{"type": "parse_vset", "value": "some", "mask": None, "next_state": "mark"}]
    running = Running(parsed(cases, parse_vsets=[{"name": "some", "id": 0, "compressed_bitwidth": 8}]), engine)
    (value_set,) = running.loaded.p4info.value_sets
    assert value_set.size == DEFAULT_VALUE_SET


def test_a_loop_of_states_without_an_end_is_a_warning(engine: str) -> None:
    cases = [{"type": "default", "value": None, "mask": None, "next_state": "mark"}]
    made = parsed(cases)
    made["parsers"][0]["parse_states"][1]["transitions"][0]["next_state"] = "mark"
    (warning,) = Running(made, engine).loaded.warnings
    assert "a packet never leaves state mark" in warning
