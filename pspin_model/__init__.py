"""A switch made of cores: a cycle-level model of PsPIN, its handlers, and reductions on it.

Names for simulations, loaded on first use:

- `Machine`, `MachineConfig`: the machine and its parameters; `CostTable`, `FLARE_COSTS`, `RTL_COSTS`: cycles by
  instruction class; `Run`, `Fault`: results of a run; `MachineError`: a configuration or packet that is not possible
- `handler`, `helper`: decorators of handlers in Python, which call `pspin_model.handlers`; `HandlerError`: a function
  that cannot be a handler; `c_handler`: a handler in C
- `PspinAggregator`: the machine as an aggregator of the protocol

Reductions are in `pspin_model.flare`.
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pspin_model.aggregator import PspinAggregator as PspinAggregator
    from pspin_model.handlers import HandlerError as HandlerError
    from pspin_model.handlers import handler as handler
    from pspin_model.handlers import helper as helper
    from pspin_model.machine import FLARE_COSTS as FLARE_COSTS
    from pspin_model.machine import RTL_COSTS as RTL_COSTS
    from pspin_model.machine import CostTable as CostTable
    from pspin_model.machine import Fault as Fault
    from pspin_model.machine import Machine as Machine
    from pspin_model.machine import MachineConfig as MachineConfig
    from pspin_model.machine import MachineError as MachineError
    from pspin_model.machine import Run as Run
    from pspin_model.riscv import c_handler as c_handler

__all__ = [
    "FLARE_COSTS",
    "RTL_COSTS",
    "CostTable",
    "Fault",
    "HandlerError",
    "Machine",
    "MachineConfig",
    "MachineError",
    "PspinAggregator",
    "Run",
    "c_handler",
    "handler",
    "helper",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "PspinAggregator": "aggregator",
        "HandlerError": "handlers",
        "handler": "handlers",
        "helper": "handlers",
        "FLARE_COSTS": "machine",
        "RTL_COSTS": "machine",
        "CostTable": "machine",
        "Fault": "machine",
        "Machine": "machine",
        "MachineConfig": "machine",
        "MachineError": "machine",
        "Run": "machine",
        "c_handler": "riscv",
    },
)
