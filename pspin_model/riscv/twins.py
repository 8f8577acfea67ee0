"""Handlers that exist in C and in Python: the same packet through both, results compared, cycles side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pspin_model.examples import kernels
from pspin_model.examples.catalogue import EXAMPLES, headers
from pspin_model.handlers import Handler
from pspin_model.machine import RTL_COSTS, Machine, MachineConfig
from pspin_model.riscv.core import CODE, L1, Counted, RiscvCore
from pspin_model.riscv.toolchain import HANDLERS, compile_handler

TWINS: dict[str, Handler] = {
    "aggregate": kernels.aggregate_ph,
    "reduce": kernels.reduce_ph,
    "histogram": kernels.histogram_ph,
}
PACKET, SCRATCHPAD = L1 + 0x1000, L1 + 0x10000
SCRATCHPAD_BYTES = 4 * kernels.HISTOGRAM_SIZE


@dataclass(frozen=True, slots=True)
class Twin:
    """One handler in both languages on one packet; cycles without cold caches and busy banks."""

    name: str
    size_bytes: int
    same_result: bool
    c: Counted
    python_instructions: int
    python_cycles: int


def compare_twin(name: str, size_bytes: int) -> Twin:
    """Run a handler in C and in Python. Raises `toolchain.ToolchainError` where the compiler is missing."""
    packet = np.zeros((1, size_bytes), np.uint8)
    headers(packet)
    fill = EXAMPLES[name][0].fill
    if fill is not None:
        fill(packet)
    _, counted, mine = run_in_c(name, packet[0])
    instructions, cycles, theirs = _in_python(TWINS[name], packet)
    return Twin(name, size_bytes, bool((mine == theirs).all()), counted, instructions, cycles)


def run_in_c(name: str, packet: NDArray[np.uint8]) -> tuple[int, Counted, NDArray[np.int32]]:
    """Run a handler in C on one packet: bytes of its code, what it took, its scratchpad afterwards."""
    program = compile_handler(HANDLERS / f"{name}.c", CODE)
    core = RiscvCore(program, RTL_COSTS)
    core.write(PACKET, packet.tobytes())
    core.write(L1, np.array([PACKET, len(packet), SCRATCHPAD], "<u4").tobytes())
    counted = core.run(L1)
    return len(program.code), counted, np.frombuffer(core.read(SCRATCHPAD, SCRATCHPAD_BYTES), "<i4")


def _in_python(handler: Handler, packet: NDArray[np.uint8]) -> tuple[int, int, NDArray[np.int32]]:
    machine = Machine(MachineConfig(cache_miss=0))
    context = machine.context("twin", payload=handler, scratchpad_bytes=SCRATCHPAD_BYTES)
    machine.inject(context, [0], packet)
    p = machine.run().packets
    instructions, cycles = int(p["instructions"][0]), int(p["end"][0] - p["start"][0])
    return instructions, cycles, context.scratchpads[0].view(np.int32)
