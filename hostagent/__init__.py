"""The host: aggregation protocol, controller, transport, torch backend, rack server, the ``netsum`` command.

A training script needs no import of ours: ``init_process_group("netsum")`` finds the backend through torch's entry
point. Names for other uses, loaded on first use:

- `RackOptimizer`: an optimizer whose steps a rack server takes; `RackService`: the service it trains on
- `Aggregator`: the interface of ``netsum run --aggregator core:MODULE:CLASS``; `CompiledAggregator`: with machine code
- `JobTerms`, `ChildTerms`, `Capacity`, `JobCounters`, `AggregatorRefused`: what an `Aggregator` is given and gives back
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
    from hostagent.torch_backend.rack import RackOptimizer as RackOptimizer
    from hostagent.torch_backend.rack import RackService as RackService

__all__ = [
    "Aggregator", "AggregatorRefused", "Capacity", "ChildTerms", "CompiledAggregator", "JobCounters", "JobTerms",
    "RackOptimizer", "RackService",
]  # fmt: skip

__getattr__ = lazy_exports(
    __name__,
    {name: "torch_backend.rack" if name.startswith("Rack") else "protocol.services.aggregator" for name in __all__},
)
