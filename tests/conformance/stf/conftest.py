"""Every ``.stf`` in this folder is a test: its program (the ``.p4`` of the same name) on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from emulator.harness.egress_rings import Rings
from emulator.harness.stf.command import result_lines
from emulator.harness.stf.runner import Runner
from emulator.p4.errors import CompileError


@cache
def shared_rings() -> Rings:
    return Rings()


class NotHeld(Exception):
    """The text says what was expected and what came."""


class PacketTest(pytest.Item):
    """One program with its test, on both engines."""

    def runtest(self) -> None:
        runner = Runner(str(self.path.with_suffix(".p4")), engine="both", rings=shared_rings())
        results = runner.run_file(str(self.path))
        lines = [f"[{r.engine}] {line}" for r in results if not r.held for line in result_lines(r)]
        if lines:
            raise NotHeld("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, NotHeld | CompileError):
            return str(excinfo.value)
        return str(excinfo.getrepr(style="short", tbfilter=lambda e: e.traceback.cut(path=__file__)))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class PacketTestFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield PacketTest.from_parent(self, name=self.path.stem)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return PacketTestFile.from_parent(parent, path=file_path) if file_path.suffix == ".stf" else None
