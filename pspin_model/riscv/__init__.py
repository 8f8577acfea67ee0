"""Handlers in C, run instruction by instruction: measured counts, and results that agree with the Python twins'.

Loaded on first use: `c_handler`, a C file's function as a handler; `CProgram`, a C file with several.
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pspin_model.riscv.handler import CProgram as CProgram
    from pspin_model.riscv.handler import c_handler as c_handler

__all__ = ["CProgram", "c_handler"]

__getattr__ = lazy_exports(
    __name__,
    {"CProgram": "handler", "c_handler": "handler"},
)
