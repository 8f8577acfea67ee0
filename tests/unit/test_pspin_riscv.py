"""Handlers in C beside their Python twins; needs Debian's RISC-V compiler and unicorn."""

from __future__ import annotations

from pathlib import Path

import pytest

from pspin_model.examples.run import run_example
from pspin_model.machine import RTL_COSTS
from pspin_model.riscv.core import CODE, HandlerFault, RiscvCore
from pspin_model.riscv.timed import timed_in_c
from pspin_model.riscv.toolchain import ToolchainError, compile_handler, missing
from pspin_model.riscv.twins import TWINS, compare_twin

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize("name", list(TWINS))
def test_c_and_python_agree_on_results_and_nearly_on_cycles(name: str) -> None:
    twin = compare_twin(name, 1024)
    assert twin.same_result
    assert twin.c.cycles == pytest.approx(twin.python_cycles, rel=0.25)
    assert twin.c.instructions == pytest.approx(twin.python_instructions, rel=0.25)


def test_an_example_runs_at_the_cost_of_its_c_code() -> None:
    rows, run, machine = run_example("reduce", 2, 8, 128, 5, parts=timed_in_c("reduce", 128))
    plain, _, reference = run_example("reduce", 2, 8, 128, 5)
    assert not run.faults
    assert (machine.contexts[0].scratchpads == reference.contexts[0].scratchpads).all()
    assert rows[0].handler_instructions == compare_twin("reduce", 128).c.instructions
    assert rows[0].throughput_gbps == pytest.approx(plain[0].throughput_gbps, rel=0.25)


def test_an_example_without_c_code_says_so() -> None:
    with pytest.raises(ToolchainError, match="empty"):
        timed_in_c("empty", 64)


def test_a_c_handler_that_reads_where_nothing_is_says_where(tmp_path: Path) -> None:
    source = tmp_path / "wild.c"
    source.write_text('#include "handler.h"\nvoid handler(const task_t *t) { *(volatile int *)0x40 = 1; }\n')
    core = RiscvCore(compile_handler(source, CODE), RTL_COSTS)
    with pytest.raises(HandlerFault, match="0x1d"):
        core.run(0)
