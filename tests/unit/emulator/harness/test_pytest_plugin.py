"""The pytest plugin as a user runs it: a folder of their own, options, failures that end at the test's line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = ROOT / "tests" / "programs" / "harness_program.p4"
README = ROOT / "emulator" / "harness" / "README.md"
TEST = """
def test_it_passes(p4_switch):
    switch = p4_switch("program.p4")
    switch.table("hosts").add({"destination": "02:00:00:00:00:02"}, "forward", port=2)
    switch.send(1, "020000000002 020000000001 0800")
    switch.expect(2, "020000000002 020000000001 0800")

def test_it_fails(p4_switch):
    switch = p4_switch("program.p4")
    switch.send(1, "020000000002 020000000001 0800")
    switch.expect(2, "020000000002 020000000001 0800")

def test_its_own_assert(p4_switch):
    switch = p4_switch("program.p4")
    switch.send(1, "020000000003 020000000001 0800")
    assert switch.counts == {}

def test_a_wrong_name(p4_switch):
    p4_switch("program.p4").table("hots")

def test_a_wrong_program(p4_switch):
    p4_switch("wrong.p4")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("user")
    (made / "program.p4").write_text(PROGRAM.read_text())
    (made / "wrong.p4").write_text("#include <core.p4>\ncontrol c() { apply { x = 1; } }\n")
    (made / "test_mine.py").write_text(TEST)
    first_program, first_test = re.findall(r"```(?:p4|python)\n(.*?)```", README.read_text(), re.DOTALL)[:2]
    for name, text in (("hub.p4", first_program), ("test_hub.py", first_test)):
        assert text == (ROOT / "p4src" / "examples" / name).read_text(), f"README and {name} differ"
        (made / name).write_text(text)
    return made


def run(folder: Path, *options: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        [*command, "test_mine.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=110
    )
    return done.stdout + done.stderr


def test_failures_end_at_the_tests_line_and_coverage_is_written(folder: Path) -> None:
    text = run(folder, "-n0", "--p4-coverage", "--p4-engine=interpreter", "test_hub.py")
    assert "4 failed, 3 passed" in text, "the two of the README's first page pass"
    assert "test_mine.py:11: ExpectationFailed" in text
    assert "test_mine.py:19: WrongTest" in text
    assert "test_mine.py:22: CompileError" in text
    assert "wrong.p4:2:23: error" in text
    assert "Captured P4 walk call" in text
    assert "the packet sent to port 1 at test_mine.py:15:\n  dropped by ingress at program.p4:" in text
    assert "Did you mean 'MyIngress.hosts'" in text
    assert "miss (the table is empty) -> MyIngress.drop()" in text
    assert "site-packages" not in text
    assert "never: program.p4:" in text
    assert "transition select" in (folder / "p4-coverage" / "index.html").read_text()


def test_coverage_of_several_processes_is_one(folder: Path) -> None:
    text = run(folder, "-n2", "--p4-coverage=both", "--tb=no")
    assert "start: default -> accept" not in (folder / "both" / "coverage.txt").read_text()
    assert "parser transitions     1 of 4" in text
    assert (folder / "both" / "coverage.json").exists()
