"""``pytest --p4-coverage[=FOLDER]``: counts in each process, adds up under xdist, writes text, JSON and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.harness.coverage.collect import Collector
from emulator.harness.coverage.items import Coverage
from emulator.harness.coverage.page import coverage_page
from emulator.harness.coverage.report import coverage_lines

HANDED_OVER = "netsum_p4_coverage"


class CoveragePlugin:
    """Registered when the option is given."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.collector = Collector()
        self._silent: list[str] = []
        """Workers of xdist that ended without handing over what they counted."""

    @property
    def coverage(self) -> Coverage:
        return self.collector.coverage

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[HANDED_OVER] = json.dumps(self.coverage.data())
            return
        if session.config.option.collectonly:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "index.html").write_text(coverage_page(self.coverage))
        (self.folder / "coverage.json").write_text(json.dumps(self.coverage.data(), indent=1))
        (self.folder / "coverage.txt").write_text("\n".join(coverage_lines(self.coverage)) + "\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker of xdist has ended."""
        found = getattr(node, "workeroutput", {}).get(HANDED_OVER)
        if found is None:
            self._silent.append(str(node.gateway.id))
        else:
            self.coverage.add(json.loads(found))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("P4 coverage")
        for line in coverage_lines(self.coverage):
            terminalreporter.write_line(line)
        for name in self._silent:
            terminalreporter.write_line(f"worker {name} ended without saying what it counted: its tests are missing")
        terminalreporter.write_line(f"page: {self.folder / 'index.html'}")
