"""The README's list of what shows that the reductions work names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
README = TESTS.parent / "pspin_model" / "flare" / "README.md"


def test_every_fact_to_meet_names_tests_that_there_are() -> None:
    rows = re.findall(r"^\| (\d+) [A-Za-z]", README.read_text(), re.MULTILINE)
    assert rows == [str(number) for number in range(1, 11)]
    there = {name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)\(", path.read_text())}
    named = set(re.findall(r"`(test_\w+)`", README.read_text()))
    assert named - there == set()
    assert len(named) > 20
