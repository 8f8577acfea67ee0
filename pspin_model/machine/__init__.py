"""The machine: configuration, costs, the compiled engine and its Python face."""

from __future__ import annotations

from pspin_model.machine.config import ConfigError, MachineConfig
from pspin_model.machine.costs import FLARE_COSTS, FLARE_REMEMBERED_COSTS, RTL_COSTS, TABLES, CostTable, ElementCost
from pspin_model.machine.faults import Fault
from pspin_model.machine.machine import Context, Machine, MachineError, Run

__all__ = [
    "FLARE_COSTS", "FLARE_REMEMBERED_COSTS", "RTL_COSTS", "TABLES", "ConfigError", "Context", "CostTable",
    "ElementCost", "Fault", "Machine", "MachineConfig", "MachineError", "Run",
]  # fmt: skip
