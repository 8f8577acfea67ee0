"""A C program in an emulator, over the memories of one execution context: a handler runs there from call to call."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any

from pspin_model.machine.costs import CLASSES
from pspin_model.riscv.counting import COUNTED, PLACE, Block, decode
from pspin_model.riscv.memory_map import (
    BACK,
    CODE,
    END,
    HANDLER_MEMORY,
    PACKET,
    PACKET_L2,
    SCRATCHPADS,
    SPACE,
    STACK,
    STACK_BYTES,
    VARIABLES,
    Region,
    pages,
)
from pspin_model.riscv.toolchain import GLOBAL_POINTER, Program

ECALL = 8
"""Number of the trap by which a handler calls the machine."""
TRAPS = {2: "an illegal instruction", 3: "a breakpoint", 4: "a read at an odd address", 6: "a write at an odd address"}
ATOMIC = 0x2F
"""Opcode of atomic memory operations."""
WORD = 4
"""Bytes that an access to memory moves."""
NEAR = 1 << 16
"""An address at most that far before a memory is named by it."""


class HandlerFault(RuntimeError):
    """A C handler did what it must not. Says where in its source, and what."""


@dataclass(frozen=True, slots=True)
class Memories:
    """Addresses of a context's memories in the simulating process, and their bytes."""

    scratchpads: int
    scratchpad_bytes: int
    clusters: int
    handler_memory: int
    handler_memory_bytes: int

    @property
    def stride(self) -> int:
        """Bytes from a cluster's scratchpad to the next one's, as the handler sees them."""
        return -(-max(self.scratchpad_bytes, 1) // SPACE) * SPACE


@dataclass(slots=True)
class Running:
    """A handler that has begun on a core."""

    packet: Region
    packet_l2: Region
    task: bytes
    """The struct its argument points to."""
    pc: int
    own: int
    """Start of the scratchpad of its own cluster."""
    stack: bytes = b""
    registers: Any = None
    """None before its first instruction."""
    counts: list[int] = field(default_factory=lambda: [0] * len(CLASSES))
    """Instructions by class, since it last stopped."""


class Emulator:
    """One processor for all cores: what differs between them is put there when a handler goes on."""

    def __init__(self, program: Program, memories: Memories, variables: Any) -> None:
        import unicorn
        from unicorn import riscv_const

        self.memories = memories
        self._program = program
        self._u: Any = unicorn
        self._r: Any = riscv_const
        self._uc: Any = self._u.Uc(self._u.UC_ARCH_RISCV, self._u.UC_MODE_RISCV32)
        self._regions: dict[int, Region] = {}
        self._blocks: dict[tuple[int, int], Block] = {}
        self._places: dict[int, str] = {}
        self._before: Block | None = None
        self._counts: list[int] = []
        self._left, self._own = 0, 0
        self._fault: str | None = None
        self.endless = False
        """Whether the last fault was of a handler that would not return."""
        self._undo: list[tuple[int, bytes]] = []
        self._written: set[int] = set()
        self._map(variables)
        for kind, hook in (
            (self._u.UC_HOOK_BLOCK, self._block),
            (self._u.UC_HOOK_INTR, self._trapped),
            (self._u.UC_HOOK_MEM_READ | self._u.UC_HOOK_MEM_WRITE, self._access),
            (self._u.UC_HOOK_MEM_INVALID, self._invalid),
        ):
            self._uc.hook_add(kind, hook)

    def _map(self, variables: Any) -> None:
        uc, m = self._uc, self.memories
        rw = self._u.UC_PROT_READ | self._u.UC_PROT_WRITE
        for base in (PACKET, STACK, PACKET_L2):
            uc.mem_map(base, SPACE, rw)
        uc.mem_map(CODE, SPACE, self._u.UC_PROT_READ | self._u.UC_PROT_EXEC)
        for segment in self._program.segments:
            if CODE <= segment.address < CODE + SPACE:
                uc.mem_write(segment.address, segment.data)
        uc.mem_map_ptr(VARIABLES, SPACE, rw, ctypes.c_void_p(ctypes.addressof(variables)))
        self._region(Region("the code and constants", CODE, SPACE, 0, far=True))
        self._region(Region("the variables", VARIABLES, SPACE, 0, far=True))
        if m.clusters * m.stride > HANDLER_MEMORY - SCRATCHPADS or m.handler_memory_bytes > END - HANDLER_MEMORY:
            raise HandlerFault("the context's memories are more than a handler in C has addresses for")
        for cluster in range(m.clusters if m.scratchpad_bytes else 0):
            host = m.scratchpads + cluster * m.scratchpad_bytes
            name = f"the scratchpad of cluster {cluster}"
            self._host_region(Region(name, SCRATCHPADS + cluster * m.stride, m.scratchpad_bytes, host, far=False))
        if m.handler_memory_bytes:
            name = "the handler memory"
            self._host_region(Region(name, HANDLER_MEMORY, m.handler_memory_bytes, m.handler_memory, far=True))

    def _host_region(self, region: Region) -> None:
        """Map simulated memory itself. What is behind it to the end of the page is not accessed: an
        access there is a fault, and a write is undone."""
        rw = self._u.UC_PROT_READ | self._u.UC_PROT_WRITE
        self._uc.mem_map_ptr(region.start, pages(region.size), rw, ctypes.c_void_p(region.host))
        self._region(region)

    def _region(self, region: Region) -> None:
        for place in range(region.start // SPACE, (region.start + max(region.size, 1) - 1) // SPACE + 1):
            self._regions[place] = region

    def go_on(self, running: Running, answer: int, limit: int) -> int:
        """Run to the next call and return its number, or -1 at the handler's end.

        Counts what it ran in ``running.counts``. Raises HandlerFault, also after ``limit`` instructions.
        """
        uc, r = self._uc, self._r
        running.counts = self._counts = [0] * len(CLASSES)
        self._left, self._fault, self.endless, self._before = limit, None, False, None
        self._own = running.own
        self._undo.clear()
        self._written.clear()
        self._enter(running, answer)
        try:
            uc.emu_start(running.pc, BACK)
        except self._u.UcError as error:
            self._fault = self._fault or f"{self._where(uc.reg_read(r.UC_RISCV_REG_PC))}: {error}"
        for address, before in reversed(self._undo):
            uc.mem_write(address, before)
        if self._fault is not None:
            raise HandlerFault(self._fault)
        return self._leave(running)

    def _enter(self, running: Running, answer: int) -> None:
        uc, r = self._uc, self._r
        stack = Region("the stack", STACK, STACK_BYTES, 0, far=False)
        for region in (running.packet, running.packet_l2, stack):
            self._regions[region.start // SPACE] = region
            if region.host:
                uc.mem_write(region.start, ctypes.string_at(region.host, region.size))
        if running.registers is None:
            top = STACK + STACK_BYTES - (len(running.task) + 15) // 16 * 16
            uc.mem_write(top, running.task)
            for register in range(r.UC_RISCV_REG_X1, r.UC_RISCV_REG_X31 + 1):
                uc.reg_write(register, 0)
            uc.reg_write(r.UC_RISCV_REG_SP, top)
            uc.reg_write(r.UC_RISCV_REG_A0, top)
            uc.reg_write(r.UC_RISCV_REG_RA, BACK)
            uc.reg_write(r.UC_RISCV_REG_GP, self._program.symbols.get(GLOBAL_POINTER, 0))
            return
        uc.mem_write(STACK, running.stack)
        uc.context_restore(running.registers)
        uc.reg_write(r.UC_RISCV_REG_A0, answer & 0xFFFF_FFFF)
        uc.reg_write(r.UC_RISCV_REG_A1, answer >> 32 & 0xFFFF_FFFF)

    def _leave(self, running: Running) -> int:
        uc = self._uc
        for region in (running.packet, running.packet_l2):
            if region.start // SPACE in self._written:
                ctypes.memmove(region.host, bytes(uc.mem_read(region.start, region.size)), region.size)
        pc = uc.reg_read(self._r.UC_RISCV_REG_PC)
        self._settle(pc)
        if pc == BACK:
            return -1
        running.stack = bytes(uc.mem_read(STACK, STACK_BYTES))
        running.registers = uc.context_save()
        running.pc = pc + 4
        (word,) = struct.unpack("<I", uc.mem_read(pc, 4))
        return int(word) >> 12

    def arguments(self) -> list[int]:
        """The words with which the handler made its call."""
        first = self._r.UC_RISCV_REG_A0
        return [int(self._uc.reg_read(first + place)) for place in range(5)]

    def calling(self) -> str:
        """Where the handler makes its call."""
        return self._where(self._uc.reg_read(self._r.UC_RISCV_REG_PC) - 4)

    def host_address(self, address: int, size: int) -> int:
        """Address of a command's bytes in the simulating process."""
        region = self._regions.get(address // SPACE)
        if region is None or not region.holds(address, size) or not region.host:
            raise HandlerFault(
                f"{self.calling()}: a command's {size} bytes at "
                f"{self._place(address)}: packets, scratchpads and handler memory are what commands reach"
            )
        return region.host + address - region.start

    def _where(self, pc: int) -> str:
        if pc not in self._places:
            self._places[pc] = self._program.where(pc)
        return self._places[pc]

    def _block(self, uc: Any, address: int, size: int, data: Any) -> None:
        block = self._blocks.get((address, size))
        if block is None:
            block = self._blocks[address, size] = decode(bytes(uc.mem_read(address, size)), address)
        self._settle(address)
        before = self._before
        counts = self._counts
        if before is not None and before.loaded in block.first_reads:
            counts[PLACE["load_use"]] += 1
        for place, count in block.counts:
            counts[place] += count
        self._before = block
        self._left -= block.instructions
        if self._left < 0:
            self.endless = True
            self._stop(f"did not return in time (handler_limit); it was in {self._where(address)}")

    def _settle(self, address: int) -> None:
        """A branch is counted when it is known where it went."""
        if self._before is not None and self._before.branches:
            self._counts[PLACE["branch" if address == self._before.end else "branch_taken"]] += 1

    def _access(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> None:
        write = access == self._u.UC_MEM_WRITE
        region = self._regions.get(address // SPACE)
        if region is None or not region.holds(address, size):
            if write:
                self._undo.append((address, bytes(uc.mem_read(address, size))))
            self._outside("wrote" if write else "read", address, size)
            return
        if write:
            self._written.add(address // SPACE)
        if address % WORD + size > WORD:
            self._counts[PLACE["load_use"]] += 1  # the cores split it in two: a cycle more, and no instruction
        if region.far or (SCRATCHPADS <= region.start < HANDLER_MEMORY and region.start != self._own):
            self._far(uc, write)

    def _far(self, uc: Any, write: bool) -> None:
        """An access to L2, or to another cluster's L1, was counted as one to its own. An atomic's is its read."""
        (word,) = struct.unpack("<I", uc.mem_read(uc.reg_read(self._r.UC_RISCV_REG_PC), 4))
        atomic = word & 0x7F == ATOMIC
        if atomic and write:
            return
        kind = "store" if write else "load"
        self._counts[PLACE["atomic" if atomic else kind]] -= 1
        self._counts[PLACE[f"l2_{kind}"]] += 1

    def _invalid(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        u = self._u
        writes, runs = (u.UC_MEM_WRITE_UNMAPPED, u.UC_MEM_WRITE_PROT), (u.UC_MEM_FETCH_UNMAPPED, u.UC_MEM_FETCH_PROT)
        self._outside("wrote" if access in writes else "ran" if access in runs else "read", address, size)
        return False

    def _outside(self, did: str, address: int, size: int) -> None:
        pc = self._uc.reg_read(self._r.UC_RISCV_REG_PC)
        if STACK - NEAR <= address < STACK:
            self._stop(f"{self._where(pc)}: its stack of {STACK_BYTES} bytes is full")
        elif did == "ran":
            self._stop(f"called {self._place(address)}, where no code is")
        else:
            self._stop(f"{self._where(pc)} {did} {size} bytes at {self._place(address)}")

    def _place(self, address: int) -> str:
        """An address as a memory and an offset."""
        region = self._regions.get(address // SPACE)
        if region is None:
            region = self._regions.get((address + NEAR) // SPACE)
        if region is None:
            return f"{address:#x}, which is in no memory of its context"
        size = "which it may not write" if region.start == CODE else f"which has {region.size} bytes"
        return f"{region.name} {'-' if address < region.start else '+'} {abs(address - region.start):#x}, {size}"

    def _trapped(self, uc: Any, number: int, data: Any) -> None:
        if number == ECALL:
            uc.emu_stop()
            return
        pc = uc.reg_read(self._r.UC_RISCV_REG_PC) - 4
        self._stop(f"{self._where(pc)}: {TRAPS.get(number, f'trap {number}')}")

    def _stop(self, why: str) -> None:
        if self._fault is None:
            self._fault = why
        self._uc.emu_stop()


def instructions(counts: list[int]) -> int:
    """How many instructions counts by class are."""
    return sum(counts[place] for place in COUNTED)
