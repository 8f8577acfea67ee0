"""``netsum compile`` a second time: answered from the cache, and only where the cache knows the whole answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.v1model.command import run_compile
from hostagent.cli.quick import answer_from_cache
from tests.programs.text import program

HEAVY = ("typer", "numba", "numpy", "google.protobuf", "emulator.p4.syntax.parse")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NETSUM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "small.p4"
    path.write_text(program())
    return path


def compile_once(path: Path, **options: object) -> None:
    assert run_compile(str(path), report=lambda _: None, **options) == 0  # type: ignore[arg-type]


def test_a_second_time(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer_from_cache(["compile", str(source)]) is None
    compile_once(source)
    info = tmp_path / "info.txtpb"
    assert answer_from_cache(["compile", str(source), "--p4info", str(info), "--json"]) == 0
    assert '"tables": 0' in capsys.readouterr().out
    assert 'arch: "v1model"' in info.read_text()


def test_a_changed_file_or_setting_is_compiled_anew(source: Path) -> None:
    compile_once(source)
    assert answer_from_cache(["compile", str(source), "-D", "A"]) is None
    assert answer_from_cache(["compile", str(source), "--strict-bmv2"]) is None
    source.write_text(program(local="action a() { }"))
    assert answer_from_cache(["compile", str(source)]) is None


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["compile"], ["compile", "--help"], ["compile", "a", "b"], ["run", "x"]]
)
def test_what_it_leaves_to_others(arguments: list[str]) -> None:
    assert answer_from_cache(arguments) is None


def test_nothing_large_is_loaded(source: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hostagent.cli.main", "compile", str(source)], check=True, capture_output=True
    )
    code = (
        "import sys; from hostagent.cli.quick import answer_from_cache; status = answer_from_cache(sys.argv[1:]);"
        f"print(status, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, "compile", str(source)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 []", done
