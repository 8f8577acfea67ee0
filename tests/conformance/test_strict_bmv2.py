"""``--strict-bmv2``: refuses what p4c's bmv2 back end refuses, which is compiled without it; and nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", shipped_programs())
def test_what_we_ship_is_accepted(name: str) -> None:
    compile_source(find_program(name), architecture=V1MODEL, more_checks=(check_strict,))


@pytest.mark.parametrize(("low", "high", "count"), [(0, 255, 1), (1, 254, 14), (5, 5, 1), (0, 6, 3), (4, 8, 2)])
def test_masks_of_a_range(low: int, high: int, count: int) -> None:
    assert masks_of_range(low, high, 8) == count
