"""Handlers in C beside their Python twins; needs Debian's RISC-V compiler and unicorn."""

from __future__ import annotations

from pathlib import Path

import pytest

from pspin_model.machine import RTL_COSTS
from pspin_model.riscv.core import CODE, HandlerFault, RiscvCore
from pspin_model.riscv.toolchain import compile_handler, missing
from pspin_model.riscv.twins import TWINS, compare_twin

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize("name", list(TWINS))
def test_c_and_python_agree_on_results_and_nearly_on_cycles(name: str) -> None:
    twin = compare_twin(name, 1024)
    assert twin.same_result
    assert twin.c.cycles == pytest.approx(twin.python_cycles, rel=0.25)
    assert twin.c.instructions == pytest.approx(twin.python_instructions, rel=0.25)


def test_a_c_handler_that_reads_where_nothing_is_says_where(tmp_path: Path) -> None:
    source = tmp_path / "wild.c"
    source.write_text('#include "handler.h"\nvoid handler(const task_t *t) { *(volatile int *)0x40 = 1; }\n')
    core = RiscvCore(compile_handler(source, CODE), RTL_COSTS)
    with pytest.raises(HandlerFault, match="0x1d"):
        core.run(0)
