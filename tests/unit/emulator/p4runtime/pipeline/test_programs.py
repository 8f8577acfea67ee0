"""Programs in files: packages, beside what other tests say of source and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.p4.errors import CompileError
from emulator.p4runtime.pipeline.package import pack
from emulator.p4runtime.pipeline.programs import load_program
from emulator.p4runtime.process import SwitchOptions, compile_for

ROUTER = Path(__file__).parents[5] / "p4src" / "router.p4"


def test_a_package_is_a_program(tmp_path: Path) -> None:
    path = tmp_path / "router.zip"
    path.write_bytes(pack(ROUTER))
    assert load_program(str(path)).p4info == load_program(str(ROUTER)).p4info
    compiled = compile_for(SwitchOptions(program=str(path), engine="interpreter"))
    assert compiled is not None
    assert compiled.p4info.tables


def test_a_damaged_package_is_named(tmp_path: Path) -> None:
    path = tmp_path / "router.zip"
    path.write_bytes(pack(ROUTER)[:200])
    with pytest.raises(CompileError, match=r"router\.zip: "):
        load_program(str(path))
