"""``netsum compile`` a second time: answered from the cache if and only if the cache has the whole answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.v1model import command
from tests.clients.command import netsum
from tests.programs.text import program

HEAVY = ("numba", "numpy", "google.protobuf", "emulator.p4.syntax.parse")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NETSUM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "small.p4"
    path.write_text(program())
    return path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Programs that the compiler was called for."""
    found: list[str] = []
    original = command.run_compile

    def run_compile(path: str, **options: object) -> int:
        found.append(path)
        return original(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "run_compile", run_compile)
    return found


def test_a_second_time(source: Path, tmp_path: Path, compilations: list[str]) -> None:
    assert netsum("compile", source).exit_code == 0
    info = tmp_path / "info.txtpb"
    again = netsum("compile", source, "--p4info", info, "--json")
    assert again.exit_code == 0
    assert '"tables": 0' in again.stdout
    assert 'arch: "v1model"' in info.read_text()
    assert len(compilations) == 1


def test_a_changed_file_or_setting_is_compiled_again(source: Path, compilations: list[str]) -> None:
    words: list[list[str]] = [[], ["-D", "A"], ["--strict-bmv2"], ["--check-only"], ["-U", "B"]]
    for options in words:
        assert netsum("compile", source, *options).exit_code == 0
    assert len(compilations) == len(words)
    source.write_text(program(local="action a() { }"))
    assert netsum("compile", source).exit_code == 0
    assert len(compilations) == len(words) + 1


def test_nothing_large_is_loaded_the_second_time(source: Path) -> None:
    command_line = [sys.executable, "-m", "hostagent.cli.main", "compile", str(source)]
    subprocess.run(command_line, check=True, capture_output=True)
    code = (
        "import sys; from hostagent.cli.main import run; status = run(sys.argv[1:]);"
        f"print(status, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, "compile", str(source)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 []", done
