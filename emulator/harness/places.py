"""Lines of the test that called us."""

from __future__ import annotations

import sys
from pathlib import Path

OWN = str(Path(__file__).resolve().parents[1])
Place = tuple[str, int]


def test_place() -> Place:
    """(file, line) of the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


test_place.__test__ = False  # type: ignore[attr-defined]
