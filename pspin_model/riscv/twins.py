"""A handler in C and its twin in Python: the same packet through both, results compared, cycles side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from pspin_model.examples import kernels
from pspin_model.examples.catalogue import EXAMPLES, Part, headers, small_words
from pspin_model.handlers import Handler
from pspin_model.machine import Machine, MachineConfig
from pspin_model.riscv.handler import CHandler, c_handler
from pspin_model.riscv.toolchain import HANDLERS, ToolchainError

TWINS: dict[str, Handler] = {
    "aggregate": kernels.aggregate_ph,
    "reduce": kernels.reduce_ph,
    "histogram": kernels.histogram_ph,
}
"""Ours: payload handlers of the examples, and `handlers/NAME.c`."""


class TwinError(RuntimeError):
    """A handler ended with an error instead of a result. Says which and how."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one handler did with the packet."""

    instructions: int
    cycles: int
    results: tuple[bytes, ...]
    """Scratchpads, handler memory, host memory, packets sent with their tags and ports, words written to the host."""


@dataclass(frozen=True, slots=True)
class Twin:
    """One handler in both languages on one packet; cycles without cold caches and busy banks."""

    name: str
    size_bytes: int
    c: Ran
    python: Ran | None

    @property
    def same_result(self) -> bool | None:
        """Whether all they left behind is the same; None without a twin."""
        return None if self.python is None else self.c.results == self.python.results

    def row(self) -> dict[str, Any]:
        """Figures for tables and scripts."""
        python = self.python
        return {
            "handler": self.name,
            "size_bytes": self.size_bytes,
            "same_result": self.same_result,
            "c_instructions": self.c.instructions,
            "c_cycles": self.c.cycles,
            "python_instructions": None if python is None else python.instructions,
            "python_cycles": None if python is None else python.cycles,
        }


def python_handler(name: str) -> Handler:
    """What ``module:handler`` names. Raises TwinError."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # whatever the user's module raises
        raise TwinError(f"twin {name}: {type(error).__name__}: {error}") from None
    if not isinstance(found, Handler):
        raise TwinError(f"twin {name} is not a handler; decorate it with @handler")
    return found


def built_in(name: str) -> CHandler:
    """One of our C handlers. Raises `toolchain.ToolchainError` where the compiler is missing."""
    return c_handler(HANDLERS / f"{name}.c")


def compare_twin(name: str, size_bytes: int) -> Twin:
    """One of ours in both languages."""
    return compare(built_in(name), TWINS[name], size_bytes)


def compare(
    c: CHandler,
    python: Handler | None,
    size_bytes: int,
    *,
    scratchpad_bytes: int = 4096,
    handler_memory_bytes: int = 4096,
    host_bytes: int = 4096,
    locks: int = 8,
) -> Twin:
    """Both on one packet: 28 bytes of headers as the examples', then random int32 words below 1024.

    Raises TwinError if one ends with an error.
    """

    def run(handler: Handler, language: str) -> Ran:
        part = Part(
            handler, scratchpad_bytes=scratchpad_bytes, handler_memory_bytes=handler_memory_bytes,
            host_bytes=host_bytes, locks=locks,
        )  # fmt: skip
        return _run(part, language, size_bytes)

    return Twin(c.name, size_bytes, run(c, "C"), None if python is None else run(python, "Python"))


def _run(part: Part, language: str, size_bytes: int) -> Ran:
    packet = np.zeros((1, size_bytes), np.uint8)
    headers(packet)
    small_words(packet)
    machine = Machine(MachineConfig(cache_miss=0))
    context = part.set_up(machine, language)
    machine.inject(context, [0], packet)
    run = machine.run()
    for fault in run.faults:
        raise TwinError(str(fault))
    sent = [run.payload(index).tobytes() for index in range(len(run.sent["tag"]))]
    columns = (run.sent["tag"], run.sent["port"], run.host_writes["offset"], run.host_writes["value"])
    memories = (context.scratchpads, context.handler_memory, context.host)
    p = run.packets
    return Ran(
        int(p["instructions"][0]), int(p["end"][0] - p["start"][0]),
        (*(each.tobytes() for each in (*memories, *columns)), *sent),
    )  # fmt: skip


def parts_in_c(name: str) -> tuple[Part, ...]:
    """An example's parts with its handler in C, run instruction by instruction for every packet. Raises
    ToolchainError without a compiler or a C version of the handler."""
    if name not in TWINS:
        raise ToolchainError(f"example {name!r} has no handler in C; there are {', '.join(TWINS)}")
    (part,) = EXAMPLES[name]
    return (replace(part, payload=built_in(name)),)
