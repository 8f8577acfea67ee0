"""The examples by name: which handlers, which memories, which packets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pspin_model.examples import kernels, moving, ooorb
from pspin_model.handlers import Handler
from pspin_model.machine import Context, Machine

Bytes = NDArray[np.uint8]
Fill = Callable[[Bytes], None]


@dataclass(frozen=True, slots=True)
class Part:
    """One execution context of an example."""

    payload: Handler
    completion: Handler | None = None
    header: Handler | None = None
    scratchpad_bytes: int = 0
    handler_memory_bytes: int = 0
    host_bytes: int = 4096
    locks: int = 0
    fill: Fill | None = None
    """Writes the payload of all packets, given as (packets, bytes)."""
    fill_message: Fill | None = None
    """The same of each message by itself."""
    tag_of: Callable[[Bytes], int] | None = None
    """The tag of a message's packets, from these."""
    booted_lines: int = 0
    """Last lines of the completion handler's code that cluster 0 has from booting, which it does with code that is
    behind: the RTL's aggregates end a line (8 cycles) sooner there than in other clusters. [rtl]"""

    def set_up(self, machine: Machine, name: str) -> Context:
        """The context in a machine."""
        context = machine.context(
            name, payload=self.payload, header=self.header, completion=self.completion,
            scratchpad_bytes=self.scratchpad_bytes, handler_memory_bytes=self.handler_memory_bytes,
            host_bytes=self.host_bytes, locks=self.locks,
        )  # fmt: skip
        machine.hold_code(context, 0, self.booted_lines)
        return context


def small_words(packets: Bytes) -> None:
    """Random int32 words below 1024 behind the headers of all packets."""
    words = packets[:, 28 : 28 + (packets.shape[1] - 28) // 4 * 4].view(np.int32)
    rng = np.random.default_rng(1)
    words[:] = rng.integers(0, kernels.HISTOGRAM_SIZE, words.shape, dtype=np.int32)


def _kernel(payload: Handler, completion: Handler, booted_lines: int = 0) -> Part:
    return Part(
        payload, completion, scratchpad_bytes=4 * kernels.HISTOGRAM_SIZE, fill=small_words, booted_lines=booted_lines
    )


AGGREGATE = _kernel(kernels.aggregate_ph, kernels.aggregate_th)
REDUCE = _kernel(kernels.reduce_ph, kernels.reduce_l1_th)
OUT_OF_ORDER = Part(
    ooorb.ooorb_ph, ooorb.ooorb_th, ooorb.ooorb_hh, locks=ooorb.LISTS, fill_message=ooorb.fill,
    tag_of=ooorb.message_bytes, scratchpad_bytes=4 * ooorb.LISTS * ooorb.LIST_WORDS,
)  # fmt: skip
_SYNTHETIC = Part(moving.synthetic_ph)

EXAMPLES: dict[str, tuple[Part, ...]] = {
    "empty": (Part(moving.empty_ph),),
    "ping_pong": (Part(moving.pingpong_ph),),
    "ping_pong_l2": (Part(moving.pingpong_l2_ph),),
    "aggregate": (_kernel(kernels.aggregate_ph, kernels.aggregate_th, booted_lines=1),),
    "aggregate_xp": (_kernel(kernels.aggregate_xp_ph, kernels.aggregate_xp_th, booted_lines=1),),
    "aggregate_orig": (_kernel(kernels.aggregate_ph, kernels.aggregate_orig_th),),
    "aggregate_and_reduce": (AGGREGATE, REDUCE),
    "reduce": (REDUCE,),
    "reduce_xp": (_kernel(kernels.reduce_xp_ph, kernels.reduce_l1_th),),
    "histogram": (_kernel(kernels.histogram_ph, kernels.histogram_l1_th),),
    "histogram_xp": (_kernel(kernels.histogram_xp_ph, kernels.histogram_l1_th),),
    "filtering": (Part(moving.filtering_ph, handler_memory_bytes=4 * moving.FILTER_WORDS),),
    "copy_to_host": (Part(moving.copy_to_host_ph),),
    "copy_to_host_l2": (Part(moving.copy_to_host_l2_ph),),
    "copy_from_host": (Part(moving.copy_from_host_ph),),
    "host_direct": (Part(moving.hostdirect_ph),),
    "out_of_order": (OUT_OF_ORDER,),
    "synthetic": (_SYNTHETIC, _SYNTHETIC),
}
"""``_xp``: inner loops with the PULP extensions. ``_l2``: data goes from L2 instead of L1."""


def headers(packets: Bytes) -> None:
    """The headers that PsPIN's driver writes: IP version and length of its header, length, addresses, ports."""
    packets[:, 0] = 0x45
    packets[:, 2:4] = np.frombuffer(np.uint16(packets.shape[1]).tobytes(), np.uint8)
    packets[:, 12:20] = np.arange(8, dtype=np.uint8)
