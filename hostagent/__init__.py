"""The host: aggregation protocol, controller, transport, torch backend, rack server, the ``netsum`` command.

A training script needs no import of ours: ``init_process_group("netsum")`` finds the backend through torch's entry
point. Names for other uses, loaded on first use:

- `RackOptimizer`: an optimizer whose steps a rack server takes; `RackService`: the service it trains on
- `NetsumError`: what the torch backend and `RackOptimizer` raise; `LostError`: a rank, server or controller is gone,
  and another attempt may succeed; `RefusedError`: it will not; `OperationTimeoutError`
- `Options`: ``pg_options`` of ``init_process_group("netsum")`` and ``new_group``: the precision of sums of floats
- `Aggregator`: the interface of ``netsum run --aggregator core:MODULE:CLASS``; `CompiledAggregator`: with machine code
- `JobTerms`, `ChildTerms`, `ParentTerms`, `Capacity`, `JobCounters`, `AggregatorRefused`: what an `Aggregator` is given
  and gives back
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hostagent.protocol.services.aggregator import Aggregator as Aggregator
    from hostagent.protocol.services.aggregator import AggregatorRefused as AggregatorRefused
    from hostagent.protocol.services.aggregator import Capacity as Capacity
    from hostagent.protocol.services.aggregator import ChildTerms as ChildTerms
    from hostagent.protocol.services.aggregator import CompiledAggregator as CompiledAggregator
    from hostagent.protocol.services.aggregator import JobCounters as JobCounters
    from hostagent.protocol.services.aggregator import JobTerms as JobTerms
    from hostagent.protocol.services.aggregator import ParentTerms as ParentTerms
    from hostagent.torch_backend.errors import LostError as LostError
    from hostagent.torch_backend.errors import NetsumError as NetsumError
    from hostagent.torch_backend.errors import OperationTimeoutError as OperationTimeoutError
    from hostagent.torch_backend.errors import RefusedError as RefusedError
    from hostagent.torch_backend.options import Options as Options
    from hostagent.torch_backend.rack import RackOptimizer as RackOptimizer
    from hostagent.torch_backend.rack import RackService as RackService

__all__ = [
    "Aggregator", "AggregatorRefused", "Capacity", "ChildTerms", "CompiledAggregator", "JobCounters", "JobTerms",
    "LostError", "NetsumError", "OperationTimeoutError", "Options", "ParentTerms", "RackOptimizer", "RackService",
    "RefusedError",
]  # fmt: skip
_TORCH_ERRORS = ("LostError", "NetsumError", "OperationTimeoutError", "RefusedError")

__getattr__ = lazy_exports(
    __name__,
    {
        **dict.fromkeys(__all__, "protocol.services.aggregator"),
        **dict.fromkeys(("RackOptimizer", "RackService"), "torch_backend.rack"),
        **dict.fromkeys(_TORCH_ERRORS, "torch_backend.errors"),
        "Options": "torch_backend.options",
    },
)
