"""Handlers in C inside the machine's clock: an example whose payload handler costs what its C code is counted to cost.

The C code runs once, instruction by instruction, on one packet of the example; the machine's handler then computes the
same in Python and charges those counts. That is sound where they do not depend on a packet's words, which a second
packet of other words checks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pspin_model.examples import kernels
from pspin_model.examples.catalogue import EXAMPLES, Part, headers
from pspin_model.examples.counts import HEADER_BYTES, Kernel, Loop
from pspin_model.riscv.toolchain import ToolchainError
from pspin_model.riscv.twins import TWINS, run_in_c

MAKERS = {"aggregate": kernels.aggregate, "reduce": kernels.reduce, "histogram": kernels.histogram}
"""The Python handlers of the twins, at a cost to be given."""
KERNEL_CLASSES = ("load", "load_use", "alu", "atomic", "jump", "store", "mul", "branch_taken", "branch")
"""Classes of instructions that a `Kernel` counts."""


def timed_in_c(name: str, size_bytes: int) -> tuple[Part, ...]:
    """An example's parts at the cost of its C code. Raises ToolchainError if it cannot be had."""
    if name not in MAKERS:
        raise ToolchainError(f"example {name!r} has no handler in C; there are {', '.join(TWINS)}")
    (part,) = EXAMPLES[name]
    packets = np.zeros((1, size_bytes), np.uint8)
    headers(packets)
    other = packets.copy()
    if part.fill is not None:
        part.fill(packets)
    words = _payload(other)
    words[:] = np.arange(words.size) * 7 % kernels.HISTOGRAM_SIZE
    code_bytes, counted, _ = run_in_c(name, packets[0])
    if run_in_c(name, other[0])[1].classes != counted.classes:
        raise ToolchainError(f"example {name!r}: what its C code costs depends on a packet's words")
    unpriced = {each for each, count in counted.classes.items() if count} - {*KERNEL_CLASSES}
    if unpriced:
        raise ToolchainError(
            f"example {name!r}: its C code has {', '.join(sorted(unpriced))}, for which there is no charge"
        )
    counts = {each: counted.classes.get(each, 0) for each in KERNEL_CLASSES}
    kernel = Kernel(Loop(0, 0, 0, 0, 0), register=0, code_bytes=code_bytes, **counts)
    return (replace(part, payload=MAKERS[name](kernel)),)


def _payload(packets: NDArray[np.uint8]) -> NDArray[np.int32]:
    end = HEADER_BYTES + (packets.shape[1] - HEADER_BYTES) // 4 * 4
    return packets[0, HEADER_BYTES:end].view(np.int32)
