"""Reductions in the switch after Flare: dense and sparse algorithms, their cost models, and their simulation.

Names for simulations, loaded on first use:

- `FlareConfig`, `Reduction`, `TreeConfig`: a configuration; `read_config`, `make_config`: from TOML or a mapping;
  `flare_machine`: Flare's switch; `ElementType`: a user-defined element type
- `simulate`: a configuration on one machine, to a `Report`; `reduce_in_time`: through a tree, to a `TreeOutcome`
- `grid`, `sparse_grid`: points of a sweep; `run_points`: their rows
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pspin_model.flare.config import FlareConfig as FlareConfig
    from pspin_model.flare.config import Reduction as Reduction
    from pspin_model.flare.config import flare_machine as flare_machine
    from pspin_model.flare.config import make_config as make_config
    from pspin_model.flare.config import read_config as read_config
    from pspin_model.flare.elements import ElementType as ElementType
    from pspin_model.flare.study.simulate import Report as Report
    from pspin_model.flare.study.simulate import simulate as simulate
    from pspin_model.flare.study.sweep import grid as grid
    from pspin_model.flare.study.sweep import run_points as run_points
    from pspin_model.flare.study.sweep import sparse_grid as sparse_grid
    from pspin_model.flare.study.tree_report import TreeOutcome as TreeOutcome
    from pspin_model.flare.study.tree_report import reduce_in_time as reduce_in_time
    from pspin_model.flare.tree.config import TreeConfig as TreeConfig

__all__ = [
    "ElementType",
    "FlareConfig",
    "Reduction",
    "Report",
    "TreeConfig",
    "TreeOutcome",
    "flare_machine",
    "grid",
    "make_config",
    "read_config",
    "reduce_in_time",
    "run_points",
    "simulate",
    "sparse_grid",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "FlareConfig": "config",
        "Reduction": "config",
        "flare_machine": "config",
        "make_config": "config",
        "read_config": "config",
        "ElementType": "elements",
        "Report": "study.simulate",
        "simulate": "study.simulate",
        "grid": "study.sweep",
        "run_points": "study.sweep",
        "sparse_grid": "study.sweep",
        "TreeOutcome": "study.tree_report",
        "reduce_in_time": "study.tree_report",
        "TreeConfig": "tree.config",
    },
)
