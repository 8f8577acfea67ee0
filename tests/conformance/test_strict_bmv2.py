"""``--strict-bmv2``: refuses what p4c's bmv2 back end refuses, which is compiled without it; and nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.p4.errors import CompileError, Kind
from emulator.p4.frontend import compile_source
from emulator.p4.library import find_program, shipped_programs
from emulator.v1model.architecture import V1MODEL
from emulator.v1model.strict import check_strict
from emulator.v1model.strict.blocks import masks_of_range
from tests.programs.corpus import Case, errors_of, read_cases

CASES = [case for path in sorted((Path(__file__).parent / "strict").glob("*.p4")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(case: Case) -> None:
    assert errors_of(case) == []
    found = errors_of(case, (check_strict,))
    assert sorted((line, kind) for line, kind, _ in found) == sorted(case.expected), found


def test_a_program_without_main_is_refused() -> None:
    with pytest.raises(CompileError) as caught:
        compile_source("#include <v1model.p4>\n", architecture=V1MODEL, needs_main=False, more_checks=(check_strict,))
    assert [(d.kind, "'main'" in d.message) for d in caught.value.diagnostics] == [(Kind.TARGET, True)]


@pytest.mark.parametrize("name", shipped_programs())
def test_what_we_ship_is_accepted(name: str) -> None:
    compile_source(find_program(name), architecture=V1MODEL, more_checks=(check_strict,))


def test_the_aggregator_is_accepted_with_frames_for_ethernet() -> None:
    compile_source(
        find_program("allreduce.p4"), architecture=V1MODEL, defines={"LANES": "336"}, more_checks=(check_strict,)
    )


@pytest.mark.parametrize(("low", "high", "count"), [(0, 255, 1), (1, 254, 14), (5, 5, 1), (0, 6, 3), (4, 8, 2)])
def test_masks_of_a_range(low: int, high: int, count: int) -> None:
    assert masks_of_range(low, high, 8) == count


STF = Path(__file__).parent / "stf"
BEYOND_BMV2 = frozenset((
    "applications/telemetry", "expressions/concatenation", "expressions/division", "externs/random_both_ends",
    "parsers/externs_in_states", "parsers/packet_length", "statements/break_and_continue",
    "statements/exit_in_nested_loops", "statements/for_in_list", "statements/for_in_range", "statements/for_in_stack",
    "statements/for_loop", "statements/switch_on_error", "statements/switch_on_signed", "tables/action_parameter_types",
    "tables/applied_twice", "tables/kinds_of_key_types", "types/generic_structs",
))  # fmt: skip
"""Packet tests' programs that use what p4c's back end for bmv2 lacks; p4c compiles all others."""


def test_packet_tests_compile_for_bmv2() -> None:
    refused = set()
    for path in STF.rglob("*.p4"):
        name = str(path.relative_to(STF).with_suffix(""))
        if not name.startswith("include/"):
            try:
                compile_source(str(path), architecture=V1MODEL, more_checks=(check_strict,))
            except CompileError:
                refused.add(name)
    assert refused == BEYOND_BMV2
