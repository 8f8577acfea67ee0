"""p4runtime-shell as a process that is typed at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.p4runtime import shell

ROOT = Path(__file__).resolve().parents[2]


needs_shell = pytest.mark.skipif(
    not (shell.SHELL_VENV / "bin" / "python").exists(), reason="no .venv-shell: run `make setup`"
)


def play(address: str, folder: Path, script: str, *more: str) -> str:
    """Type a script into ``netsum shell``; returns all it printed."""
    arguments = [address, 0, shell.DEFAULT_ELECTION_ID, list(more)]
    done = subprocess.run(
        [sys.executable, "-c", f"from emulator.p4runtime.shell import run_shell; exit(run_shell(*{arguments!r}))"],
        input=script + "\nexit\n",
        cwd=ROOT,
        env={**os.environ, "IPYTHONDIR": str(folder), "IPY_TEST_SIMPLE_PROMPT": "1", "TERM": "dumb", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
