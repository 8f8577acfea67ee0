"""An optimizer that lives in a rack server: gradients go there while backward runs, weights come back.

RackOptimizer (optimizer.py) -> which parameters make a key (layout.py)
                             -> hyperparameters of a step for the server (terms.py)
                             -> operations on a job of a service (client.py)
                             -> torch's state_dict, there and back (state.py)
"""

from hostagent.torch_backend.rack.client import RackService
from hostagent.torch_backend.rack.optimizer import RackOptimizer

__all__ = ["RackOptimizer", "RackService"]
