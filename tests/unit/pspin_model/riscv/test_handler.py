"""Handlers in C, instruction by instruction, beside their Python twins; needs Debian's RISC-V compiler and unicorn."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pspin_model.examples.run import run_example
from pspin_model.machine import RTL_COSTS, Context, Machine, MachineConfig, Run
from pspin_model.riscv.emulator import Emulator
from pspin_model.riscv.handler import MOST_TEXTS, CProgram, c_handler
from pspin_model.riscv.toolchain import ToolchainError, missing
from pspin_model.riscv.twins import TWINS, TwinError, compare, compare_twin, parts_in_c
from tests.clients.command import Result, netsum

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

README = Path(__file__).resolve().parents[4] / "pspin_model" / "README.md"


def written(folder: Path, body: str) -> Path:
    """A C file that includes the header."""
    source = folder / "mine.c"
    source.write_text(f'#include "handler.h"\n{body}\n')
    return source


def call(*options: str) -> Result:
    """`netsum pspin riscv` in this process."""
    return netsum("pspin", "riscv", *options)


def played(program: CProgram, packets: int, *, kinds: bool = False) -> tuple[Run, Context]:
    """Packets of 64 bytes 7, 7, .. of a message each (of one, with header and completion handlers)."""
    machine = Machine(MachineConfig(handler_limit=20_000))
    context = machine.context(
        "c", payload=program.handler(), scratchpad_bytes=256, handler_memory_bytes=64, host_bytes=64, locks=2,
        header=program.handler("begin") if kinds else None, completion=program.handler("finish") if kinds else None,
    )  # fmt: skip
    messages = [0] * packets if kinds else list(range(packets))
    machine.inject(context, messages, np.full((packets, 64), 7, np.uint8), tags=np.arange(packets) + 5)
    return machine.run(), context


@pytest.mark.parametrize("name", list(TWINS))
def test_c_and_python_agree_on_results_and_nearly_on_cycles(name: str) -> None:
    twin = compare_twin(name, 1024)
    assert twin.same_result
    assert twin.python is not None
    assert twin.c.cycles == pytest.approx(twin.python.cycles, rel=0.25)
    assert twin.c.instructions == pytest.approx(twin.python.instructions, rel=0.25)


def test_an_example_runs_its_c_code_for_every_packet() -> None:
    rows, run, machine = run_example("reduce", 2, 8, 128, 5, parts=parts_in_c("reduce"))
    plain, _, reference = run_example("reduce", 2, 8, 128, 5)
    assert not run.faults
    mine, theirs = (each.contexts[0].scratchpads.view(np.int32).sum(axis=0) for each in (machine, reference))
    assert mine.any()
    assert (mine == theirs).all()
    assert rows[0].handler_instructions == compare_twin("reduce", 128).c.instructions
    assert rows[0].throughput_gbps == pytest.approx(plain[0].throughput_gbps, rel=0.25)


def test_an_example_without_c_code_says_so() -> None:
    with pytest.raises(ToolchainError, match="empty"):
        parts_in_c("empty")


def test_constants_variables_floats_and_long_divisions_are_there(tmp_path: Path) -> None:
    source = written(
        tmp_path,
        """
        static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
        static const char *const names[2] = {"a", "bc"};
        static int counter = 5, zeros[40];
        static volatile float scale = 2.5f;
        void handler(const task_t *task)
        {
            int32_t *out = task->scratchpad;
            for (int i = 0; i < 8; i++)
                out[0] += table[i];
            out[1] = ++counter + ++zeros[counter];
            out[2] = (int)(scale * (float)task->packet_bytes);
            out[3] = (int32_t)(1000000000000ull / (task->packet_bytes * 1000003u));
            out[4] = names[task->packet[0] & 1][1];
        }
        """,
    )
    run, context = played(CProgram(source), 1)
    assert not run.faults
    assert context.scratchpads[0].view(np.int32)[:5].tolist() == [31, 7, 160, 1000000000000 // 64000192, ord("c")]


def test_instructions_cost_what_they_reach_and_an_interrupt_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = "volatile int32_t *words = (volatile int32_t *)task->handler_memory; words[0] = words[1];"
    moving = c_handler(written(tmp_path, f"void handler(const task_t *task) {{ {move} }}"))
    ran = compare(moving, None, 64).c
    c = RTL_COSTS  # the pointer and the word, each needed at once; the write; the return
    assert ran.instructions == 4
    assert ran.cycles == c.load + c.load_use + c.l2_load + c.load_use + c.l2_store + c.jump

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Emulator, "go_on", interrupted)
    with pytest.raises(TwinError, match="KeyboardInterrupt: interrupted"):
        compare(moving, None, 64)


def test_an_access_across_words_and_one_to_another_cluster_cost_more(tmp_path: Path) -> None:
    def cycles(place: str) -> int:
        body = f"void handler(const task_t *task) {{ volatile int *at = (volatile int *)({place}); (void)*at; }}"
        ran = compare(c_handler(written(tmp_path, body)), None, 64).c
        return ran.cycles - ran.instructions

    assert cycles("(char *)task->scratchpad + 5") == cycles("(char *)task->scratchpad + 4") + 1
    of_cluster = "task->scratchpads + task->scratchpad_stride * (task->packet_bytes - {})"
    assert cycles(of_cluster.format(63)) == cycles(of_cluster.format(64)) + RTL_COSTS.l2_load - RTL_COSTS.load


def test_texts_of_faults_do_not_pile_up(tmp_path: Path) -> None:
    program = CProgram(written(tmp_path, "void handler(const task_t *task) { *(volatile int *)(task->tag * 64) = 1; }"))
    for number in range(MOST_TEXTS + 9):
        program._record(ValueError(str(number)))
    assert len(program._told) == MOST_TEXTS
    run, _ = played(program, 5)
    assert len({fault.text for fault in run.faults}) == 5
    assert len(program._told) == 5


def test_a_c_handler_calls_the_machine(tmp_path: Path) -> None:
    source = written(
        tmp_path,
        """
        static int seen;
        void begin(const task_t *task) { seen = 100; }
        void handler(const task_t *task)
        {
            int32_t *home = scratchpad_of(task, task->home_cluster);
            lock(0);
            seen++;
            unlock(0);
            if (try_lock(1))
                unlock(1);
            dma_wait(dma(task->handler_memory, task->packet, task->packet_bytes));
            atomic_add(&home[0], task->handler_memory[63]);
            atomic_max(&home[1], (int32_t)task->tag);
            uint64_t before = now();
            wait(send_packet(task->packet, 8, task->tag | 1ull << 40, 3));
            atomic_max(&home[2], (int32_t)(now() - before));
        }
        void finish(const task_t *task)
        {
            wait(write_to_host(8, 0x100000000ull + seen));
            wait(copy_to_host(task->handler_memory, 8, 16));
        }
        """,
    )
    run, context = played(CProgram(source), 4, kinds=True)
    assert not run.faults
    sums, largest, waited = context.scratchpads[0].view(np.int32)[:3].tolist()
    assert (sums, largest) == (4 * 7, 8)
    assert waited > 10
    assert sorted(run.sent["tag"].tolist()) == [(1 << 40) + tag for tag in (5, 6, 7, 8)]
    assert run.sent["port"].tolist() == [3] * 4
    assert run.payload(0).tolist() == [7] * 8
    assert context.host.view(np.int64)[1] == (1 << 32) + 104
    assert context.host[16:24].tolist() == [7] * 8


FAULTS = {
    "a write behind its scratchpad": (
        "task->scratchpad[64] = 1;",
        r"handler \(mine.c:4\) wrote 4 bytes at the scratchpad of cluster 0 \+ 0x100, which has 256 bytes",
    ),
    "a read before its handler memory": (
        "task->scratchpad[0] = *(task->handler_memory - 2);",
        r"read 1 bytes at the handler memory - 0x2, which has 64 bytes",
    ),
    "nothing there": ("*(volatile int *)0x40 = 1;", r"wrote 4 bytes at 0x40, which is in no memory of its context"),
    "a constant": (
        "*(volatile int *)&constants[task->cluster] = 1;",
        r"at the code and constants \+ 0x\w+, which it may not write",
    ),
    "no code": ("((void (*)(void))(task->packet))();", r"called the packet \+ 0x0"),
    "its stack": ("task->scratchpad[0] = deep(100);", r"deep \(mine.c:2\): its stack of 4096 bytes is full"),
    "a command for its stack": (
        "int here = 1; send_packet(&here, 4, 0, 0);",
        r"handler \(mine.c:4\): a command's 4 bytes at the stack \+ 0x\w+",
    ),
    "no end": (
        "for (;;) deep(0);",
        r"did not return in time \(handler_limit\); it was in (handler|deep) \(mine.c:\d\)",
    ),
    "an instruction that is not there": ("__builtin_trap();", r"handler \(mine.c:4\): "),
    "its own": ("fail(9);", "failed with code 9"),
    "a lock": ("lock(0);", "returned holding 1 lock"),
    "a call that is not there": ("netsum_call(99, 0);", r"handler \(mine.c:4\): the machine has no call 99"),
    "a handle of no copy": ("dma_wait(3);", "dma_wait: this core was given no such handle"),
}


def test_what_a_c_handler_must_not_do_is_told_by_function_line_and_place(tmp_path: Path) -> None:
    """All in one program: the message's number says which fault it makes."""
    cases = " ".join(f"case {number}: {code} break;" for number, (code, _) in enumerate(FAULTS.values()))
    deep = "volatile char a[99]; a[0] = 1; return n ? deep(n - 1) + a[0] : 0;"
    source = written(
        tmp_path,
        f"static __attribute__((noinline)) int deep(int n) {{ {deep} }}\n"
        "static const int constants[8] = {3, 3, 3, 3};\n"
        f"void handler(const task_t *task) {{ switch (task->message) {{ {cases} }}\n"
        "    task->scratchpad[3] = constants[task->cluster]; }",
    )
    run, context = played(CProgram(source), len(FAULTS) + 1)
    told = {fault.message: fault.text for fault in run.faults}
    assert sorted(told) == list(range(len(FAULTS)))
    for number, (_, text) in enumerate(FAULTS.values()):
        assert re.search(text, told[number]), told[number]
    assert context.scratchpads[len(FAULTS) % 4].view(np.int32)[3] == 3  # the machine went on
    assert context.scratchpads[1].view(np.int32)[0] == 0  # and what was written behind cluster 0's was undone


def test_an_invalid_handler_source_is_refused_with_the_compilers_error(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"mine.c:2:\d+: error: 'unknown' undeclared"):
        c_handler(written(tmp_path, "void handler(const task_t *task) { unknown = 1; }"))
    with pytest.raises(ToolchainError, match="no function 'handler'"):
        c_handler(written(tmp_path, "void other(const task_t *task) {}"))
    with pytest.raises(ToolchainError, match="constructors"):
        c_handler(
            written(
                tmp_path, "int a; __attribute__((constructor)) void b(void) { a = 1; } void handler(const task_t *t) {}"
            )
        )


def test_the_readmes_c_handler_and_its_twin_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = README.read_text()
    (c,) = re.findall(r"^```c\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (python,) = (each for each in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "def peaks" in each)
    (tmp_path / "peaks.c").write_text(c)
    (tmp_path / "peaks.py").write_text(python)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    done = call("peaks.c", "--twin", "peaks:peaks", "--size", "256", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["rows"]
    assert row["same_result"] is True
    assert row["c_instructions"] > 400
    assert list(row) == [
        "handler", "size_bytes", "same_result", "c_instructions", "c_cycles", "python_instructions", "python_cycles",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["nothing"], "no handler 'nothing'"),
        (["nothing.c"], "nothing.c: no such file"),
        (["reduce", "--twin", "a:b"], "--twin is for a C file of your own"),
    ],
)
def test_the_command_refuses_in_one_line(given: list[str], why: str) -> None:
    done = call(*given)
    assert done.exit_code == 2
    assert f"netsum pspin riscv: {why}" in done.stderr
