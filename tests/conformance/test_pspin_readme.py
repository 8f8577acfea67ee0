"""The code in the README runs as it stands."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "pspin_model" / "README.md"


def test_the_code_in_the_readme_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    made = runpy.run_path(str(script))
    assert made["run"].faults == []
    assert made["sums"].scratchpads[0].view("float32")[:256].tolist() == list(range(256))
    assert "[]" in capsys.readouterr().out
