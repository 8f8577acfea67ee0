"""Several hundred wrong programs: each error is reported on its line, with its kind, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.corpus import Case, errors_of, read_cases

WRONG = sorted((Path(__file__).parent / "wrong").glob("*.p4"))
LEGAL = sorted((Path(__file__).parent / "legal").glob("*.p4"))


def _cases(paths: list[Path]) -> list[Case]:
    return [case for path in paths for case in read_cases(path)]


@pytest.mark.parametrize("case", _cases(WRONG), ids=lambda case: case.name)
def test_wrong(case: Case) -> None:
    found = errors_of(case)
    assert sorted((line, kind) for line, kind, _ in found) == sorted(case.expected), found


@pytest.mark.parametrize("case", _cases(LEGAL), ids=lambda case: case.name)
def test_legal(case: Case) -> None:
    """Look-alikes of the wrong programs: nothing legal is refused."""
    assert errors_of(case) == []


def test_there_are_enough() -> None:
    assert len(_cases(WRONG)) >= 250
