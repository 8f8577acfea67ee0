"""The collection of packet tests itself; the tests run as pytest finds their ``.stf`` files."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "stf"
AT_LEAST = 250
"""Programs; fewer means that a folder has been lost."""


def stems(suffix: str) -> set[str]:
    found = {p.relative_to(FOLDER).with_suffix("") for p in FOLDER.rglob(f"*{suffix}")}
    return {str(p) for p in found if p.parts[0] != "include"}


def test_every_program_has_a_test_and_every_test_a_program() -> None:
    assert stems(".p4") == stems(".stf")
    assert len(stems(".p4")) >= AT_LEAST


def test_every_program_says_first_what_it_is_about() -> None:
    without = [name for name in sorted(stems(".p4")) if not (FOLDER / f"{name}.p4").read_text().startswith("/* ")]
    assert not without
