"""``netsum compile``: the shipped programs, dumps after every stage and pass, P4Info files, and what goes wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from emulator.p4.library import ProgramNotFound, find_program, shipped_programs
from emulator.rpc.p4protos import p4info_pb2
from emulator.v1model.command import P4INFO_SUFFIXES, run_compile
from emulator.v1model.stages import PASSES
from tests.programs.text import program


def compiled(*arguments: str, **options: object) -> tuple[int, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    status = run_compile(*arguments, output=output, errors=errors, **options)  # type: ignore[arg-type]
    return status, output.getvalue(), errors.getvalue()


@pytest.mark.parametrize("name", PASSES)
def test_dump_after(name: str) -> None:
    status, text, errors = compiled("router.p4", dump_after=name)
    assert (status, errors) == (0, "")
    assert "routes" in text


@pytest.mark.parametrize("suffix", P4INFO_SUFFIXES)
def test_p4info_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"router{suffix}"
    assert compiled("router", p4info=str(path)) == (0, "", "")
    if suffix == ".bin":
        found = p4info_pb2.P4Info.FromString(path.read_bytes())
        assert [t.preamble.name for t in found.tables] == ["RouterIngress.routes", "RouterEgress.source_macs"]
    else:
        assert "RouterIngress.routes" in path.read_text()


def test_defines_and_include_folders(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "more.p4").write_text("const bit<8> MORE = N;\n")
    main = tmp_path / "main.p4"
    main.write_text('#include "router.p4"\n#include <more.p4>\n')
    folders = [str(tmp_path / "inc"), str(Path(find_program("router.p4")).parent)]
    assert compiled(str(main), defines={"N": "7"}, include_paths=folders)[0] == 0
    status, _, errors = compiled(str(main), include_paths=folders)
    assert status == 1
    assert "'N' is not declared" in errors
    assert "inc/more.p4:1:21" in errors


def test_what_only_the_engines_lack_is_refused_last_and_where_it_is_used(tmp_path: Path) -> None:
    declarations = """extern own_t { own_t(); bit<8> get(in bit<8> x); }
extern void own_function<T>(in T x);
struct pair_t { bit<8> x; bit<16> y; }
control Unreached() { own_t() o; apply { own_function(o.get(1)); } }"""
    local = "own_t() o; register<pair_t>(2) cells; table t { key = { meta.m8: exact; } actions = { NoAction; } }"
    source, written = tmp_path / "own.p4", tmp_path / "own.txtpb"
    source.write_text(program(declarations=declarations, local=local, apply="own_function(o.get(2)); t.apply();"))
    assert compiled(str(source), check_only=True)[0] == 0
    status, _, errors = compiled(str(source), p4info=str(written))
    assert (status, errors.count("error: ")) == (1, 3)
    assert "own_t.get() is not supported" in errors
    assert errors.endswith("3 errors: P4Info was written, machine code was not made\n")
    assert all(text in written.read_text() for text in ("I.cells", "pair_t", "I.t"))
    source.write_text(program(declarations=declarations))
    assert compiled(str(source))[0] == 0


@pytest.mark.parametrize("options", [{"check_only": True}, {"dump_after": "lower"}])
def test_what_goes_with_other_options_still_refuses_and_writes(options: dict[str, object], tmp_path: Path) -> None:
    written = tmp_path / "router.txtpb"
    assert compiled("router", p4info=str(written), **options)[0] == 0
    assert "RouterIngress.routes" in written.read_text()
    wrong = tmp_path / "wrong.p4"
    keys = "table t { key = { hdr.one.a: lpm; meta.m16: lpm; } actions = { NoAction; } }"
    wrong.write_text(program(local=keys, apply="t.apply();"))
    assert compiled(str(wrong), **options)[0] == 0
    status, _, errors = compiled(str(wrong), strict_bmv2=True, **options)
    assert status == 1
    assert "at most one lpm key" in errors


def test_wrong_arguments() -> None:
    assert compiled("router.p4", dump_after="nothing")[0] == 2
    assert compiled("router.p4", p4info="x.yaml")[0] == 2
    status, _, errors = compiled("missing.p4")
    assert status == 2
    assert "router.p4" in errors


def test_errors_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.p4"
    path.write_text("const bit<8> a = b;\nconst bit<8> c = ;\n")
    status, _, errors = compiled(str(path))
    assert status == 1
    assert "1 error: nothing was compiled" in errors


def test_library() -> None:
    assert {"allreduce.p4", "router.p4"} <= set(shipped_programs())
    assert find_program("router") == find_program("router.p4")
    with pytest.raises(ProgramNotFound):
        find_program("no/such.p4")
    with pytest.raises(ProgramNotFound, match="is a folder"):
        find_program(str(Path(find_program("router.p4")).parent))
