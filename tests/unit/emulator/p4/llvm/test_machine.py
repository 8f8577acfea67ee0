"""How much code is generated for repetitive programs, and that the result is the same."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from emulator.p4 import ir
from emulator.p4.llvm import machine, sharing
from emulator.p4.llvm.machine import Effort
from emulator.switch.control import Exact, TableEntry
from emulator.v1model.compiled import generate
from hostagent.cli.bench.large_program import program_of
from tests.programs.p4_programs import binary, const, header_type, make_program, ref, run_both, send_to, var
from tests.programs.text import PARSER, compile_text, program

Op = ir.BinaryOp
DATA = ir.Header("hdr.d", header_type("d_t", ("k", 8), ("x", 32), ("y", 32)))
K, X, Y = (ref(DATA, name) for name in "kxy")


def many_tables(count: int) -> ir.Program:
    """Each table runs the same long action, which may return early."""
    amount = var("amount", 32)
    steps = [ir.Assign(X, binary(Op.XOR, binary(Op.MUL, X, const(2 * i + 1, 32)), Y)) for i in range(60)]
    early = ir.If(binary(Op.EQ, amount, const(9, 32)), (ir.Return(),))
    long = ir.Action("long", (amount,), (ir.Assign(Y, binary(Op.ADD, Y, amount)), early, *steps))
    key = (ir.TableKey("k", K, "exact"),)
    listed = (ir.TableAction("long"), ir.TableAction("NoAction"))
    tables = [ir.Table(f"t{i}", key, listed, ir.ActionCall("NoAction"), False, 16) for i in range(count)]
    body = tuple(ir.ApplyTable(t.name) for t in tables)
    return make_program([DATA], (send_to(1), *body), actions=[long], tables=tables)


def module_lines(program: ir.Program) -> int:
    return generate(program)[1].count("\n")


def test_long_actions_of_many_tables_are_written_once() -> None:
    few, many = many_tables(3), many_tables(48)
    assert sharing.shared_actions(few) == frozenset()
    assert sharing.shared_actions(many) == {"long"}
    assert module_lines(many) < 4 * module_lines(few)


def test_shared_actions_do_what_repeated_ones_do() -> None:
    program = many_tables(48)

    def prepare(switch) -> None:
        for table in range(0, 48, 5):
            for value in range(3):
                switch.insert_entry(table + 1, TableEntry((Exact(1, value),), 0, 2, ((table * 7 + value) % 11,)))

    frames = [bytes([k]) + b"\x12\x34\x56\x78" + bytes(4) for k in range(5)]
    result = run_both(program, frames, prepare=prepare)
    assert len(set(result.frames[0][1])) == 5


@pytest.mark.parametrize("effort", Effort)
def test_every_effort_of_llvm_does_the_same(effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "effort_for", lambda text: effort)
    run_both(many_tables(3), [bytes([k]) + bytes(range(8)) for k in range(3)])


@pytest.mark.parametrize("most", [0, 1 << 30], ids=["slots in memory", "slots as values"])
def test_where_too_many_values_meet_they_stay_in_memory(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SURELY_FEW", 0)
    monkeypatch.setattr(machine, "MOST_MERGED", most)
    taken: list[tuple[str, ...]] = []
    run = machine._run

    def noted(names: tuple[str, ...], *rest: Any) -> Any:
        taken.append(names)
        return run(names, *rest)

    monkeypatch.setattr(machine, "_run", noted)
    run_both(many_tables(3), [bytes([k]) + bytes(range(8)) for k in range(3)])
    assert (machine.MEMORY_PASSES in taken) == (most == 0)


@pytest.mark.parametrize(("lines", "effort"), [(9_000, Effort.FULL), (20_000, Effort.LIGHT), (90_000, Effort.LEAST)])
def test_effort_depends_on_size(lines: int, effort: Effort) -> None:
    assert machine.effort_for("\n" * lines) is effort


def test_the_benchmarks_large_program_is_right_and_as_long_as_asked() -> None:
    text = program_of(2_000)
    assert 2_000 <= text.count("\n") < 2_050
    checked = compile_text(text)
    assert not checked.warnings
    assert len(checked.program.tables) == text.count(".apply().hit")


def test_only_cells_that_may_be_out_of_range_are_checked() -> None:
    reads = "".join(f"r.read(meta.m8, {index}); r.write({index}, meta.m8);" for index in ("3", "4", "meta.m32"))
    code = generate(compile_text(program(local="register<bit<8>>(4) r;", apply=reads)).program)[1]
    assert len(re.findall(r"^out_of_range.*:$", code, re.MULTILINE)) == 4


def test_a_select_of_very_many_cases_that_lead_to_the_same_place() -> None:
    """LLVM would end the process over as many branches."""
    cases = " ".join(f"({i}, {i} &&& 15): s{i % 3};" for i in range(1_100))
    states = "state s0 { transition s1; } state s1 { transition s2; } state s2 { transition accept; }"
    start = f"transition select(hdr.one.c, hdr.one.b) {{ {cases} default: accept; }} }} {states} }}"
    parser = PARSER.replace("transition accept; }\n}", start)
    assert machine.make_object(generate(compile_text(program(parser=parser)).program)[1])


def test_a_block_that_is_left_in_very_many_places() -> None:
    """LLVM would end the process over so many returns in a row."""
    leaving = "".join(f"if (hdr.one.{'ab'[i % 2]} == {i // 5}) {{ return; }}" for i in range(1_040))
    assert machine.make_object(generate(compile_text(program(apply=leaving)).program)[1])


def test_code_is_loaded_whatever_else_is_mapped() -> None:
    """Text and constants refer to each other within 2 GiB, and holes between mappings may be further apart."""
    script = """
import mmap
from emulator.p4.llvm import machine
text = "@t = internal constant [16384 x i64] [%s]" % ", ".join(f"i64 {i * i}" for i in range(16384))
text += " define i64 @f(i64 %x) { %p = getelementptr [16384 x i64], ptr @t, i64 0, i64 %x"
text += " %v = load i64, ptr %p ret i64 %v }"
code = machine.make_object(text)
far = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
kept = [machine.LoadedCode(code, "f") for _ in range(100)]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
