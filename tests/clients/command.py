"""The netsum command, run inside this process."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from unittest import mock

from hostagent.cli.main import run


@dataclass(frozen=True, slots=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams, one after the other."""
        return self.stdout + self.stderr


def netsum(*words: object) -> Result:
    """Run ``netsum WORDS``."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "stdout", out), mock.patch.object(sys, "stderr", err):
        try:
            status = run([str(word) for word in words])
        except SystemExit as ended:
            status = int(ended.code or 0)
    return Result(status, out.getvalue(), err.getvalue())
