"""One core that runs RV32IMA code in an emulator library and counts instructions by class, at a cost table's cycles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pspin_model.machine.costs import CostTable
from pspin_model.riscv.toolchain import Program

CODE, L1, L2 = 0x1D00_0000, 0x1000_0000, 0x1C00_0000
"""Where program memory, the cluster's L1 and L2 handler memory begin."""
MEMORY_BYTES = 1 << 20
STACK_BYTES = 4096
LIMIT = 10_000_000
"""Instructions after which a handler counts as never returning."""

LOAD, STORE, BRANCH, JAL, JALR, ATOMIC, OP = 0x03, 0x23, 0x63, 0x6F, 0x67, 0x2F, 0x33


class HandlerFault(RuntimeError):
    """The handler touched memory that is not there, or did not return. Says where."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a run took."""

    instructions: int
    cycles: int
    classes: dict[str, int]


class RiscvCore:
    """Memory and registers of a core; `run` calls a handler."""

    def __init__(self, program: Program, costs: CostTable) -> None:
        import unicorn

        emulator: Any = unicorn
        self._costs = costs
        self._error: Any = emulator.UcError
        self._program = program
        self._machine: Any = emulator.Uc(emulator.UC_ARCH_RISCV, emulator.UC_MODE_RISCV32)
        for base in (CODE, L1, L2):
            self._machine.mem_map(base, MEMORY_BYTES)
        self._machine.mem_write(program.base, program.code)
        self._machine.hook_add(emulator.UC_HOOK_CODE, self._step)
        self._machine.hook_add(emulator.UC_HOOK_MEM_READ, self._read)
        self._classes: Counter[str] = Counter()
        self._previous: tuple[int, int] | None = None
        self._loaded = 0

    def write(self, address: int, data: bytes) -> None:
        """Put bytes into memory."""
        self._machine.mem_write(address, data)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory."""
        return bytes(self._machine.mem_read(address, size))

    def run(self, argument: int) -> Counted:
        """Call the handler with a pointer; returns when it returns."""
        from unicorn.riscv_const import UC_RISCV_REG_A0, UC_RISCV_REG_PC, UC_RISCV_REG_RA, UC_RISCV_REG_SP

        self._classes.clear()
        self._previous, self._loaded = None, 0
        back = CODE + MEMORY_BYTES - 16
        machine = self._machine
        machine.reg_write(UC_RISCV_REG_A0, argument)
        machine.reg_write(UC_RISCV_REG_RA, back)
        machine.reg_write(UC_RISCV_REG_SP, L1 + MEMORY_BYTES - STACK_BYTES)
        try:
            machine.emu_start(self._program.entry, back, count=LIMIT)
        except self._error as error:
            at = machine.reg_read(UC_RISCV_REG_PC)
            raise HandlerFault(f"the handler failed at {at:#x}: {error}") from error
        if machine.reg_read(UC_RISCV_REG_PC) != back:
            raise HandlerFault(f"the handler did not return within {LIMIT} instructions")
        self._settle(back)
        counts = {name: count for name, count in self._classes.items() if name != "load_use"}
        cycles = sum(count * int(getattr(self._costs, name)) for name, count in self._classes.items())
        return Counted(sum(counts.values()), cycles, dict(self._classes))

    def _read(self, machine: Any, access: int, address: int, size: int, value: int, data: Any) -> None:
        if L2 <= address < L2 + MEMORY_BYTES:
            self._classes["load"] -= 1
            self._classes["l2_load"] += 1

    def _step(self, machine: Any, address: int, size: int, data: Any) -> None:
        word = int.from_bytes(machine.mem_read(address, 4), "little")
        self._settle(address)
        self._previous = (address, word)
        opcode = word & 0x7F
        used = {word >> 15 & 31}
        if opcode in (OP, STORE, BRANCH, ATOMIC):
            used.add(word >> 20 & 31)
        if self._loaded and self._loaded in used:
            self._classes["load_use"] += 1
        self._loaded = word >> 7 & 31 if opcode == LOAD else 0
        if opcode != BRANCH:
            self._classes[_class_of(word)] += 1

    def _settle(self, address: int) -> None:
        """A branch is counted when it is known where it went."""
        if self._previous is not None and self._previous[1] & 0x7F == BRANCH:
            self._classes["branch" if address == self._previous[0] + 4 else "branch_taken"] += 1
        self._previous = None


def _class_of(word: int) -> str:
    opcode = word & 0x7F
    if opcode == OP and word >> 25 == 1:
        return "mul" if word >> 12 & 7 < 4 else "div"
    names = {LOAD: "load", STORE: "store", JAL: "jump", JALR: "jump", ATOMIC: "atomic"}
    return names.get(opcode, "alu")
